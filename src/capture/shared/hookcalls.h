/*
 * hookcalls — what hooks ask of the recording library: to count them, and to measure what
 * one costs on this machine.
 *
 * The Python package finds the table by `nl_capture_hooks`. A hook is measured by the first
 * process of a run that installs it: the same loop with the hook and without, in turns, whose
 * events go to a scratch block:
 *
 *     if (calls->claim(hook))
 *         for (rounds) {
 *             bare = time of the loop without the hook;
 *             if (!calls->scratch_begin()) break;
 *             hooked = time of the loop with it;
 *             events = calls->scratch_end();
 *         }
 *     calls->cost(hook, picoseconds);
 *
 * No more than HOOKCALLS_EVENTS events may be written between scratch_begin and scratch_end, by
 * the calling thread alone.
 */
#ifndef NL_HOOKCALLS_H
#define NL_HOOKCALLS_H

#include <stdint.h>

#include "nlrec/rechooks.h"

#define HOOKCALLS_EVENTS 1000u /* of up to four cells */

struct nl_hook_calls {
    uint32_t size;
    void (*ran)(uint32_t hook, uint64_t times); /* of one thread at a time; others may be missed */
    int (*claim)(uint32_t hook);   /* 1: it is the caller's to measure, and events are recorded */
    int (*scratch_begin)(void);    /* 0: there is no memory */
    uint32_t (*scratch_end)(void); /* events that were written */
    void (*cost)(uint32_t hook,
                 uint64_t ps);    /* of one hook with its events; 0 = cannot be measured */
    void (*started)(uint64_t ns); /* processor time that installing hooks took */
};

#endif
