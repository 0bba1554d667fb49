/*
 * perfring — samples and switches of a program and all it starts, as the kernel writes them.
 *
 *     struct perfring *ring = perfring_open(&options, why, sizeof why);   // options.pid waits in front of exec
 *     ... it is let go ...
 *     now and then:  perfring_fill(ring, now); while (perfring_next(ring, &record)) ...
 *     perfring_close(ring);
 *
 * The events are opened, asleep, on the process that will become the program, one per
 * processor, and wake when it becomes itself by exec, so nothing of it is missed; what it
 * starts inherits them. They are never opened on the caller to be inherited: caller and
 * program then had twin contexts, which the kernel exchanges when one follows the other on a
 * processor, and on a busy machine the program went on with the caller's sleeping ones (1
 * sample of 500, seen on Linux 6.18).
 *
 * Each processor has a separate ring. Records are handed out in the order of their times, those of
 * the last moments when the next fill comes, since another ring may still hold older ones.
 */
#ifndef NL_PERFRING_H
#define NL_PERFRING_H

#include <sys/types.h>

#include "capture/native/perfrecord.h"

/* DWARF: unwound in the recorder, from copies of the stacks' tops. Where
 * unwind_registers() knows none, FP. */
enum perf_stacks { PERF_STACKS_DWARF, PERF_STACKS_FP, PERF_STACKS_OFF };

struct perfring_options {
    pid_t pid;   /* a process that waits in front of exec */
    uint32_t hz; /* samples a second of each thread while it runs; 0 = none */
    enum perf_stacks stacks;
    uint32_t stack_bytes; /* of a thread's stack copied for DWARF: a multiple of 8, 65528 at most */
    bool switches;        /* when threads get a processor and leave it */
    bool asleep;          /* sampling waits for perfring_gate */
};

struct perfring;

/* NULL with the reason and what unlocks it in `why`. */
struct perfring *perfring_open(const struct perfring_options *options, char *why, size_t room);
void perfring_close(struct perfring *ring);

/* Sampling (not the knowledge of processes and mappings) goes on or rests. */
void perfring_gate(struct perfring *ring, bool open);

/* Switches are not reported any more, for good. */
void perfring_no_switches(struct perfring *ring);

/* Takes what is in the rings. `now` is CLOCK_MONOTONIC, read before;
 * `last`: nothing is held back. */
void perfring_fill(struct perfring *ring, int64_t now, bool last);

/* The next record, valid until the next fill; false: no more for now. */
bool perfring_next(struct perfring *ring, struct perf_record *record);

/* Records that made no sense. */
uint64_t perfring_damaged(const struct perfring *ring);
/* "cycles" or "cpu-clock", and what a period counts. */
const char *perfring_event(const struct perfring *ring);
const char *perfring_unit(const struct perfring *ring);
/* What a sample costs a thread at least, ps; 0 = not known, or there are none (perfcost.h). */
uint64_t perfring_sample_ps(const struct perfring *ring);
/* Are threads sampled while the kernel works for them? */
bool perfring_sees_kernel(const struct perfring *ring);

/* What can be had here, in words, for `doctor`; true: something. */
bool perfring_probe(char *text, size_t room);

#endif
