/*
 * profilercalls — calls that switch a profiler on and off, where they are slices of the trace
 * (start_trace and stop_trace of torch.profiler and JAX, cudaProfilerStart): what they take, with
 * all they call, is the profiler's cost and no time of the program.
 */
#ifndef NL_PROFILERCALLS_H
#define NL_PROFILERCALLS_H

#include "store/trace.h"

struct nl_profiler_calls {
    int64_t start_ns, stop_ns;      /* at the same time on several threads counts once; 0 none */
    uint32_t start_name, stop_name; /* of the longest: dictionary ids; 0 none */
};

/* Whether the name is such a call's; marks that SQL's GLOB takes, too. */
#define NL_PROFILER_START "start_trace"
#define NL_PROFILER_STOP  "stop_trace"
bool nl_is_profiler_call(struct nl_str name);

/* Whether the slice, or one around it, is such a call. */
bool nl_in_profiler_call(const struct nl_trace *trace, uint32_t slice);

/* Linear in names; in slices only where a name is one. */
struct nl_profiler_calls nl_profiler_calls(const struct nl_trace *trace);

#endif
