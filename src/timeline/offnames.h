/*
 * offnames — names of slices in which threads are off the processors: the scheduler's switches
 * (ftrace, nsys SCHED_EVENTS) show that nearly all of their self time passes waiting. Of generic
 * slices alone: functions, operators and ranges that wait are the program's words for it. A
 * thread that is ready to run and gets no processor does not wait.
 */
#ifndef NL_OFFNAMES_H
#define NL_OFFNAMES_H

#include "store/trace.h"

/* Sets marks[name] to `mark` for such names, of which marks has one per dictionary id; none where
 * nothing else would be left, and none without switches. */
void nl_mark_off_names(const struct nl_trace *trace, uint8_t *marks, uint8_t mark);

#endif
