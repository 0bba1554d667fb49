/*
 * startcost — what it costs a process on this machine to start with the recording library.
 *
 * The system's `true` is started with the recorded program's environment and with the recorder's own, in turns; of each
 * the least processor time counts, the kernel's included. 10 to 20 ms.
 */
#ifndef NL_STARTCOST_H
#define NL_STARTCOST_H

#include <stdint.h>

/* ns; 0: it cannot be measured here (no such program, or it is linked statically). */
uint64_t startcost_ns(char *const *recorded, char *const *bare);

#endif
