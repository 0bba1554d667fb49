/*
 * ticks — the clock of recordings: the processor's time stamp counter where the kernel trusts it (8
 * ns a reading), else CLOCK_MONOTONIC (20 ns).
 *
 * Readings are not serialised: they may be off by the few ns that a processor looks ahead.
 */
#ifndef NL_TICKS_H
#define NL_TICKS_H

#include <stdbool.h>
#include <time.h>

#include "nlrec/recformat.h"

static inline int64_t ticks_clock_ns(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline uint64_t ticks_now(uint32_t clock)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock == NL_REC_CLOCK_TSC, 1))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(clock == NL_REC_CLOCK_TSC, 1)) {
        uint64_t count;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
        return count;
    }
#endif
    return (uint64_t)ticks_clock_ns(CLOCK_MONOTONIC);
}

/* The clock to use on this machine: the counter must run at one rate whatever the processor does,
 * and the kernel must keep time by it. */
enum nl_rec_clock ticks_choose(void);

/* Both clocks read together, the tightest of `tries`. */
struct nl_rec_pair ticks_pair(uint32_t clock, unsigned tries);

/* Ticks per second from two pairs; 0 when they are too near (under 1 ms). */
uint64_t ticks_rate(const struct nl_rec_pair *first, const struct nl_rec_pair *second);

#endif
