/*
 * Seen from x, a line is a slope m and a height. Of all lines with slope m those pass that lie
 * between floor(m), the maximum of as many straight functions of m as there are lower points, and
 * ceiling(m), the minimum of those of the upper points. Their difference is concave in m; so are
 * ceiling and -floor. Such functions are made of straight pieces, so tangents that meet find their
 * extremes in a few steps.
 */
#include "base/lineband.h"

#include <math.h>

#define MAX_STEPS 200 /* far more than ever needed: rounding must not make it go on for ever */

struct view {
    const struct nl_bandpoint *points;
    size_t count;
    double x;
};

struct tangent {
    double value, slope;
};

enum side { CEILING, MINUS_FLOOR, ROOM };

static struct tangent ceiling_at(const struct view *view, double m)
{
    struct tangent least = {INFINITY, 0};
    for (size_t i = 0; i < view->count; i++) {
        double away = view->points[i].x - view->x, value = view->points[i].high - m * away;
        if (value < least.value)
            least = (struct tangent){value, -away};
    }
    return least;
}

static struct tangent minus_floor_at(const struct view *view, double m)
{
    struct tangent least = {INFINITY, 0};
    for (size_t i = 0; i < view->count; i++) {
        double away = view->points[i].x - view->x, value = m * away - view->points[i].low;
        if (value < least.value)
            least = (struct tangent){value, away};
    }
    return least;
}

static struct tangent at(const struct view *view, enum side side, double m)
{
    if (side == CEILING)
        return ceiling_at(view, m);
    if (side == MINUS_FLOOR)
        return minus_floor_at(view, m);
    struct tangent ceiling = ceiling_at(view, m), floor = minus_floor_at(view, m);
    return (struct tangent){ceiling.value + floor.value, ceiling.slope + floor.slope};
}

/* Where a concave function is highest between `from` and `to`. */
static double highest(const struct view *view, enum side side, double from, double to)
{
    struct tangent left = at(view, side, from), right = at(view, side, to);
    if (isinf(left.value))
        return (from + to) / 2; /* nothing bounds it */
    if (from >= to || left.slope <= 0)
        return from;
    if (right.slope >= 0)
        return to;
    for (unsigned i = 0; i < MAX_STEPS; i++) {
        double meet = (right.value - left.value + left.slope * from - right.slope * to) /
                      (left.slope - right.slope);
        if (!(meet > from && meet < to))
            break;
        struct tangent here = at(view, side, meet);
        if (here.slope == 0 || here.value >= left.value + left.slope * (meet - from))
            return meet;
        if (here.slope > 0) {
            from = meet;
            left = here;
        } else {
            to = meet;
            right = here;
        }
    }
    return left.value >= right.value ? from : to;
}

/* From `m`, where there is no room, towards `inside`, where there is some:
 * the first slope with room. */
static double first_with_room(const struct view *view, double m, double inside)
{
    for (unsigned i = 0; i < MAX_STEPS; i++) {
        struct tangent here = at(view, ROOM, m);
        if (here.value >= 0)
            return m;
        double next = m - here.value / here.slope;
        if (inside > m ? next >= inside : next <= inside)
            return inside;
        if (inside > m ? !(next > m) : !(next < m))
            return m; /* as near as numbers go */
        m = next;
    }
    return m;
}

bool nl_lineband(const struct nl_bandpoint *points, size_t count, double x, double most_slope,
                 struct nl_band *band)
{
    struct view view = {points, count, x};
    double best = highest(&view, ROOM, -most_slope, most_slope);
    double room = at(&view, ROOM, best).value;
    band->slope = best;
    band->gap = room < 0 ? -room / 2 : 0;
    if (room < 0) {
        band->high = ceiling_at(&view, best).value + band->gap;
        band->low = band->high;
        return false;
    }
    double from = first_with_room(&view, -most_slope, best);
    double to = first_with_room(&view, most_slope, best);
    band->high = ceiling_at(&view, highest(&view, CEILING, from, to)).value;
    band->low = -minus_floor_at(&view, highest(&view, MINUS_FLOOR, from, to)).value;
    return true;
}
