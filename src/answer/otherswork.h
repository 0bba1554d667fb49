/*
 * otherswork — what other threads do while one waits: a program is idle only if all of its threads
 * wait.
 */
#ifndef NL_OTHERSWORK_H
#define NL_OTHERSWORK_H

#include "store/trace.h"
#include "tables/analyze.h"

/* Nanoseconds of the window in which some thread is in the function `name` (a dictionary id) while
 * another thread has slices, none of which only waits (timeline/waitname.h). Asynchronous events
 * belong to no thread and do not count. */
int64_t nl_others_work(const struct nl_trace *trace, const struct nl_window *window, uint32_t name);

#endif
