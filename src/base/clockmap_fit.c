/*
 * Makes a clock map from readings. We fit the residual y (ns) of the reference against a clock
 * running at the median rate (x, ns since the first reading): these numbers are small, so doubles
 * are exact to far less than a nanosecond.
 *
 *   thin      keeps the tightest reading per millisecond; drops loose ones between tighter ones
 *   part      at steps: the axis runs on in parallel on both sides of a gap, but not through it
 *   knots     20 ms apart or more; the interval of each from the lines through its window (lineband.h)
 *   stray     of a gap between knots: what lines through four knots fail by
 *
 * A straight line through brackets proves little: they can hide curvature. Twice the length shows
 * at least twice the curvature, four times for smooth changes; so a window is trusted if one four
 * times as long is straight, and the margin of clockmap.c covers the rest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clockmap.h"
#include "base/lineband.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/median.h"

#define CELL_NS            1000000
#define KNOT_NS            20000000
#define MAX_BRACKET        4.0 /* times the median bracket around */
#define MAX_BRACKET_COUNTS 16.0
#define MAX_NEAR           9u
#define END_DRIFT          2e-5 /* at a gap with one neighbour: less may be a change of rate */
#define LONE_DRIFT         1e-4 /* … with none */
#define UNKNOWN_WANDER     1e-7 /* assumed wander with fewer than four knots */
#define BEND_MARGIN        4 /* times what one change of rate would hide: both rates change at a gap */
#define LINE_MARGIN        1.5  /* we do not know where in a gap the rate changed */
#define STRAIGHT_SPANS     3.5  /* trust a window only if one this many times longer is straight */
#define MAX_SHIFT          1e15 /* ns that windows move a reading by */
#define MAX_WINDOW         64u

struct point {
    uint64_t ticks;
    int64_t ns;
    double x, y, half;
};

struct fit {
    struct nl_clockmap *map;
    struct point *points;
    size_t count;
    struct nl_bandpoint room[MAX_WINDOW];
};

static int by_ticks(const void *a, const void *b)
{
    const struct nl_clock_reading *one = a, *other = b;
    if (one->ticks != other->ticks)
        return one->ticks < other->ticks ? -1 : 1;
    return (one->ns > other->ns) - (one->ns < other->ns);
}

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* ---- thin ---- */

/* Whether the reference went back by more than the two readings leave open. Threads interrupted
 * between the two clocks made loose readings, whose middles may be in reverse order of the
 * times. */
static bool contradicts(const struct nl_clockmap *map, const struct nl_clock_reading *before,
                        const struct nl_clock_reading *reading)
{
    double ns = map->counts_per_second ? 1e9 / (double)map->counts_per_second : 1;
    double open = ((double)before->bracket + (double)reading->bracket) / 2 * ns + 1;
    double passed = (double)(reading->ticks - before->ticks) * ns;
    return (double)(before->ns - reading->ns) + passed > open;
}

/* Keeps what goes upwards, of every millisecond the tightest. */
static void take_upwards(struct fit *fit)
{
    struct nl_clockmap *map = fit->map;
    const struct nl_clock_reading *before = NULL;
    int64_t cell = INT64_MIN;
    for (size_t i = 0; i < map->reading_count; i++) {
        const struct nl_clock_reading *reading = &map->readings[i];
        if (before && reading->ns < before->ns) {
            map->odd += contradicts(map, before, reading);
            continue;
        }
        before = reading;
        struct point *last = fit->count ? &fit->points[fit->count - 1] : NULL;
        struct point point = {
            .ticks = reading->ticks, .ns = reading->ns, .half = (double)reading->bracket / 2};
        if (last && (reading->ns - cell < CELL_NS || last->ticks == reading->ticks)) {
            if (point.half < last->half && last->ticks != reading->ticks)
                *last = point;
            continue;
        }
        cell = reading->ns;
        fit->points[fit->count++] = point;
    }
}

/* Drops pairs read far apart (the process was interrupted between the two clocks): they are too
 * imprecise. */
