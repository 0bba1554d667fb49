/*
 * Order statistics by narrowing (timeline/quantile.c) against sorting: of few values and many,
 * equal ones, outliers, spans at powers of two, and spans that take more than 32 bits.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "timeline/quantile.h"

#define MOST 1500

static uint64_t state;

static uint64_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The quantile of sorted values by its definition: position p/100 (n - 1), linear in between. */
static long double by_definition(const int64_t *sorted, size_t count, unsigned p)
{
    size_t hundredths = (count - 1) * p, rank = hundredths / 100;
    long double part = (long double)(hundredths % 100) / 100;
    if (part == 0)
        return (long double)sorted[rank];
    return (long double)sorted[rank] * (1 - part) + (long double)sorted[rank + 1] * part;
}

static void check_all(const int64_t *values, size_t count, const char *label)
{
    static const unsigned quantiles[] = {0, 1, 5, 25, 50, 75, 90, 95, 99, 100};
    static int64_t sorted[MOST], copy[MOST];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    check_case(label);
    for (size_t i = 0; i < CHECK_LENGTH(quantiles); i++) {
        struct nl_quantile at = nl_quantile_at(count, quantiles[i]);
        long double want = by_definition(sorted, count, quantiles[i]);
        double near = fabs((double)want) * 1e-12;
        memcpy(copy, values, count * sizeof *copy);
        CHECK_NEAR(nl_quantile_i64(copy, count, at), (double)want, near);
        CHECK_NEAR(nl_quantile_sorted(sorted, at), (double)want, near);
        qsort(copy, count, sizeof *copy, ascending); /* reordered, not changed */
        CHECK(memcmp(copy, sorted, count * sizeof *copy) == 0);
    }
}

/* The same over values that the callee may not change, with what they lie above. */
static void check_u32(const int64_t *values, size_t count, int64_t base, uint32_t most)
{
    static const unsigned quantiles[] = {0, 3, 50, 97, 100};
    static uint32_t offsets[MOST], before[MOST], scratch[MOST + 1];
    static int64_t sorted[MOST];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t i = 0; i < count; i++)
        before[i] = offsets[i] = (uint32_t)(values[i] - base);
    for (size_t i = 0; i < CHECK_LENGTH(quantiles); i++) {
        struct nl_quantile at = nl_quantile_at(count, quantiles[i]);
        long double want = by_definition(sorted, count, quantiles[i]);
        scratch[count] = 12345;
        CHECK_NEAR(nl_quantile_u32(offsets, count, base, most, at, scratch), (double)want,
                   fabs((double)want) * 1e-12);
        CHECK(memcmp(offsets, before, count * sizeof *offsets) == 0);
        CHECK_INT(scratch[count], 12345);
    }
}

static const size_t counts[] = {1, 2, 3, 4, 5, 10, 101, 255, 256, 257, 258, 1000, 1500};
static const uint64_t spans[] = {
    0,    1,        2,          255,        4095,        4096,        4097,         8191,
    8192, 1u << 20, 0x7fffffff, 0x80000000, 0xfffffffeu, 0xffffffffu, 0x100000000u, 1ull << 40};

static void even_values(void)
{
    static int64_t values[MOST];
    for (size_t c = 0; c < CHECK_LENGTH(counts); c++)
        for (size_t s = 0; s < CHECK_LENGTH(spans); s++) {
            char label[64];
            int64_t base = (int64_t)(next() % 2000000) - 1000000;
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = base + (int64_t)(next() % (spans[s] + 1));
            values[next() % counts[c]] = base + (int64_t)spans[s];
            values[0] = counts[c] > 1 ? base : values[0];
            snprintf(label, sizeof label, "%zu values over %llu", counts[c],
                     (unsigned long long)spans[s]);
            check_all(values, counts[c], label);
            if (spans[s] <= UINT32_MAX)
                check_u32(values, counts[c], base, (uint32_t)spans[s]);
        }
}

/* Nearly all values are one, or a few near each other; some are far away. */
static void outliers(void)
{
    static int64_t values[MOST];
    for (size_t c = 0; c < CHECK_LENGTH(counts); c++)
        for (unsigned few = 1; few <= 100; few *= 10) {
            char label[64];
            for (size_t i = 0; i < counts[c]; i++)
                values[i] =
                    next() % 50 ? 700 + (int64_t)(next() % few) : (int64_t)(next() % 4000000000u);
            snprintf(label, sizeof label, "%zu values, most of %u", counts[c], few);
            check_all(values, counts[c], label);
        }
}

static void positions(void)
{
    static const struct {
        size_t count;
        unsigned hundredths;
        size_t rank;
        double fraction;
    } cases[] = {{1, 50, 0, 0},    {2, 50, 0, 0.5},     {3, 50, 1, 0},    {4, 50, 1, 0.5},
                 {101, 95, 95, 0}, {100, 95, 94, 0.05}, {11, 99, 9, 0.9}, {5, 100, 4, 0},
                 {5, 0, 0, 0},     {1000, 1, 9, 0.99}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_quantile at = nl_quantile_at(cases[i].count, cases[i].hundredths);
        CHECK_INT(at.rank, cases[i].rank);
        CHECK_NEAR(at.fraction, cases[i].fraction, 1e-12);
    }
}

CHECK_MAIN("quantile", {"positions", positions}, {"values spread evenly", even_values},
           {"values with outliers", outliers})
