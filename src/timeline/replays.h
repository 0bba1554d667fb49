/*
 * replays — graphs that were launched and of whose kernels none was recorded: while they run, the device looks idle.
 */
#ifndef NL_REPLAYS_H
#define NL_REPLAYS_H

#include "store/trace.h"

/* Launches of graphs by a process whose kernels are joined to their launches, and none to that of a graph; 0 where
 * kernels of graphs are there, where graphs are rows of their own, or where nobody can tell: of kernels without a launch
 * more than a few may be those of graphs. RPD files are so: of a graph they hold its copies alone. `process` is a row;
 * NL_NULL_ROW: the sum over all of them, each judged by itself. */
uint64_t nl_replays_unrecorded(const struct nl_trace *trace, uint32_t process);

/* The same per row of process, and behind the last for launches whose process is not known; NULL: 0 for all. nl_free it. */
uint64_t *nl_replays_by_process(const struct nl_trace *trace);

#endif
