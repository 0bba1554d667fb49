/*
 * diffcounters — what was sampled over time, of both sides of a diff.
 */
#ifndef NL_COMPARE_DIFFCOUNTERS_H
#define NL_COMPARE_DIFFCOUNTERS_H

#include "compare/diffside.h"

/* Table "counters": means and maxima of what was sampled over time. */
struct nl_result *diff_counters(struct diff_side *base, struct diff_side *changed);

#endif
