/*
 * replays — graphs that were launched and of whose kernels none was recorded: while they
 * run, the device looks idle.
 */
#ifndef NL_REPLAYS_H
#define NL_REPLAYS_H

#include "store/trace.h"

/* Launches of graphs by a process whose kernels are joined to their launches, and none to that of a
 * graph; 0 if kernels of graphs are recorded, if graphs are separate rows, or if it is unknown: of
 * kernels without a launch more than a few may be those of graphs. RPD files are so: of a graph
 * they hold its copies alone. `process` is a row; NL_NULL_ROW: the sum over all of them, each
 * judged by itself. */
uint64_t nl_replays_unrecorded(const struct nl_trace *trace, uint32_t process);

/* The same per row of process, and after the last for launches of unknown processes; NULL: 0 for
 * all. nl_free it. */
uint64_t *nl_replays_by_process(const struct nl_trace *trace);

#endif
