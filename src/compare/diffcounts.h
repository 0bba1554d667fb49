/*
 * diffcounts — what does not vary from run to run of one program: how many kernels,
 * launches, waits, copies and bytes by kind, collectives, allocations. Any difference is
 * reported, none is judged.
 */
#ifndef NL_COMPARE_DIFFCOUNTS_H
#define NL_COMPARE_DIFFCOUNTS_H

#include "compare/diffside.h"

#define DIFF_PEAK_MEMORY "most memory allocated at once"

/* Table "counts": over the time compared, and per step of a rank. Sides may be without a unit. */
struct nl_result *diff_counts(struct diff_side *base, struct diff_side *changed);

#endif
