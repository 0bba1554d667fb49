/*
 * otherswork — what other threads do while one waits: a program does nothing only when all of its threads wait.
 */
#ifndef NL_OTHERSWORK_H
#define NL_OTHERSWORK_H

#include "store/trace.h"
#include "tables/analyze.h"

/* Nanoseconds of the window in which some thread sits in the function of that name (a dictionary id) while another one has slices
 * and none that only waits (timeline/waitname.h). Times of asynchronous events are no thread's. */
int64_t nl_others_work(const struct nl_trace *trace, const struct nl_window *window, uint32_t name);

#endif
