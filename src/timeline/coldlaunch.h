/*
 * coldlaunch — launch calls that first loaded the code they launch (lazy loading of CUDA and HIP).
 */
#ifndef NL_COLDLAUNCH_H
#define NL_COLDLAUNCH_H

#include "timeline/apirole.h"

#define NL_COLD_LAUNCH_NS 1000000

/* Whether a launch call (a slice) of 1 ms or more loaded code: its work begins about
 * when it returns. While a launch queue is full, the other reason for long calls,
 * the work begins much later. */
static inline bool nl_is_cold_launch(const struct nl_trace *trace, uint32_t slice)
{
    int64_t dur = trace->slice.dur[slice];
    uint32_t work = trace->slice.link[slice];
    if (dur == NL_NULL_I64 || dur < NL_COLD_LAUNCH_NS || work == NL_NULL_ROW)
        return false;
    return trace->slice.ts[work] <= nl_slice_end(trace, slice) + dur / 10 &&
           trace->slice.ts[work] >= trace->slice.ts[slice] + dur / 2;
}

#endif
