/*
 * The clock model on clocks whose truth is known.
 *
 * A simulated world: a counter (drift up to 200 ppm from what it is said to run at) and a
 * reference that wanders, is slewed, stepped, or stands still. Both are read together with a
 * jitter of heavy tails; where in its bracket a reading happened is skewed by an amount of the
 * world's own. Asked at random moments:
 *
 *   holds   |error| ≤ bound in at least 99.9 % of all questions
 *   tight   a bound a third as large would not: the 99.9th percentile of |error| / bound is over 1/3; and
 *           the median bound is at most 3 times the 99.9th percentile of |error| of its kind of world
 *           (that one only where all questions are alike: not where steps make some much worse)
 *
 * The lines are checked against an enumeration of all lines through two points.
 */
#include "base/clockmap.h"
#include "base/lineband.h"
#include "base/mem.h"
#include "base/wide.h"
#include "check.h"

/* ---- chance ---- */

static uint64_t chance_state;

static double chance(void)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (double)(chance_state >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
    return low + (high - low) * chance();
}

static double normal(void)
{
    return sqrt(-2 * log(1 - chance())) * cos(6.283185307179586 * chance());
}

static void seed(uint64_t number)
{
    chance_state = number * 0x9e3779b97f4a7c15u + 88172645463325252u;
    for (unsigned i = 0; i < 8; i++)
        (void)chance();
}

/* ---- worlds ---- */

enum { WANDERS = 1, WAVES = 2, SLEWS = 4, STEPS = 8, SLEEPS = 16, STOPS = 32, LOOSE = 64 };
enum pace { EVERY_SECOND, DENSE, BURSTS };

static const struct kind {
    const char *name;
    unsigned traits;
    enum pace pace;
    bool even; /* bounds of all questions are alike */
} kinds[] = {
    {"even, every second", 0, EVERY_SECOND, true},
    {"even, dense", 0, DENSE, true},
    {"even, bursts", 0, BURSTS, true},
    {"wander, every second", WANDERS, EVERY_SECOND, true},
    {"wander, dense", WANDERS, DENSE, true},
    {"temperature waves", WAVES, EVERY_SECOND, true},
    {"slews of NTP", WANDERS | SLEWS, EVERY_SECOND, false},
    {"slews of NTP, bursts", WANDERS | SLEWS, BURSTS, false},
    {"steps", WANDERS | STEPS, EVERY_SECOND, false},
    {"steps, dense", STEPS, DENSE, false},
    {"sleep: the counter goes on", WANDERS | SLEEPS, EVERY_SECOND, false},
    {"sleep: the counter stops", WANDERS | STOPS, EVERY_SECOND, false},
    {"loose readings", LOOSE, EVERY_SECOND, true},
    {"loose readings, wander, bursts", LOOSE | WANDERS, BURSTS, false},
    {"everything", WANDERS | WAVES | SLEWS | STEPS | SLEEPS | LOOSE, BURSTS, false},
};

#define GRID     0.05e9 /* ns of true time between changes of rate */
#define MAX_GRID 4000

struct world {
    const struct kind *kind;
    double counts_per_ns, origin, base, skew, span;
    double reference[MAX_GRID + 1]; /* at multiples of GRID */
    double step_at[3], step_by[3];  /* added from there on */
    double asleep_from, asleep_to;  /* the reference stands still */
    unsigned steps;
};

static void make_rates(struct world *world)
{
    unsigned traits = world->kind->traits;
    double rate = between(-50e-6, 50e-6), at = between(1e9, 1e15), slew = 0, slewed = 0;
    double wave = traits & WAVES ? between(0.2e-6, 1e-6) : 0, phase = between(0, 6), jolt = 0;
    for (unsigned i = 0; i <= MAX_GRID; i++) {
        world->reference[i] = at;
        if (traits & WANDERS)
            rate += normal() * 2e-9; /* 0.009 ppm in a second, 0.07 ppm in a minute */
        if (traits & SLEWS && chance() < 1 / 320.) { /* every 16 s */
            jolt = between(-20e-6, 20e-6);
            slewed = slew = chance() < 0.2 ? between(-500e-6, 500e-6) : 0;
        }
        slew *= slewed != 0 ? 0.995 : 0; /* adjtime dies away */
        at += GRID * (1 + rate + jolt + slew + wave * sin(phase + i * GRID / 10e9));
    }
}

