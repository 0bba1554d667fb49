/*
 * diffcounts — what does not vary from run to run of one program: how many kernels, launches, waits,
 * copies and bytes by kind, collectives, allocations; and the facts of hardware, software and
 * workload. Any difference is reported, none is judged.
 */
#ifndef NL_COMPARE_DIFFCOUNTS_H
#define NL_COMPARE_DIFFCOUNTS_H

#include "compare/diffside.h"

#define DIFF_MOST_MEMORY "most memory allocated at once"

/* Table "counts": over the time compared, and per step of a rank. Sides may be without a unit. */
struct nl_result *diff_counts(struct diff_side *base, struct diff_side *changed);

/* Table "counters": means and maxima of what was sampled over time. */
struct nl_result *diff_counters(struct diff_side *base, struct diff_side *changed);

/* Table "facts": what is known of both and differs, or is known of one. */
struct nl_result *diff_facts(struct diff_side *base, struct diff_side *changed);

#endif
