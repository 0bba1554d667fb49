/*
 * foreigncalls — whether the calls of a trace are of other programs than its kernels: files of
 * several runs in one folder, as of a profiler that collects counters in separate runs. Such calls
 * launched none of the kernels, which says nothing of either recording.
 */
#ifndef NL_FOREIGNCALLS_H
#define NL_FOREIGNCALLS_H

#include "store/trace.h"

/* True when there are calls and kernels, no call launched a kernel, and the system's numbers of
 * their processes, which are all known, have none in common. */
bool nl_calls_are_foreign(const struct nl_trace *trace);

#endif
