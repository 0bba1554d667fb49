/*
 * preempt — how long a thread was kept from running by other programs.
 *
 * Where context switches were recorded, a thread that left its processor though it could go on
 * (NL_SLICE_READY) was kept from running until its next switch in. While another recorded thread
 * ran on that processor, the program stood in its own way; the rest is the doing of the machine:
 * other programs, a quota of the cgroup. On a busy machine that rest is most of what differs
 * between two captures of one program, and none of it is the program's.
 *
 *     struct nl_preempt *preempt = nl_preempt_new(trace);     NULL: switches were not recorded
 *     ns = nl_preempt_in(preempt, thread, start, end);
 *     nl_preempt_free(preempt);
 *
 * A recording that lost switches is one without: the gap that a lost switch
 * leaves looks like a wait.
 */
#ifndef NL_PREEMPT_H
#define NL_PREEMPT_H

#include "store/trace.h"

struct nl_preempt;

/* Borrows the trace. NULL where no switches were recorded, or some were lost. O(n log n) of the
 * switches. */
struct nl_preempt *nl_preempt_new(const struct nl_trace *trace);
void nl_preempt_free(struct nl_preempt *preempt);

/* Nanoseconds of [start, end) in which other programs kept a thread (a row; NL_NULL_ROW gives
 * 0) from running. O(log n). */
int64_t nl_preempt_in(const struct nl_preempt *preempt, uint32_t thread, int64_t start,
                      int64_t end);

#endif
