/*
 * Ticks to ns: straight lines between the pairs that were taken on the way. CLOCK_MONOTONIC is steered
 * by NTP, so one rate for all would be wrong by more than a pair's own error; lines between pairs add
 * none. Pairs nearer than 20 ms to the one before are only used to see how far off the lines are.
 */
#include <stdlib.h>

#include "ingest/recording.h"

#define NEAR_NS    20000000
#define NS_MOST    ((int64_t)1 << 61)
#define RATE_LEAST 1000000u /* ticks per second that a counter can have */
#define RATE_MOST  100000000000u

__extension__ typedef __int128 wide;

void rec_clock_add(struct rec_clock *clock, uint64_t ticks, int64_t ns, uint64_t bracket)
{
    if (ns < 0 || ns > NS_MOST || ticks > INT64_MAX) {
        clock->odd++;
        return;
    }
    nl_grow(&clock->points, &clock->cap, clock->count + 1);
    clock->points[clock->count++] = (struct rec_point){ticks, bracket, ns};
}

static int by_ticks(const void *a, const void *b)
{
    const struct rec_point *one = a, *other = b;
    if (one->ticks != other->ticks)
        return one->ticks < other->ticks ? -1 : 1;
    return (one->ns > other->ns) - (one->ns < other->ns);
}

static int64_t clamp(wide ns)
{
    return ns > NS_MOST ? NL_NULL_I64 : ns < -NS_MOST ? NL_NULL_I64 : (int64_t)ns;
}

static int64_t on_line(const struct rec_point *a, const struct rec_point *b, uint64_t ticks)
{
    wide run = (wide)b->ticks - a->ticks, rise = (wide)b->ns - a->ns;
    wide part = ((wide)ticks - a->ticks) * rise;
    /* floor, so that equal distances give equal lengths on both sides */
    wide ns = part / run - (part % run < 0);
    return clamp(a->ns + ns);
}

static int64_t by_rate(const struct rec_clock *clock, const struct rec_point *from, uint64_t ticks)
{
    uint64_t rate = clock->ticks_per_second;
    if (clock->clock == NL_REC_CLOCK_MONOTONIC)
        rate = 1000000000;
    if (rate < RATE_LEAST || rate > RATE_MOST)
        return NL_NULL_I64;
    wide part = ((wide)ticks - from->ticks) * 1000000000;
    return clamp(from->ns + part / (wide)rate - (part % (wide)rate < 0));
}

/* Pairs read far apart (the process was interrupted between the two clocks) tell little: those over four
 * times the tightest are left out, unless they are the only ones. */
static void drop_loose(struct rec_clock *clock)
{
    uint64_t tightest = UINT64_MAX;
    for (size_t i = 0; i < clock->count; i++)
        if (clock->points[i].bracket < tightest)
            tightest = clock->points[i].bracket;
    uint64_t most = tightest < UINT64_MAX / 8 ? tightest * 4 + 16 : UINT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < clock->count; i++)
        if (clock->points[i].bracket <= most)
            clock->points[kept++] = clock->points[i];
    clock->count = kept;
}

/* Keeps what goes upwards. */
static void drop_odd(struct rec_clock *clock)
{
    size_t kept = 0;
    for (size_t i = 0; i < clock->count; i++) {
        const struct rec_point *point = &clock->points[i];
        bool same = kept && clock->points[kept - 1].ticks == point->ticks;
        if (kept && point->ns < clock->points[kept - 1].ns)
            clock->odd++;
        else if (!same)
            clock->points[kept++] = *point;
    }
    clock->count = kept;
}

static void see_error(struct rec_clock *clock, int64_t error_ns)
{
    if (error_ns < 0)
        error_ns = -error_ns;
    if (clock->error_ns == NL_NULL_I64 || clock->error_ns < error_ns)
        clock->error_ns = error_ns;
}

/* Thins out; what is left out is measured against the lines between what is kept. */
static void thin_out(struct rec_clock *clock)
{
    struct rec_point *points = clock->points;
    size_t kept = 1, last = clock->count - 1;
    for (size_t i = 1; i <= last; i++) {
        bool far = points[i].ns - points[kept - 1].ns >= NEAR_NS;
        if (far || (i == last && kept == 1))
            points[kept++] = points[i];
    }
    clock->count = kept;
}

static void measure(struct rec_clock *clock, const struct rec_point *all, size_t count)
{
    uint64_t rate = clock->clock == NL_REC_CLOCK_MONOTONIC ? 1000000000 : clock->ticks_per_second;
    for (size_t i = 0; i < count; i++) {
        if (rate >= RATE_LEAST && all[i].bracket < rate)
            see_error(clock, (int64_t)(all[i].bracket / 2 * 1000000000 / rate));
        int64_t ns = rec_clock_ns(clock, all[i].ticks);
        if (ns != NL_NULL_I64)
            see_error(clock, ns - all[i].ns);
    }
}

void rec_clock_settle(struct rec_clock *clock)
{
    clock->error_ns = NL_NULL_I64;
    if (!clock->count)
        return;
    drop_loose(clock);
    qsort(clock->points, clock->count, sizeof *clock->points, by_ticks);
    drop_odd(clock);
    struct rec_point *all = nl_alloc(clock->count * sizeof *all);
    size_t count = clock->count;
    memcpy(all, clock->points, count * sizeof *all);
    thin_out(clock);
    measure(clock, all, count);
    nl_free(all);
}

/* The line that holds `ticks`: its right end; 1 to count - 1. */
static size_t line_of(const struct rec_clock *clock, uint64_t ticks)
{
    size_t low = 1, high = clock->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->points[middle].ticks < ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t rec_clock_ns(struct rec_clock *clock, uint64_t ticks)
{
    const struct rec_point *points = clock->points;
    if (clock->clock == NL_REC_CLOCK_MONOTONIC)
        return clamp((wide)ticks);
    if (!clock->count)
        return NL_NULL_I64;
    const struct rec_point *end = &points[clock->count - 1];
    if (clock->count == 1)
        return by_rate(clock, points, ticks);
    /* Beyond the pairs a short line would be a poor guide; the measured rate is better. */
    if (ticks < points->ticks || ticks > end->ticks) {
        const struct rec_point *near = ticks < points->ticks ? points : end;
        int64_t ns = end->ns - points->ns < NEAR_NS ? by_rate(clock, near, ticks) : NL_NULL_I64;
        if (ns != NL_NULL_I64)
            return ns;
        return near == points ? on_line(points, points + 1, ticks) : on_line(end - 1, end, ticks);
    }
    if (clock->at < 1 || clock->at >= clock->count || ticks > points[clock->at].ticks ||
        ticks < points[clock->at - 1].ticks)
        clock->at = line_of(clock, ticks);
    return on_line(&points[clock->at - 1], &points[clock->at], ticks);
}

void rec_clock_release(struct rec_clock *clock)
{
    nl_free(clock->points);
    *clock = (struct rec_clock){0};
}
