/*
 * hookcost — what a hook costs on this machine, for hooks inside the library itself; Python's
 * come through hookcalls.h.
 */
#ifndef NL_HOOKCOST_H
#define NL_HOOKCOST_H

#include "capture/shared/hookcalls.h"

/* Measures what `pair` costs, which writes two events, unless a process of this run
 * did already. About 50 µs. */
void hookcost_measure(uint32_t hook, void (*pair)(void));

/* Events of the calling thread go to a scratch block; 0: there is no memory. */
int hookcost_scratch_begin(void);
/* Back to its own; events that were written. */
uint32_t hookcost_scratch_end(void);

#endif
