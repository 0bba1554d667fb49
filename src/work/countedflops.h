/*
 * countedflops — operations per second that a kernel profiler's counters show: those of Nsight
 * Compute's roofline, per measurement of a trace.
 */
#ifndef NL_COUNTEDFLOPS_H
#define NL_COUNTEDFLOPS_H

#include "store/trace.h"

/* Operations per second by width; NaN where tensor cores worked, since their operations are not
 * counted, or where counts are missing. */
struct nl_counted_flops {
    double fp64, fp32, fp16;
};

/* One per row of trace->measurement; nl_free it. */
struct nl_counted_flops *nl_counted_flops_find(const struct nl_trace *trace);

#endif
