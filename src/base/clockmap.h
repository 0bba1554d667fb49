/*
 * clockmap — one clock's counts on another clock's time axis, with a bound on the error.
 *
 *     struct nl_clockmap map = {.counts_per_second = 2600000000, .most_drift = 1e-3};
 *     nl_clockmap_read(&map, ticks, ns, bracket);     // as often as both clocks were read together
 *     nl_clockmap_settle(&map);
 *     ns = nl_clockmap_at(&map, ticks);  error = nl_clockmap_bound(&map, ticks);
 *     nl_clockmap_release(&map);
 *
 * A reading says: the reference showed `ns` at some moment within the `bracket` counts around
 * `ticks`. Where in the bracket is not known, and nothing is assumed about it. Offset and drift are
 * estimated in windows, from the lines (lineband.h) that pass through the brackets of all readings
 * of a window; a window counts as straight only when one of four times its length is. What is left
 * is the clock's wander between readings, estimated from how badly lines through four of them fit.
 * Steps (a clock was set, or stood still while the machine slept) split the axis; where in its gap
 * a step happened is not known, and the bound includes that.
 *
 * The map is made of straight pieces between knots, whole ns; it goes
 * upwards where the readings do.
 */
#ifndef NL_CLOCKMAP_H
#define NL_CLOCKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds of knots are taken this many times: curvature hides in the brackets (clockmap_fit.c). */
#define CLOCKMAP_MARGIN 1.5

struct nl_clock_reading {
    uint64_t ticks, bracket;
    int64_t ns;
};

struct nl_clock_knot {
    uint64_t ticks;
    int64_t ns;
    double half;  /* the reference's time at `ticks` is within ns ± half */
    double stray; /* up to the next knot: what wander may add */
    double jump;  /* up to the next knot: size of the step inside, 0 = none */
};

struct nl_clockmap {
    /* given */
    uint64_t counts_per_second; /* as far as known: for axes with a single reading, or very short */
    double most_drift;          /* rates differ by at most this from the median rate: 1e-3 */
    struct nl_clock_reading *readings; /* as given; sorted when settled */
    size_t reading_count, reading_cap;
    /* settled */
    struct nl_clock_knot *knots;
    size_t knot_count, knot_cap, at;
    double ns_per_count; /* median */
    uint64_t odd;        /* readings in which the reference went back: left out */
    uint64_t steps;      /* gaps with a step inside */
    double largest_step; /* ns, signed: how much the reference gained over even running */
    /* ns, largest between the first and last knot, outside steps; NAN without knots */
    double bound;
};

/* Times beyond ±2^61 ns and counts over 2^63 are refused (false) and counted as odd. */
bool nl_clockmap_read(struct nl_clockmap *map, uint64_t ticks, int64_t ns, uint64_t bracket);
void nl_clockmap_settle(struct nl_clockmap *map);

/* False: no reading, or only one and no rate, or the time would be beyond ±2^61 ns. */
bool nl_clockmap_at(struct nl_clockmap *map, uint64_t ticks, int64_t *ns);
/* ns that nl_clockmap_at may be off by, rounded up; 0 where that is false. */
int64_t nl_clockmap_bound(struct nl_clockmap *map, uint64_t ticks);
void nl_clockmap_release(struct nl_clockmap *map);

#endif
