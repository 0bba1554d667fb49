/* memo — see memo.h. */
#include "analyze/memo.h"

void nl_memo_init(struct nl_memo *memo)
{
    *memo = (struct nl_memo){0};
    pthread_mutex_init(&memo->lock, NULL);
}

void nl_memo_release(struct nl_memo *memo)
{
    nl_idle_free(memo->idle);
    memo->idle = NULL;
    pthread_mutex_destroy(&memo->lock);
}

const struct nl_idle *nl_memo_idle(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_idle **own)
{
    struct nl_memo *memo = options->memo;
    *own = NULL;
    if (!memo)
        return *own = nl_idle_new(trace, &options->window);
    pthread_mutex_lock(&memo->lock);
    if (!memo->idle)
        memo->idle = nl_idle_new(trace, &options->window);
    pthread_mutex_unlock(&memo->lock);
    return memo->idle;
}