static void make(struct world *world, const struct kind *kind)
{
    unsigned traits = kind->traits;
    *world = (struct world){.kind = kind};
    world->counts_per_ns = between(0.5, 4) * (1 + between(-200e-6, 200e-6));
    world->origin = floor(between(0, 1e15));
    world->base = between(15, 40);
    world->skew = chance();
    world->span = kind->pace == EVERY_SECOND ? between(20e9, 120e9) : between(1e9, 20e9);
    make_rates(world);
    /* Never two in one gap between readings: what cancels out leaves no trace. */
    if (traits & STEPS && traits & SLEEPS && world->span < 10e9)
        traits &= chance() < 0.5 ? ~(unsigned)STEPS : ~(unsigned)SLEEPS;
    for (unsigned i = 0; i < 3 && traits & (STEPS | STOPS); i++) {
        double size = pow(10, between(4, 10)); /* 10 us to 10 s */
        if (i && (world->span < 20e9 || chance() < 0.3))
            break;
        world->step_at[i] = (0.1 + 0.15 * i + between(0, 0.05)) * world->span;
        world->step_by[i] = traits & STOPS || chance() < 0.5 ? size : -fmin(size, 0.5e6);
        world->steps++;
    }
    if (traits & SLEEPS) {
        world->asleep_from = between(0.55, 0.65) * world->span;
        world->asleep_to = world->asleep_from + fmin(pow(10, between(7, 11)), world->span / 4);
    }
}

/* What the reference shows at true time `t`. */
static double shows(const struct world *world, double t)
{
    double steps = 0;
    for (unsigned i = 0; i < world->steps; i++)
        steps += t >= world->step_at[i] ? world->step_by[i] : 0;
    if (t > world->asleep_from)
        t = t < world->asleep_to ? world->asleep_from : t - (world->asleep_to - world->asleep_from);
    size_t at = (size_t)(t / GRID);
    double part = t / GRID - (double)at;
    return world->reference[at] + (world->reference[at + 1] - world->reference[at]) * part + steps;
}

static uint64_t counts(const struct world *world, double t)
{
    return (uint64_t)(world->origin + t * world->counts_per_ns);
}

static double tail(const struct world *world)
{
    double pareto = 2 * (pow(1 - chance(), -1 / 1.3) - 1);
    bool interrupted = chance() < (world->kind->traits & LOOSE ? 0.3 : 0.01);
    return fmin(pareto, 1e6) + (interrupted ? between(1e3, 1e6) : 0);
}

/* The tightest of a few tries, as ticks_pair does it. */
static void read_both(const struct world *world, struct nl_clockmap *map, double t, unsigned tries)
{
    uint64_t bracket = UINT64_MAX, ticks = 0;
    int64_t ns = 0;
    for (unsigned i = 0; i < tries; i++) {
        double early = world->base * world->skew + tail(world);
        double late = world->base * (1 - world->skew) + tail(world);
        uint64_t before = counts(world, t), after = counts(world, t + early + late);
        if (after - before < bracket) {
            bracket = after - before;
            ticks = before + bracket / 2;
            ns = (int64_t)floor(shows(world, t + early));
        }
        t += early + late;
    }
    (void)nl_clockmap_read(map, ticks, ns, bracket);
}

