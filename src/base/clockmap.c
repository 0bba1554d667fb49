/*
 * Asking a settled map, and taking in readings. How a map is made: clockmap_fit.c.
 */
#include "base/clockmap.h"

#include <math.h>

#include "base/mem.h"
#include "base/search.h"

#define MAX_NS      ((int64_t)1 << 61)
#define MIN_RATE    1000000u /* counts per second that a clock can have */
#define MAX_RATE    100000000000u
#define SHORT_NS    20000000 /* shorter axes give a worse rate than the measured one */
#define FAR_NS      1000000000
#define RATE_DOUBT  1e-4 /* of counts_per_second, which was measured over a millisecond or more */
#define RATE_WANDER 1e-6 /* beyond the ends: rates change by about this much in seconds */

__extension__ typedef __int128 wide;

bool nl_clockmap_read(struct nl_clockmap *map, uint64_t ticks, int64_t ns, uint64_t bracket)
{
    if (ns < -MAX_NS || ns > MAX_NS || ticks > INT64_MAX) {
        map->odd++;
        return false;
    }
    nl_grow(&map->readings, &map->reading_cap, map->reading_count + 1);
    map->readings[map->reading_count++] = (struct nl_clock_reading){ticks, bracket, ns};
    return true;
}

/* ---- asking ---- */

static bool clamp(wide value, int64_t *ns)
{
    *ns = (int64_t)value;
    return value >= -MAX_NS && value <= MAX_NS;
}

static bool on_line(const struct nl_clock_knot *a, const struct nl_clock_knot *b, uint64_t ticks,
                    int64_t *ns)
{
    wide run = (wide)b->ticks - a->ticks, rise = (wide)b->ns - a->ns;
    wide part = ((wide)ticks - a->ticks) * rise;
    /* floor, so that equal distances give equal lengths on both sides */
    return clamp(a->ns + part / run - (part % run < 0), ns);
}

static bool by_rate(const struct nl_clockmap *map, const struct nl_clock_knot *from, uint64_t ticks,
                    int64_t *ns)
{
    wide rate = map->counts_per_second;
    if (rate < MIN_RATE || rate > MAX_RATE)
        return false;
    wide part = ((wide)ticks - from->ticks) * 1000000000;
    return clamp(from->ns + part / rate - (part % rate < 0), ns);
}

/* The line that holds `ticks`: its right end; 1 to knot_count - 1. */
static size_t find_line(struct nl_clockmap *map, uint64_t ticks)
{
    size_t at = map->at, low = 1, high = map->knot_count - 1;
    if (at >= low && at <= high && ticks <= map->knots[at].ticks &&
        ticks >= map->knots[at - 1].ticks)
        return at;
    map->at = NL_FIRST(i, low, high, map->knots[i].ticks >= ticks);
    return map->at;
}

static bool outside(const struct nl_clockmap *map, uint64_t ticks)
{
    return ticks < map->knots->ticks || ticks > map->knots[map->knot_count - 1].ticks;
}

/* The knots whose line goes on beyond an end: the end and one a second away, since a short line
 * would be a poor guide; never across a step. *far == *near: there is no such line. */
static void end_line(const struct nl_clockmap *map, uint64_t ticks,
                     const struct nl_clock_knot **near, const struct nl_clock_knot **far)
{
    const struct nl_clock_knot *first = map->knots, *last = first + map->knot_count - 1;
    bool before = ticks < first->ticks;
    *near = *far = before ? first : last;
    while (before ? *far < last && (*far)->jump == 0 && (*far)->ns - first->ns < FAR_NS
                  : *far > first && (*far)[-1].jump == 0 && last->ns - (*far)->ns < FAR_NS)
        *far += before ? 1 : -1;
}

static bool is_short(const struct nl_clock_knot *near, const struct nl_clock_knot *far)
{
    int64_t span = far->ns - near->ns;
    return far == near || (span < SHORT_NS && span > -SHORT_NS);
}

static bool at_outside(const struct nl_clockmap *map, uint64_t ticks, int64_t *ns)
{
    const struct nl_clock_knot *near, *far;
    end_line(map, ticks, &near, &far);
    if (is_short(near, far) && by_rate(map, near, ticks, ns))
        return true;
    if (far == near)
        return false;
    return near < far ? on_line(near, far, ticks, ns) : on_line(far, near, ticks, ns);
}

bool nl_clockmap_at(struct nl_clockmap *map, uint64_t ticks, int64_t *ns)
{
    if (!map->knot_count)
        return false;
    if (map->knot_count == 1 || outside(map, ticks))
        return ticks == map->knots->ticks ? (*ns = map->knots->ns, true)
                                          : at_outside(map, ticks, ns);
    size_t line = find_line(map, ticks);
    return on_line(&map->knots[line - 1], &map->knots[line], ticks, ns);
}

static double bound_outside(const struct nl_clockmap *map, uint64_t ticks)
{
    const struct nl_clock_knot *near, *far;
    end_line(map, ticks, &near, &far);
    double away = fabs(((double)ticks - (double)near->ticks) * map->ns_per_count);
    double doubt = RATE_DOUBT;
    if (!is_short(near, far))
        doubt = (near->half + far->half) / fabs((double)(far->ns - near->ns)) + RATE_WANDER;
    return CLOCKMAP_MARGIN * near->half + doubt * away;
}

static double bound_inside(struct nl_clockmap *map, uint64_t ticks)
{
    size_t line = find_line(map, ticks);
    const struct nl_clock_knot *a = &map->knots[line - 1], *b = &map->knots[line];
    double part = (double)(ticks - a->ticks) / (double)(b->ticks - a->ticks);
    double half = a->half + (b->half - a->half) * part;
    return CLOCKMAP_MARGIN * half + a->stray + a->jump * (part > 0.5 ? part : 1 - part);
}

int64_t nl_clockmap_bound(struct nl_clockmap *map, uint64_t ticks)
{
    int64_t ns;
    if (!nl_clockmap_at(map, ticks, &ns))
        return 0;
    double bound = map->knot_count == 1 || outside(map, ticks) ? bound_outside(map, ticks)
                                                               : bound_inside(map, ticks);
    return bound < (double)MAX_NS ? (int64_t)ceil(bound) + 1 : MAX_NS; /* 1: whole ns */
}

void nl_clockmap_release(struct nl_clockmap *map)
{
    nl_free(map->readings);
    nl_free(map->knots);
    *map = (struct nl_clockmap){0};
}
