/* What staged rows take, against the job's memory budget. */
#include <stdio.h>

#include "base/spill.h"
#include "base/units.h"
#include "store/build.h"

/* What the whole profile takes, from the rows of the part that was read: they are three
 * quarters of what is needed in the end, and a fifth more, since no part is quite like the
 * rest; 0: not to be known. */
static uint64_t estimate_need(const struct nl_builder *b)
{
    uint64_t done = atomic_load(&b->job->done), total = atomic_load(&b->job->total);
    if (b->source_count != 1 || done < total / 16 || !done || done > total)
        return 0;
    return (uint64_t)(1.6 * (double)atomic_load(&b->staged_bytes) * (double)total / (double)done);
}

/* Rows take what their columns take when finished, and a quarter more meanwhile: what is packed,
 * and the order of slices. From half of the budget on, what comes goes to a disk. */
void nl_budget_count(struct nl_builder *b, size_t bytes)
{
    uint64_t all = atomic_fetch_add(&b->staged_bytes, bytes) + bytes;
    if (!b->job || !b->job->memory_bytes || all <= b->job->memory_bytes / 2 ||
        (nl_spill_start(b->job->spill, estimate_need(b)) && !nl_spill_full(b->job->spill)) ||
        all <= b->job->memory_bytes / 4 * 3)
        return;
    if (!atomic_exchange(&b->over_budget, true))
        b->need_bytes = estimate_need(b);
}

bool nl_builder_over_budget(const struct nl_builder *b)
{
    return atomic_load_explicit(&b->over_budget, memory_order_relaxed);
}

bool nl_budget_fail(const struct nl_builder *b, struct nl_err *err)
{
    char budget[NL_UNIT_TEXT], need[NL_UNIT_TEXT], about[NL_UNIT_TEXT + 24] = "";
    if (b->need_bytes)
        (void)snprintf(about, sizeof about, ", it takes about %s",
                       nl_format_bytes(need, b->need_bytes));
    char full[NL_SPILL_TEXT];
    return nl_fail(
        err, NL_MEMORY, "the profile does not fit in %s of memory%s%s; give more with --memory%s",
        nl_format_bytes(budget, b->job->memory_bytes), about, nl_spill_said(b->job->spill, full),
        b->source_count > 1 ? ", or load fewer ranks" : "");
}
