/*
 * rank — one workload on several backends, GPUs or settings: who is fastest,
 * how surely, where, and why.
 *
 * Every candidate is a side of a diff (compare/diffside.h); all are measured by the first unit that
 * all have. The ratio of a candidate to the fastest is that of typical steps, with its interval by
 * captures (compare/replicate.h); one whose interval holds 1 is a tie. What they were given to do
 * must be the same: where it is known to differ, the report says so and *comparable is false.
 */
#ifndef NL_COMPARE_RANK_H
#define NL_COMPARE_RANK_H

#include "compare/diff.h"

#define NL_MAX_RANK 12

/* Tables of the report, NULL-terminated. */
extern const char *const nl_rank_sections[];

/* What an hour costs: of a candidate (as the user calls it) all that it ran on, of a device (a part
 * of its name in any case) one device. */
struct nl_rank_price {
    const char *name;
    double usd_per_hour;
};

struct nl_rank_options {
    const struct nl_rank_price *prices;
    size_t price_count;
    const char *section; /* that table alone; NULL = all */
};

/* 2 to NL_MAX_RANK candidates. NULL with err on NL_INTERRUPTED, and NL_USAGE when nothing was
 * recorded that all have, or a price is of none of them. */
NL_MUST_CHECK struct nl_report *nl_rank_new(const struct nl_diff_input *inputs, size_t count,
                                            const struct nl_rank_options *options, bool *comparable,
                                            struct nl_job *job, struct nl_err *err);

#endif
