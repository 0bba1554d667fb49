/*
 * offcpu — when a thread did not run, and whether it waited for something or for a processor.
 *
 * There are two sources. The scheduler's switches (nsys SCHED_EVENTS, ftrace): between a switch out
 * and the next switch in a thread is off the processors; where the state it left in was recorded,
 * that says whether it waits or is ready. And system calls that do nothing but wait
 * (pthread_cond_wait, poll, …). Before a thread's first switch in and after its last switch out
 * nothing is known.
 */
#ifndef NL_OFFCPU_H
#define NL_OFFCPU_H

#include "store/trace.h"

enum nl_cpu_state {
    NL_CPU_UNKNOWN, /* no switches recorded here */
    NL_CPU_ON,
    NL_CPU_OFF,     /* why was not recorded */
    NL_CPU_WAITING, /* for something that is not a processor */
    NL_CPU_READY    /* could run, another thread had the processor */
};

struct nl_offcpu_run {
    uint32_t first, last; /* slices of a thread's switches, in order of time */
};

struct nl_offcpu {
    const struct nl_trace *trace; /* borrowed */
    struct nl_offcpu_run *runs;   /* per thread */
    uint8_t *waits;               /* per name: 0 not asked yet, 1 no, 2 yes */
};

void nl_offcpu_init(struct nl_offcpu *off, const struct nl_trace *trace);
void nl_offcpu_release(struct nl_offcpu *off);

/* State of a thread (a row) at `ts`; *until becomes the end of that state where that is earlier. */
enum nl_cpu_state nl_offcpu_at(const struct nl_offcpu *off, uint32_t thread, int64_t ts,
                               int64_t *until);

/* Whether a slice (NL_NULL_ROW: no) is a system call that only waits. */
bool nl_offcpu_is_wait(struct nl_offcpu *off, uint32_t slice);

#endif
