/* Where a series changes its level (compare/changepoint.h): t tests worked out by hand, random
 * series held against the definitions, and levels that are too short. */
#include <math.h>

#include "base/mem.h"
#include "check.h"
#include "compare/changepoint.h"
#include "compare/statdist.h"

#define MOST 120

static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % bound;
}

/* Both tails of Student's t with 2 and with 3 degrees of freedom. */
static double tails_of_2(double t)
{
    return 1 - t / sqrt(2 + t * t);
}

static double tails_of_3(double t)
{
    double x = t / sqrt(3);
    return 1 - 2 / acos(-1) * (x / (1 + x * x) + atan(x));
}

/* Means 2 and 12, both of variance 1, so of error 1. Then 2 and 21 of variances 8/3 and 1: of both
 * (2 · 8/3 + 1) / 3 = 19/9, error √(19/9 · 5/6). */
static void by_hand(void)
{
    static const double even[] = {1, 3, 11, 13}, odd[] = {0, 2, 4, 20, 22};
    double p = tails_of_2(10);
    struct nl_change_options options = {.window = 10, .p = p * 1.0001};
    struct nl_change *changes;
    REQUIRE(nl_change_points(even, 4, &options, &changes) == 1);
    CHECK_INT(changes[0].index, 2);
    CHECK_INT(changes[0].before_count, 2);
    CHECK_INT(changes[0].after_count, 2);
    CHECK_NEAR(changes[0].before, 2, 1e-12);
    CHECK_NEAR(changes[0].after, 12, 1e-12);
    CHECK_NEAR(changes[0].before_sd, 1, 1e-12);
    CHECK_NEAR(changes[0].after_sd, 1, 1e-12);
    CHECK_NEAR(changes[0].p, p, 1e-12);
    CHECK_NEAR(nl_change_magnitude(&changes[0]), 5, 1e-12);
    nl_free(changes);
    options.p = p * 0.9999;
    CHECK_INT(nl_change_points(even, 4, &options, &changes), 0);
    nl_free(changes);
    options.p = 0.05;
    options.magnitude = 5; /* no more than that */
    CHECK_INT(nl_change_points(even, 4, &options, &changes), 0);
    nl_free(changes);
    options.magnitude = 4.999;
    CHECK_INT(nl_change_points(even, 4, &options, &changes), 1);
    nl_free(changes);
    options.magnitude = 0;
    REQUIRE(nl_change_points(odd, 5, &options, &changes) == 1);
    CHECK_INT(changes[0].index, 3);
    CHECK_NEAR(changes[0].before_sd, sqrt(8.0 / 3), 1e-12);
    CHECK_NEAR(changes[0].after_sd, 1, 1e-12);
    CHECK_NEAR(changes[0].p, tails_of_3(19 / sqrt(19.0 / 9 * 5 / 6)), 1e-10);
    nl_free(changes);
    options.p = 0.9;
    CHECK_INT(nl_change_points(even + 1, 2, &options, &changes), 0); /* one value a side */
    nl_free(changes);
    for (size_t count = 0; count < 2; count++) {
        CHECK_INT(nl_change_points(even, count, &options, &changes), 0);
        nl_free(changes);
    }
}

static void magnitudes(void)
{
    CHECK_NEAR(nl_change_magnitude(&(struct nl_change){.before = 100, .after = 110}), 0.1, 1e-12);
    CHECK_NEAR(nl_change_magnitude(&(struct nl_change){.before = 110, .after = 100}), 0.1, 1e-12);
    CHECK_NEAR(nl_change_magnitude(&(struct nl_change){.before = 4, .after = 1}), 3, 1e-12);
}

/* ---- the definitions ---- */

/* Mean of |x - y| over pairs within [from, to), 0 of fewer than two values. */
static double within(const double *values, size_t from, size_t to)
{
    double sum = 0, pairs = 0;
    for (size_t i = from; i < to; i++)
        for (size_t k = from; k < i; k++, pairs++)
            sum += fabs(values[i] - values[k]);
    return pairs > 0 ? sum / pairs : 0;
}

/* Energy distance of [from, at) and [at, to), weighed by their sizes. */
static double energy(const double *values, size_t from, size_t at, size_t to)
{
    double n = (double)(at - from), m = (double)(to - at), sum = 0;
    for (size_t i = from; i < at; i++)
        for (size_t k = at; k < to; k++)
            sum += fabs(values[i] - values[k]);
    return n * m / (n + m) *
           (2 * sum / (n * m) - within(values, from, at) - within(values, at, to));
}

