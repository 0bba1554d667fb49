/*
 * feeder — the thread that feeds a device: what it does is what the device waits for when the
 * launch of its next work is not known, before its first work and after its last.
 */
#ifndef NL_FEEDER_H
#define NL_FEEDER_H

#include "timeline/lanesof.h"
#include "timeline/worksweep.h"

/* The thread (a row) whose calls launched most work of these lanes, of equals the first row. Where
 * no launch was recorded: the one thread of their processes that has operators, calls, Python
 * frames or ranges. NL_NULL_ROW when there is no such thread, or several. */
uint32_t nl_feeder(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                   const struct nl_work_lane *lanes, size_t count);

/* The thread of a process on which most time is covered by calls, operators, Python frames, modules
 * and ranges; where that one mostly waits and is not the main thread, the one that works most;
 * *others is whether other threads have some, too. Threads with nothing but system calls count only
 * where no thread has anything else. */
uint32_t nl_main_thread(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                        uint32_t process, bool *others);

/* Whether the lane or its thread is called the main thread. False for NL_NULL_ROW. */
bool nl_lane_says_main(const struct nl_trace *trace, uint32_t lane);

#endif
