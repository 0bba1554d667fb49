/*
 * perfcost — what a sample of the kernel's costs the thread that is sampled, on this machine.
 *
 * The same work is done with samples as the program will get them, only far more often, and without
 * any, in turns; what each took longer, for each sample; of some rounds the least but one.
 * Interrupt, registers and copy of the stack are in it. Rounds that the ring could not hold are
 * left out. 6 to 10 ms of the caller's time.
 */
#ifndef NL_PERFCOST_H
#define NL_PERFCOST_H

#include <linux/perf_event.h>
#include <stdint.h>

/* Picoseconds of a sample as `like` takes them, by the calling thread; 0 = it
 * cannot be measured here. */
uint64_t perfcost_sample_ps(const struct perf_event_attr *like);

#endif