static struct nl_change measured(const double *values, size_t from, size_t at, size_t to)
{
    struct nl_change c = {.index = at, .before_count = at - from, .after_count = to - at};
    double n = (double)(at - from), m = (double)(to - at), a = 0, b = 0;
    for (size_t i = from; i < to; i++)
        *(i < at ? &c.before : &c.after) += values[i] / (i < at ? n : m);
    for (size_t i = from; i < to; i++)
        *(i < at ? &a : &b) += pow(values[i] - (i < at ? c.before : c.after), 2);
    c.before_sd = sqrt(a / n);
    c.after_sd = sqrt(b / m);
    double variance = (a * (n - 1) / n + b * (m - 1) / m) / (n + m - 2);
    c.p = n + m > 2
              ? 2 * nl_student_above(fabs(c.after - c.before) / sqrt(variance * (1 / n + 1 / m)),
                                     n + m - 2)
              : 1;
    return c;
}

struct points {
    struct nl_change items[MOST];
    size_t count;
};

static size_t edge(const struct points *points, size_t first, size_t k, size_t from, size_t to)
{
    return k < first ? from : k >= points->count ? to : points->items[k].index;
}

/* Splits [from, to) at the largest distance of all its parts, as long as the t test of the two
 * sides of that part holds. */
static void split(struct points *points, const double *values, size_t from, size_t to, double p)
{
    for (size_t first = points->count;;) {
        double best = 0;
        size_t place = 0, at = 0;
        for (size_t k = first; k <= points->count; k++) {
            size_t start = k == first ? from : points->items[k - 1].index;
            size_t end = edge(points, first, k, from, to);
            for (size_t until = start + 2; until <= end; until++)
                for (size_t i = start + 1; i < until; i++)
                    if (energy(values, start, i, until) > best + 1e-9) {
                        best = energy(values, start, i, until);
                        place = k;
                        at = i;
                    }
        }
        if (!(best > 0))
            return;
        size_t start = place == first ? from : points->items[place - 1].index;
        struct nl_change c = measured(values, start, at, edge(points, first, place, from, to));
        if (c.p > p)
            return;
        memmove(points->items + place + 1, points->items + place,
                (points->count++ - place) * sizeof c);
        points->items[place] = c;
    }
}

static void measure(struct points *points, const double *values, size_t count, size_t k)
{
    points->items[k] = measured(values, k ? points->items[k - 1].index : 0, points->items[k].index,
                                k + 1 < points->count ? points->items[k + 1].index : count);
}

/* Takes away the least sure, else the smallest, as long as one does not hold. Those behind it are
 * measured again, two of them. */
static void sift(struct points *points, const double *values, size_t count,
                 const struct nl_change_options *options)
{
    while (points->count) {
        size_t worst = 0, least = 0;
        for (size_t k = 0; k < points->count; k++) {
            if (points->items[k].p > points->items[worst].p)
                worst = k;
            if (nl_change_magnitude(&points->items[k]) < nl_change_magnitude(&points->items[least]))
                least = k;
        }
        size_t gone = points->items[worst].p >= options->p ? worst : least;
        if (gone == least && points->items[worst].p < options->p &&
            nl_change_magnitude(&points->items[least]) > options->magnitude)
            return;
        points->count--;
        for (size_t k = gone; k < points->count; k++)
            points->items[k] = points->items[k + 1];
        for (size_t k = gone; k < points->count && k < gone + 2; k++)
            measure(points, values, count, k);
    }
}

static void check_series(const double *values, size_t count,
                         const struct nl_change_options *options)
{
    static struct points points;
    double p = options->p < 0.05 ? 10 * options->p : options->p < 0.5 ? 2 * options->p : options->p;
    points.count = 0;
    for (size_t start = 0; start < count;) {
        size_t end = start + options->window < count ? start + options->window : count;
        size_t before = points.count, next = start + options->window / 2;
        split(&points, values, start, end, p);
        if (points.count > before && points.items[points.count - 1].index > next)
            next = points.items[points.count - 1].index;
        start = next;
    }
    for (size_t k = 0; k < points.count; k++)
        measure(&points, values, count, k);
    sift(&points, values, count, options);
    struct nl_change *changes;
    size_t found = nl_change_points(values, count, options, &changes);
    CHECK_INT(found, points.count);
    for (size_t k = 0; k < found && k < points.count; k++) {
        const struct nl_change *got = &changes[k], *want = &points.items[k];
        CHECK_INT(got->index, want->index);
        CHECK_INT(got->before_count, want->before_count);
        CHECK_INT(got->after_count, want->after_count);
        CHECK_NEAR(got->before, want->before, 1e-9);
        CHECK_NEAR(got->after, want->after, 1e-9);
        CHECK_NEAR(got->before_sd, want->before_sd, 1e-6);
        CHECK_NEAR(got->after_sd, want->after_sd, 1e-6);
        CHECK_NEAR(got->p, want->p, 1e-6 * want->p + 1e-12);
    }
    nl_free(changes);
}