static void drop_loose(struct fit *fit)
{
    double *halves = nl_alloc((fit->count + 1) * sizeof *halves);
    size_t kept = 0;
    for (size_t i = 0; i < fit->count; i++)
        halves[i] = fit->points[i].half;
    for (size_t i = 0; i < fit->count; i++) {
        double around[MAX_NEAR];
        size_t from = i < MAX_NEAR / 2 ? 0 : i - MAX_NEAR / 2, count = 0;
        if (from + MAX_NEAR > fit->count)
            from = fit->count > MAX_NEAR ? fit->count - MAX_NEAR : 0;
        while (count < MAX_NEAR && from + count < fit->count) {
            around[count] = halves[from + count];
            count++;
        }
        qsort(around, count, sizeof *around, by_value);
        if (halves[i] <= MAX_BRACKET * around[nl_median_lower_at(count)] + MAX_BRACKET_COUNTS / 2)
            fit->points[kept++] = fit->points[i];
    }
    fit->count = kept;
    nl_free(halves);
}

static double rate_of(const struct point *a, const struct point *b)
{
    return (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
}

/* ns per count: the median over all gaps that are long enough. */
static double median_rate(const struct fit *fit)
{
    double given = fit->map->counts_per_second ? 1e9 / (double)fit->map->counts_per_second : 1;
    if (fit->count < 2)
        return given;
    double *rates = nl_alloc(fit->count * sizeof *rates);
    size_t count = 0;
    for (size_t i = 1; i < fit->count; i++)
        if (fit->points[i].ns - fit->points[i - 1].ns >= CELL_NS / 2)
            rates[count++] = rate_of(&fit->points[i - 1], &fit->points[i]);
    qsort(rates, count, sizeof *rates, by_value);
    double rate = count ? rates[nl_median_upper_at(count)]
                        : rate_of(fit->points, &fit->points[fit->count - 1]);
    nl_free(rates);
    return rate > 0 ? rate : given;
}

static void set_rest(struct fit *fit)
{
    double rate = median_rate(fit);
    fit->map->ns_per_count = rate;
    for (size_t i = 0; i < fit->count; i++) {
        struct point *point = &fit->points[i];
        point->x = (double)(point->ticks - fit->points->ticks) * rate;
        point->y = (double)(point->ns - fit->points->ns) - point->x;
        point->half = point->half * rate + 1; /* clocks have a resolution of 1 ns */
    }
}

/* ---- part ---- */

struct guide {
    double slope, doubt;
    bool known;
};

static bool breaks(const struct fit *fit, size_t at)
{
    const struct point *a = &fit->points[at], *b = a + 1;
    return fabs(b->y - a->y) > fit->map->most_drift * (b->x - a->x) + a->half + b->half;
}

/* The slope next to a gap of length `length`, over about that length: from point `from` towards
 * `end`, up to a break that no rate explains. */
static struct guide beside(const struct fit *fit, size_t from, size_t end, double length)
{
    const struct point *points = fit->points;
    bool up = end > from;
    size_t to = from;
    while (to != end && fabs(points[to].x - points[from].x) < length &&
           !breaks(fit, up ? to : to - 1))
        to = up ? to + 1 : to - 1;
    if (to == from)
        return (struct guide){0};
    double run = fabs(points[to].x - points[from].x);
    double rise = points[to].y - points[from].y;
    return (struct guide){(up ? rise : -rise) / run, (points[to].half + points[from].half) / run,
                          true};
}

/* Size of the step between point `at` and the next one, 0 = none is seen; *bend: the difference of
 * the neighbouring rates, over the gap. The part that contains `at` begins at `first`. A gap runs
 * at a rate between its neighbours', or has a step; at ends, where one or both are not known, the
 * median rate stands in and more is forgiven. */
static double step_behind(const struct fit *fit, size_t first, size_t at, double *bend)
{
    const struct point *a = &fit->points[at], *b = a + 1;
    double run = b->x - a->x, rise = b->y - a->y;
    struct guide left = beside(fit, at, first, run);
    struct guide right = beside(fit, at + 1, fit->count - 1, run);
    double forgiven = left.known && right.known   ? 0
                      : left.known || right.known ? END_DRIFT
                                                  : LONE_DRIFT;
    if (left.known && right.known)
        forgiven = fabs(left.slope - right.slope) / 2; /* a step has the same rate on both sides */
    double slack = a->half + b->half + (fmax(left.doubt, right.doubt) + forgiven) * run;
    if (!breaks(fit, at) && rise >= fmin(left.slope, right.slope) * run - slack &&
        rise <= fmax(left.slope, right.slope) * run + slack)
        return 0;
    *bend = left.known && right.known ? fabs(left.slope - right.slope) * run : 0;
    double by_left = rise - (left.known ? left.slope : right.slope) * run;
    double by_right = rise - (right.known ? right.slope : left.slope) * run;
    return fabs(by_left) > fabs(by_right) ? by_left : by_right;
}

/* ---- knots ---- */

struct part {
    size_t first, behind; /* points */
};

/* First of `length` points around point `at`; the part has as many. */
static size_t window_from(const struct part *part, size_t at, size_t length)
{
    size_t from = at - part->first < length / 2 ? part->first : at - length / 2;
    return from + length > part->behind ? part->behind - length : from;
}

static double window_span(const struct fit *fit, const struct part *part, size_t at, size_t length)
{
    const struct point *from = &fit->points[window_from(part, at, length)];
    return from[length - 1].x - from->x;
}

/* The lines through `length` readings around point `at`, at that point. */
static bool window(struct fit *fit, const struct part *part, size_t at, size_t length,
                   struct nl_band *band)
{
    size_t from = window_from(part, at, length);
    for (size_t i = 0; i < length; i++) {
        const struct point *p = &fit->points[from + i];
        fit->room[i] = (struct nl_bandpoint){p->x, p->y - p->half, p->y + p->half};
    }
    return nl_lineband(fit->room, length, fit->points[at].x, fit->map->most_drift, band);
}

static void add_knot(struct fit *fit, const struct part *part, size_t at)
{
    struct nl_clockmap *map = fit->map;
    const struct point *point = &fit->points[at];
    struct nl_band band = {.low = point->y - point->half, .high = point->y + point->half}, try;
    static const size_t lengths[] = {16, 4};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (part->behind - part->first < 4 * lengths[i] ||
            window_span(fit, part, at, 4 * lengths[i]) <
                STRAIGHT_SPANS * window_span(fit, part, at, lengths[i]) ||
            !window(fit, part, at, 4 * lengths[i], &try))
            continue;
        if (window(fit, part, at, lengths[i], &try))
            band = try;
        break;
    }
    double middle = (band.low + band.high) / 2 - point->y, half = (band.high - band.low) / 2;
    if (!(fabs(middle) < MAX_SHIFT)) { /* nonsense in a damaged file */
        middle = 0;
        half = point->half;
    }
    nl_grow(&map->knots, &map->knot_cap, map->knot_count + 1);
    map->knots[map->knot_count++] = (struct nl_clock_knot){
        .ticks = point->ticks, .ns = point->ns + nl_whole_i64(middle), .half = half + 0.5};
}

