/* The clock of recordings. */
#define _GNU_SOURCE
#include "capture/shared/ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

static bool counter_is_steady(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
#elif defined(__aarch64__)
static bool counter_is_steady(void)
{
    return true; /* the architecture's generic timer is */
}
#else
static bool counter_is_steady(void)
{
    return false;
}
#endif

static bool kernel_uses_counter(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char text[64] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 && (strncmp(text, "tsc", 3) == 0 || strncmp(text, "arch_sys_counter", 16) == 0);
}

enum nl_rec_clock ticks_choose(void)
{
    return counter_is_steady() && kernel_uses_counter() ? NL_REC_CLOCK_TSC : NL_REC_CLOCK_MONOTONIC;
}

struct nl_rec_pair ticks_pair(uint32_t clock, unsigned tries)
{
    struct nl_rec_pair best = {.bracket = UINT64_MAX};
    for (unsigned i = 0; i < tries; i++) {
        uint64_t before = ticks_now(clock);
        int64_t monotonic = ticks_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = ticks_now(clock);
        if (after - before < best.bracket)
            best = (struct nl_rec_pair){.ticks = before + (after - before) / 2,
                                        .monotonic_ns = monotonic,
                                        .bracket = after - before};
    }
    if (clock == NL_REC_CLOCK_MONOTONIC) {
        best.ticks = (uint64_t)best.monotonic_ns;
        best.bracket = 0;
    }
    int64_t before = ticks_clock_ns(CLOCK_MONOTONIC), real = ticks_clock_ns(CLOCK_REALTIME);
    int64_t middle = before + (ticks_clock_ns(CLOCK_MONOTONIC) - before) / 2;
    best.real_ns = real - middle + best.monotonic_ns;
    return best;
}

uint64_t ticks_rate(const struct nl_rec_pair *first, const struct nl_rec_pair *second)
{
    int64_t ns = second->monotonic_ns - first->monotonic_ns;
    if (ns < 1000000 || second->ticks <= first->ticks)
        return 0;
    double rate = (double)(second->ticks - first->ticks) * 1e9 / (double)ns;
    return rate < 1e15 ? (uint64_t)rate : 0;
}