static void read_all(const struct world *world, struct nl_clockmap *map)
{
    double t = 1000;
    while (t < world->span) {
        bool awake = t < world->asleep_from - 1e5 || t > world->asleep_to;
        if (awake)
            read_both(world, map, t, world->kind->pace == EVERY_SECOND ? 8 : 2);
        switch (world->kind->pace) {
        case EVERY_SECOND: t += 1e9 + between(0, 1e6); break;
        case DENSE: t += -log(1 - chance()) * 4e6; break;
        case BURSTS: t += chance() < 0.97 ? between(3e4, 3e6) : between(1e6, 1e9); break;
        }
    }
    read_both(world, map, world->span, 8); /* as when a recording ends */
}

/* ---- the judgement ---- */

/* Sanitizers look for faults of memory, for which some worlds are enough, and `make check` has a
 * minute for all; 0.999 of all can be judged only where there are many. */
#define WORLDS 400

#define QUESTIONS 60

struct tally {
    double *error, *bound, *part;
    size_t count, wrong;
};

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void ask(const struct world *world, struct nl_clockmap *map, struct tally *tally)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        double t = between(2e6, world->span);
        if (t > world->asleep_from && t < world->asleep_to)
            continue;
        uint64_t ticks = counts(world, t);
        int64_t ns = 0;
        CHECK(nl_clockmap_at(map, ticks, &ns));
        double error = fabs((double)ns - shows(world, ((double)ticks + 0.5 - world->origin) /
                                                          world->counts_per_ns));
        double bound = (double)nl_clockmap_bound(map, ticks);
        tally->error[tally->count] = error;
        tally->bound[tally->count] = bound;
        tally->part[tally->count++] = error / bound;
        tally->wrong += error > bound;
    }
}

static void judge(const struct kind *kind, struct tally *tally, size_t worlds)
{
    qsort(tally->error, tally->count, sizeof *tally->error, by_size);
    qsort(tally->bound, tally->count, sizeof *tally->bound, by_size);
    qsort(tally->part, tally->count, sizeof *tally->part, by_size);
    size_t high = (size_t)((double)tally->count * 0.999);
    double held = 1 - (double)tally->wrong / (double)tally->count;
    double part = tally->part[high], loose = tally->bound[tally->count / 2] / tally->error[high];
    if (getenv("CLOCK_TABLE"))
        printf("%-34s held %.4f %%  p99.9 %.3f  median bound %8.0f  p99.9 error %12.0f  %5.2f\n",
               kind->name, held * 100, part, tally->bound[tally->count / 2], tally->error[high],
               loose);
    CHECK(held >= (worlds == WORLDS ? 0.999 : 0.998));
    CHECK(part > 1. / 3);
    if (kind->even)
        CHECK(loose <= 3);
}

static void worlds(void)
{
    size_t count = (size_t)check_draws(WORLDS), room = count * QUESTIONS;
    struct tally tally = {nl_alloc(room * 8), nl_alloc(room * 8), nl_alloc(room * 8), 0, 0};
    for (size_t k = 0; k < CHECK_LENGTH(kinds); k++) {
        check_case(kinds[k].name);
        tally.count = tally.wrong = 0;
        for (uint64_t i = 0; i < count; i++) {
            struct world world;
            seed(i * 100 + k);
            make(&world, &kinds[k]);
            struct nl_clockmap map = {.most_drift = 1e-3};
            map.counts_per_second = (uint64_t)(world.counts_per_ns * 1e9);
            read_all(&world, &map);
            nl_clockmap_settle(&map);
            ask(&world, &map, &tally);
            nl_clockmap_release(&map);
        }
        judge(&kinds[k], &tally, count);
    }
    nl_free(tally.error);
    nl_free(tally.bound);
    nl_free(tally.part);
}

/* ---- lines, by brute force ---- */

/* A line is a slope and a height at x. */
struct line {
    double slope, height;
};

#define MAX_POINTS 7

/* By how much a line breaks the worst of its bounds. */
static double breach(const struct nl_bandpoint *points, size_t count, double x, struct line line)
{
    double worst = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        double here = line.height + line.slope * (points[i].x - x);
        worst = fmax(worst, fmax(points[i].low - here, here - points[i].high));
    }
    return worst;
}

