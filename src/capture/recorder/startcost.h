/*
 * startcost — what it costs a process on this machine to start with the recording library.
 *
 * The system's `true` is started with the recorded program's environment and with the recorder's
 * own, in turns; of each the least processor time counts, the kernel's included. A pair takes 1 to
 * 2 ms, and there are as many as processes were started, from 4 to 16: what was paid once need not
 * be known so well as what is multiplied by hundreds.
 */
#ifndef NL_STARTCOST_H
#define NL_STARTCOST_H

#include <stdint.h>

/* ns. starts: processes that started with the library. 0: it cannot be measured here (no such
 * program, or it is linked statically). */
uint64_t startcost_ns(uint64_t starts, char *const *recorded, char *const *bare);

#endif
