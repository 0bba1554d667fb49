/*
 * hostbusy — how long a thread was at work itself: in operators, calls, Python frames, modules and
 * compilation, less what it waited in them for the device. No change that leaves the CPU's work as
 * it is makes a step shorter than that.
 *
 * Calls that return when the device is done count nothing; launch calls count NL_BUSY_LAUNCH_NS at
 * most, because longer ones wait for room in the device's queue. Ranges alone say nothing about
 * work. Cost: the thread's outermost slices, and all calls.
 */
#ifndef NL_HOSTBUSY_H
#define NL_HOSTBUSY_H

#include "timeline/apirole.h"

#define NL_BUSY_LAUNCH_NS 50000

/* ns of [start, end), store time; 0 for an unknown thread (NL_NULL_ROW). */
int64_t nl_host_busy(const struct nl_trace *trace, const struct nl_api_roles *roles,
                     uint32_t thread, int64_t start, int64_t end);

#endif
