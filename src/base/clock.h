/*
 * clock — the time now, in ns: of a clock that only goes forward, for how long something takes,
 * and of the calendar. What runs inside other programs has its own (capture/shared/ticks.h).
 */
#ifndef NL_CLOCK_H
#define NL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t nl_clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Since some moment before this process began; no step of the calendar's clock moves it. */
static inline int64_t nl_monotonic_ns(void)
{
    return nl_clock_ns(CLOCK_MONOTONIC);
}

/* Since 1970, UTC. */
static inline int64_t nl_calendar_ns(void)
{
    return nl_clock_ns(CLOCK_REALTIME);
}

#endif