static void knots_of(struct fit *fit, const struct part *part)
{
    const struct point *points = fit->points;
    size_t last = part->behind - 1, kept = part->first;
    add_knot(fit, part, part->first);
    for (size_t i = part->first + 1; i <= last; i++) {
        bool far = points[i].x - points[kept].x >= KNOT_NS;
        bool end_is_near = points[last].x - points[i].x < KNOT_NS;
        if (i == last || (far && !end_is_near)) {
            add_knot(fit, part, i);
            kept = i;
        }
    }
}

/* ---- stray ---- */

static double rest_slope(const struct nl_clockmap *map, size_t from, size_t to)
{
    const struct nl_clock_knot *a = &map->knots[from], *b = &map->knots[to];
    double run = (double)(b->ticks - a->ticks) * map->ns_per_count;
    return ((double)(b->ns - a->ns) - run) / run;
}

/* What a gap may hide between neighbours that run at other rates than it: if its rate is between
 * theirs, one change of rate, whose place follows from the three; else what the nearer one says. */
static double kink(double before, double own, double after, double run)
{
    double low = fmin(before, after), high = fmax(before, after);
    if (own > low && own < high)
        return (own - low) * (high - own) / (high - low) * run;
    return fmin(fabs(own - low), fabs(own - high)) * run;
}

