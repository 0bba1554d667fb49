/*
 * clockgap — events of two clocks in one file. Recorders that mix time since boot with times
 * from zero leave hours or days between two groups of lanes in which nothing is recorded; that
 * is no time of the program.
 */
#ifndef NL_CLOCKGAP_H
#define NL_CLOCKGAP_H

#include "answer/judge.h"

struct nl_clock_gap {
    int64_t gap_ns;  /* between the two groups; 0: there are no two */
    int64_t span_ns; /* of the group with more events */
    uint64_t others; /* events of the other group */
};

/* Of whole lanes alone: a lane that has events on both sides was written by one clock. */
struct nl_clock_gap nl_clock_gap_of(const struct nl_trace *trace);

/* A note below the first sentence; the gap is one. */
void nl_clock_gap_tell(struct nl_judged *judged, const struct nl_clock_gap *gap);

#endif
