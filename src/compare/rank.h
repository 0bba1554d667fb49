/*
 * rank — one workload on several backends, GPUs or settings: who is fastest, how surely, where, and why.
 *
 * Every candidate is a side of a diff (compare/diffside.h); all are measured by the first unit that all
 * have. The ratio of a candidate to the fastest is that of typical steps, with its interval by captures
 * (compare/replicate.h); one whose interval holds 1 is a tie. What they were given to do must be the same:
 * where it is known to differ, the report says so and *comparable is false.
 */
#ifndef NL_COMPARE_RANK_H
#define NL_COMPARE_RANK_H

#include "compare/diff.h"

#define NL_RANK_MOST 12

/* Tables of the report, NULL-terminated. */
extern const char *const nl_rank_sections[];

/* 2 to NL_RANK_MOST candidates. NULL with err on NL_INTERRUPTED, and NL_USAGE when nothing was recorded that all
 * have. */
NL_MUST_CHECK struct nl_report *nl_rank_new(const struct nl_diff_input *inputs, size_t count,
                                            bool *comparable, struct nl_job *job,
                                            struct nl_err *err);

#endif