/* Levels that change every few values, with noise in which no two values are equal. */
static void random_series(void)
{
    static const double greatest[] = {0.001, 0.01, 0.05, 0.2, 0.5};
    int draws = check_draws(160);
    for (int draw = 0; draw < draws; draw++) {
        double values[MOST], level = 100;
        size_t count = below(MOST - 40);
        struct nl_change_options options = {.window = 5 + below(25),
                                            .p = greatest[draw % 5],
                                            .magnitude = draw % 3 ? 0.02 * below(5) : 0};
        char label[32];
        for (size_t i = 0; i < count; i++) {
            if (!below(9))
                level = 90 + below(20);
            values[i] = level + below(1000003) * (draw % 4 + 1) * 1e-6;
        }
        snprintf(label, sizeof label, "draw %d", draw);
        check_case(label);
        check_series(values, count, &options);
    }
}

/* ---- short levels ---- */

/* Levels, each of so many values that differ by 1 from it, up and down in turn. */
static size_t levels_of(double *values, const double *levels, const size_t *lengths,
                        size_t levels_n)
{
    size_t count = 0;
    for (size_t i = 0; i < levels_n; i++)
        for (size_t k = 0; k < lengths[i]; k++, count++)
            values[count] = levels[i] + (k % 2 ? 1 : -1);
    return count;
}

/* Of a level that is too short the weaker end goes. */
static void spikes(void)
{
    static const struct {
        const char *what;
        double levels[4];
        size_t lengths[4], count, least;
        size_t found, indexes[3];
    } cases[] = {
        {"any is long enough", {100, 150, 120}, {20, 4, 20}, 3, 0, 2, {20, 24}},
        {"just long enough", {100, 150, 120}, {20, 4, 20}, 3, 4, 2, {20, 24}},
        {"the second end is weaker", {100, 150, 120}, {20, 4, 20}, 3, 5, 1, {20}},
        {"the first end is weaker", {120, 150, 100}, {20, 4, 20}, 3, 5, 1, {24}},
        {"both go", {100, 150, 100}, {20, 4, 20}, 3, 5, 0, {0}},
        {"behind another level", {50, 100, 150, 120}, {20, 20, 4, 20}, 4, 5, 2, {20, 40}},
        {"before another level", {120, 150, 100, 200}, {20, 4, 20, 20}, 4, 5, 2, {24, 44}},
        {"ends are as long as they are", {100, 150, 120}, {4, 20, 4}, 3, 9, 2, {4, 24}},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        double values[MOST];
        size_t count = levels_of(values, cases[i].levels, cases[i].lengths, cases[i].count);
        struct nl_change_options options = {.window = 50, .p = 0.001, .least = cases[i].least};
        struct nl_change *changes;
        size_t found = nl_change_points(values, count, &options, &changes);
        check_case(cases[i].what);
        CHECK_INT(found, cases[i].found);
        for (size_t k = 0; k < found && k < cases[i].found; k++) {
            size_t from = k ? changes[k - 1].index : 0,
                   to = k + 1 < found ? changes[k + 1].index : count;
            struct nl_change want = measured(values, from, cases[i].indexes[k], to);
            CHECK_INT(changes[k].index, want.index);
            CHECK_INT(changes[k].before_count, want.before_count);
            CHECK_INT(changes[k].after_count, want.after_count);
            CHECK_NEAR(changes[k].before, want.before, 1e-9);
            CHECK_NEAR(changes[k].after, want.after, 1e-9);
            CHECK_NEAR(changes[k].p, want.p, 1e-6 * want.p + 1e-12);
        }
        nl_free(changes);
    }
}

CHECK_MAIN("changepoint", {"by hand", by_hand}, {"magnitudes", magnitudes},
           {"random series", random_series}, {"spikes", spikes})
