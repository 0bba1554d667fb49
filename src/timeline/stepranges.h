/*
 * stepranges — ranges of a profile whose text stands for an iteration (stepname.h), as candidates:
 * all ranges of one rule on one thread. Of two threads or two rules of a rank the surer one is
 * taken, and the earlier rule among equals.
 */
#ifndef NL_STEPRANGES_H
#define NL_STEPRANGES_H

#include "store/trace.h"

struct nl_step_range {
    int64_t rank, start, end, number; /* number: NL_NULL_I64 without one */
    uint32_t slice, thread;
    int rule;
};

struct nl_step_candidate {
    int64_t rank;
    int rule;
    double confidence;
    size_t first, count; /* in items */
};

struct nl_step_ranges {
    struct nl_step_range *items; /* by (rank, rule, thread, start) */
    size_t count, cap;
    struct nl_step_candidate *candidates;
    size_t candidate_count, candidate_cap;
};

void nl_step_ranges_init(struct nl_step_ranges *ranges, const struct nl_trace *trace);
void nl_step_ranges_release(struct nl_step_ranges *ranges);

/* NULL when no ranges of the rank can be its iterations. */
const struct nl_step_candidate *nl_step_ranges_best(const struct nl_step_ranges *ranges,
                                                    int64_t rank);

#endif