/* All bounds as points to pass through: (x, y). */
static size_t corners(const struct nl_bandpoint *points, size_t count, double at[][2])
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned side = 0; side < 2; side++) {
            double y = side ? points[i].high : points[i].low;
            if (isinf(y))
                continue;
            at[found][0] = points[i].x;
            at[found++][1] = y;
        }
    return found;
}

/* Extremes are where two bounds are met, or one and the steepest slope. */
static bool extremes(const struct nl_bandpoint *points, size_t count, double x, double most,
                     double *low, double *high)
{
    double at[2 * MAX_POINTS][2];
    size_t found = corners(points, count, at);
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < found; i++)
        for (size_t j = 0; j < found + 2; j++) {
            if (j < found && at[j][0] == at[i][0])
                continue;
            double slope = j < found ? (at[j][1] - at[i][1]) / (at[j][0] - at[i][0])
                                     : (j == found ? most : -most);
            struct line line = {slope, at[i][1] + slope * (x - at[i][0])};
            if (fabs(slope) > most + 1e-12 || breach(points, count, x, line) > 1e-9)
                continue;
            *low = fmin(*low, line.height);
            *high = fmax(*high, line.height);
        }
    return *low <= *high;
}

/* The least breach of any line: a fine grid of slopes, the best height of each reckoned. */
static double least_breach(const struct nl_bandpoint *points, size_t count, double x, double most)
{
    double best = INFINITY;
    for (int step = -20000; step <= 20000; step++) {
        double slope = most * step / 20000, over = -INFINITY, under = INFINITY;
        for (size_t i = 0; i < count; i++) {
            over = fmax(over, points[i].low - slope * (points[i].x - x));
            under = fmin(under, points[i].high - slope * (points[i].x - x));
        }
        best = fmin(best, (over - under) / 2);
    }
    return best;
}

/* Whether all bounds are on one side: then some line of any slope passes. */
static bool is_open(const struct nl_bandpoint *points, size_t count)
{
    bool low = false, high = false;
    for (size_t i = 0; i < count; i++) {
        low |= !isinf(points[i].low);
        high |= !isinf(points[i].high);
    }
    return !low || !high;
}

static void lines(void)
{
    unsigned passing = 0, failing = 0, open = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        struct nl_bandpoint points[MAX_POINTS];
        struct nl_band band;
        double low, high, x = between(-20, 120), slope = between(-1, 1), most = 2;
        seed(i + 12345);
        size_t count = 2 + (size_t)(chance() * (MAX_POINTS - 1.01));
        for (size_t p = 0; p < count; p++) {
            double at = floor(between(0, 100)), on = slope * at + (i % 3 ? 0 : between(-9, 9));
            points[p] = (struct nl_bandpoint){at, on - between(0.1, 8), on + between(0.1, 8)};
            if (chance() < 0.3)
                *(chance() < 0.5 ? &points[p].low : &points[p].high) *= INFINITY;
            if (isinf(points[p].low))
                points[p].low = -INFINITY;
            if (isinf(points[p].high))
                points[p].high = INFINITY;
        }
        bool ok = nl_lineband(points, count, x, most, &band);
        bool may = extremes(points, count, x, most, &low, &high);
        if (is_open(points, count)) {
            open++;
            CHECK(ok);
            continue;
        }
        if (ok) {
            passing++;
            CHECK(may);
            if (!isinf(band.low))
                CHECK_NEAR(band.low, low, 1e-6);
            if (!isinf(band.high))
                CHECK_NEAR(band.high, high, 1e-6);
            CHECK(band.gap == 0);
        } else {
            failing++;
            double least = least_breach(points, count, x, most);
            CHECK(!may);
            CHECK_NEAR(band.gap, least, 0.01 * most);
            CHECK(band.gap <= least + 1e-9);
            CHECK_NEAR(breach(points, count, x, (struct line){band.slope, band.high}), band.gap,
                       1e-9);
        }
    }
    CHECK(passing > 500 && failing > 300 && open > 10);
}