/* The knot about `run` before knot k (or after it), not before `first` (after `last`). */
static size_t knot_before(const struct nl_clockmap *map, size_t k, size_t first, int64_t run)
{
    size_t at = k;
    while (at > first && map->knots[k].ns - map->knots[at].ns < run)
        at--;
    return at;
}

static size_t knot_behind(const struct nl_clockmap *map, size_t k, size_t last, int64_t run)
{
    size_t at = k;
    while (at < last && map->knots[at].ns - map->knots[k].ns < run)
        at++;
    return at;
}

/* The rate before knot k; at the begin of its part that at the end of the part before. */
static bool rate_before(const struct nl_clockmap *map, size_t k, size_t first, int64_t run,
                        double *rate)
{
    size_t from = k == first && k > 0 ? k - 1 : k;
    first = from < first ? 0 : first;
    size_t at = from;
    while (at > first && map->knots[at - 1].jump == 0 &&
           map->knots[from].ns - map->knots[at].ns < run)
        at--;
    if (at < from)
        *rate = rest_slope(map, at, from);
    return at < from;
}

static bool rate_behind(const struct nl_clockmap *map, size_t k, size_t last, int64_t run,
                        double *rate)
{
    size_t from = k == last && k + 1 < map->knot_count ? k + 1 : k;
    last = from > last ? map->knot_count - 1 : last;
    size_t at = from;
    while (at < last && map->knots[at].jump == 0 && map->knots[at].ns - map->knots[from].ns < run)
        at++;
    if (at > from)
        *rate = rest_slope(map, from, at);
    return at > from;
}

/* By how much lines fail four knots that are about evenly far from each other. */
static double unevenness(struct fit *fit, const size_t knots[4])
{
    const struct nl_clock_knot *origin = &fit->map->knots[knots[0]];
    struct nl_band band;
    for (size_t i = 0; i < 4; i++) {
        const struct nl_clock_knot *knot = &fit->map->knots[knots[i]];
        double x = (double)(int64_t)(knot->ticks - origin->ticks) * fit->map->ns_per_count;
        double y = (double)(knot->ns - origin->ns) - x;
        fit->room[i] = (struct nl_bandpoint){x, y - knot->half, y + knot->half};
    }
    (void)nl_lineband(fit->room, 4, 0, fit->map->most_drift, &band);
    return band.gap;
}

/* The misfit of lines through four knots shows a rate change in the middle gap at the distance of
 * the outer knots; nearer knots show less of it. */
static double by_lines(struct fit *fit, const size_t knots[4], double run)
{
    const struct nl_clock_knot *all = fit->map->knots;
    double before = (double)(all[knots[1]].ns - all[knots[0]].ns);
    double behind = (double)(all[knots[3]].ns - all[knots[2]].ns);
    double away = fmin(before, behind), uneven = LINE_MARGIN * unevenness(fit, knots);
    return away < run ? uneven * run / away + (2 * away < run ? UNKNOWN_WANDER * run : 0) : uneven;
}

/* At an end of the map the four are those next to it; false elsewhere, and
 * when the part has fewer. */
static bool at_end(const struct fit *fit, size_t first, size_t last, size_t k, size_t four[4])
{
    const struct nl_clockmap *map = fit->map;
    int64_t run = map->knots[k + 1].ns - map->knots[k].ns;
    if (k > 0 && k + 2 < map->knot_count)
        return false; /* next to a step there may be others that were not seen */
    if (four[0] == k) {
        four[1] = k + 1;
        four[2] = knot_behind(map, k + 1, last, run);
        four[3] = knot_behind(map, four[2], last, run);
    } else {
        four[3] = k + 1;
        four[2] = k;
        four[1] = knot_before(map, k, first, run);
        four[0] = knot_before(map, four[1], first, run);
    }
    return four[0] < four[1] && four[1] < four[2] && four[2] < four[3];
}

