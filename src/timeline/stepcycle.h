/*
 * stepcycle — iterations of a rank whose program marks the parts of its loop, not the loop:
 * "reader", "backbone", "head", "reader", … Only for ranks without device work: there the launch
 * sequence says more, and equal parts may be layers.
 */
#ifndef NL_STEPCYCLE_H
#define NL_STEPCYCLE_H

#include "store/trace.h"

struct nl_step_cycle {
    int64_t *starts; /* of the iterations, ascending; and the end of the last; nl_free it */
    size_t count;    /* iterations */
    uint32_t name;   /* of the part each begins with */
};

/* The outermost ranges of one thread: at least two names that come round in turn, at least three
 * times, and cover half of the time. An iteration begins with the part before which the longest
 * pauses are. count is 0 when there is no such thread. */
struct nl_step_cycle nl_step_cycle(const struct nl_trace *trace, int64_t rank);

#endif
