/* memo — see memo.h. */
#include "analyze/memo.h"

void nl_memo_release(struct nl_memo *memo)
{
    nl_idle_free(memo->idle);
    *memo = (struct nl_memo){0};
}

const struct nl_idle *nl_memo_idle(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_idle **own)
{
    struct nl_memo *memo = options->memo;
    *own = NULL;
    if (memo && memo->idle)
        return memo->idle;
    struct nl_idle *idle = nl_idle_new(trace, &options->window);
    *(memo ? &memo->idle : own) = idle;
    return idle;
}