/* Wander between knots k and k + 1 of the part `first` to `last`. */
static double stray_of(struct fit *fit, size_t first, size_t last, size_t k)
{
    const struct nl_clockmap *map = fit->map;
    const struct nl_clock_knot *knots = map->knots;
    int64_t length = knots[k + 1].ns - knots[k].ns;
    double run = (double)length, own = rest_slope(map, k, k + 1), before = own, after = own;
    size_t four[4] = {knot_before(map, k, first, length), k, k + 1,
                      knot_behind(map, k + 1, last, length)};
    bool left = rate_before(map, k, first, length, &before);
    bool right = rate_behind(map, k + 1, last, length, &after);
    if (!left)
        before = 2 * own - after;
    else if (!right)
        after = 2 * own - before;
    double most = BEND_MARGIN * kink(before, own, after, run) + UNKNOWN_WANDER * run +
                  knots[k].half + knots[k + 1].half;
    if (four[0] == k || four[3] == k + 1)
        return at_end(fit, first, last, k, four) ? by_lines(fit, four, run) : most;
    /* Between far neighbours lines fail by what happened out there, too. */
    bool near = (knots[k].ns - knots[four[0]].ns) / 2 > length ||
                (knots[four[3]].ns - knots[k + 1].ns) / 2 > length;
    return near ? fmin(by_lines(fit, four, run), most) : by_lines(fit, four, run);
}

/* Of two rate changes in adjacent gaps one may be hidden: each gap gets a share of its neighbours'
 * change. */
static double share_of(const struct nl_clockmap *map, size_t k, size_t beside, double stray)
{
    const struct nl_clock_knot *knots = map->knots;
    double own = (double)(knots[k + 1].ns - knots[k].ns);
    double other = (double)(knots[beside + 1].ns - knots[beside].ns);
    return stray / 2 * fmin(1, own / other);
}

/* Wander in the gaps between knots. Parts follow from the jumps after their last knots. */
static void set_stray(struct fit *fit)
{
    struct nl_clockmap *map = fit->map;
    struct nl_clock_knot *knots = map->knots;
    size_t first = 0, behind = 0;
    for (size_t k = 0; k + 1 < map->knot_count; k++) {
        if (k >= behind) {
            first = k;
            for (behind = k + 1; behind < map->knot_count && knots[behind - 1].jump == 0;)
                behind++;
        }
        if (knots[k].jump != 0)
            continue;
        knots[k].stray = stray_of(fit, first, behind - 1, k);
    }
    double before = 0; /* stray of the gap before, as it was */
    for (size_t k = 0; k + 1 < map->knot_count; k++) {
        double own = knots[k].stray;
        if (knots[k].jump == 0) {
            double least = k ? share_of(map, k, k - 1, before) : 0;
            if (k + 2 < map->knot_count)
                least = fmax(least, share_of(map, k, k + 1, knots[k + 1].stray));
            knots[k].stray = fmax(own, least);
            map->bound = fmax(map->bound, CLOCKMAP_MARGIN * fmax(knots[k].half, knots[k + 1].half) +
                                              knots[k].stray); /* of NAN and a number the number */
        }
        before = own;
    }
}

static void fit_parts(struct fit *fit)
{
    struct nl_clockmap *map = fit->map;
    struct part part = {0};
    while (part.first < fit->count) {
        double step = 0, bend = 0;
        part.behind = part.first + 1;
        while (part.behind < fit->count &&
               (step = step_behind(fit, part.first, part.behind - 1, &bend)) == 0)
            part.behind++;
        knots_of(fit, &part);
        if (step != 0) {
            map->knots[map->knot_count - 1].jump = fabs(step);
            map->knots[map->knot_count - 1].stray = bend;
            map->steps++;
            if (fabs(step) > fabs(map->largest_step))
                map->largest_step = step;
        }
        part.first = part.behind;
    }
}

void nl_clockmap_settle(struct nl_clockmap *map)
{
    struct fit fit = {.map = map};
    map->knot_count = map->at = 0;
    map->bound = NAN;
    map->steps = 0;
    map->largest_step = 0;
    if (!map->reading_count)
        return;
    qsort(map->readings, map->reading_count, sizeof *map->readings, by_ticks);
    fit.points = nl_alloc(map->reading_count * sizeof *fit.points);
    take_upwards(&fit);
    drop_loose(&fit);
    set_rest(&fit);
    fit_parts(&fit);
    set_stray(&fit);
    nl_free(fit.points);
    if (map->knot_count == 1)
        map->bound = CLOCKMAP_MARGIN * map->knots->half;
}
