/* clock — time for measuring how long something takes; it never jumps, and its zero means nothing. */
#ifndef NL_CLOCK_H
#define NL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t nl_clock_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