/* ---- wide brackets ---- */

/* Readings every second that are 900 ns off within brackets of 2000: the
 * bound must admit as much. */
static void wide_brackets(void)
{
    struct nl_clockmap map = {.most_drift = 1e-3, .counts_per_second = 1000000000};
    int64_t ns = 0;
    for (uint64_t i = 0; i < 100; i++)
        (void)nl_clockmap_read(&map, i * 1000000000, (int64_t)(i * 1000000000) + 900, 2000);
    nl_clockmap_settle(&map);
    CHECK(nl_clockmap_at(&map, 50500000000, &ns));
    int64_t bound = nl_clockmap_bound(&map, 50500000000);
    CHECK_INT(ns, 50500000900);
    CHECK(bound >= 1001 && bound <= 1600);
    nl_clockmap_release(&map);
}

/* Nothing, one reading, readings that go back, absurd ones. */
static void odd_ones(void)
{
    struct nl_clockmap map = {.most_drift = 1e-3};
    int64_t ns = 0;
    nl_clockmap_settle(&map);
    CHECK(!nl_clockmap_at(&map, 5, &ns));
    CHECK(!nl_clockmap_read(&map, UINT64_MAX, 5, 0));
    CHECK(!nl_clockmap_read(&map, 5, INT64_MAX, 0));
    CHECK_INT(map.odd, 2);
    CHECK(nl_clockmap_read(&map, 1000, 5000, 10));
    nl_clockmap_settle(&map);
    CHECK(nl_clockmap_at(&map, 1000, &ns));
    CHECK_INT(ns, 5000);
    CHECK(!nl_clockmap_at(&map, 2000, &ns)); /* no rate */
    map.counts_per_second = 500000000;
    nl_clockmap_settle(&map);
    CHECK(nl_clockmap_at(&map, 2000, &ns));
    CHECK_INT(ns, 7000);
    CHECK(nl_clockmap_at(&map, 999, &ns));
    CHECK_INT(ns, 4998);
    CHECK(nl_clockmap_read(&map, 1000000000, 4000, 10)); /* back in time */
    CHECK(nl_clockmap_read(&map, 1000, 5000, 900000));
    nl_clockmap_settle(&map);
    CHECK_INT(map.odd, 3);
    CHECK(nl_clockmap_at(&map, 1000, &ns));
    CHECK_INT(ns, 5000);
    nl_clockmap_release(&map);
}

/* Readings as a damaged file may have them: any numbers at all. Nothing is promised of the
 * answers but that they come. */
static void nonsense(void)
{
    for (uint64_t i = 0; i < 400; i++) {
        struct nl_clockmap map = {.most_drift = 1e-3, .counts_per_second = i};
        seed(i + 77);
        for (unsigned k = 0; k < 100; k++) {
            uint64_t ticks = (uint64_t)pow(2, between(0, 63.5)),
                     bracket = (uint64_t)pow(2, between(0, 63.9));
            int64_t ns = (int64_t)pow(2, between(0, 61.5));
            (void)nl_clockmap_read(&map, ticks, chance() < 0.3 ? -ns : ns,
                                   chance() < 0.5 ? bracket : 1);
        }
        nl_clockmap_settle(&map);
        for (unsigned k = 0; k < 100; k++) {
            uint64_t ticks = (uint64_t)pow(2, between(0, 63));
            int64_t ns;
            if (nl_clockmap_at(&map, ticks, &ns))
                CHECK(nl_clockmap_bound(&map, ticks) >= 0);
        }
        nl_clockmap_release(&map);
    }
}

CHECK_MAIN("clockmap", {"lines against brute force", lines}, {"wide brackets", wide_brackets},
           {"odd readings", odd_ones}, {"nonsense", nonsense}, {"simulated worlds", worlds})
