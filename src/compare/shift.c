/*
 * The differences of two sorted samples are a matrix whose rows and columns are sorted, so that how
 * many lie at or below a bound is counted in one walk along its edge. A bound is looked for among the
 * bit patterns of doubles, in at most 64 halvings, which gives the exact value of that rank.
 */
#include "compare/shift.h"

#include "base/search.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_95 1.959963984540054 /* two-sided 95 % of the normal distribution */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double nl_median_f64(double *values, size_t count)
{
    if (!count)
        return NAN;
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct samples {
    const double *from, *to; /* ascending */
    size_t from_count, to_count;
};

/* How many differences are at most `bound`. */
static uint64_t at_most(const struct samples *s, double bound)
{
    uint64_t count = 0;
    size_t reach = 0;
    for (size_t i = 0; i < s->from_count; i++) {
        while (reach < s->to_count && s->to[reach] - s->from[i] <= bound)
            reach++;
        count += reach;
    }
    return count;
}

/* Doubles in the order of their values, as unsigned numbers, and back. */
static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double value_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key ^ (uint64_t)1 << 63 : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The difference of the given rank, from 1. */
static double difference(const struct samples *s, uint64_t rank)
{
    uint64_t low = key_of(s->to[0] - s->from[s->from_count - 1]);
    uint64_t high = key_of(s->to[s->to_count - 1] - s->from[0]);
    return value_of(NL_FIRST(i, low, high, at_most(s, value_of(i)) >= rank));
}

struct nl_shift nl_shift_of(double *from, size_t from_count, double *to, size_t to_count)
{
    struct nl_shift shift = {NAN, NAN, NAN};
    struct samples s = {from, to, from_count, to_count};
    if (!from_count || !to_count)
        return shift;
    qsort(from, from_count, sizeof *from, ascending);
    qsort(to, to_count, sizeof *to, ascending);
    uint64_t pairs = (uint64_t)from_count * to_count;
    shift.point = (difference(&s, (pairs + 1) / 2) + difference(&s, pairs / 2 + 1)) / 2;
    double n = (double)from_count, m = (double)to_count;
    double rank = floor(n * m / 2 - NORMAL_95 * sqrt(n * m * (n + m + 1) / 12));
    if (rank >= 1) {
        shift.low = difference(&s, (uint64_t)rank);
        shift.high = difference(&s, pairs + 1 - (uint64_t)rank);
    }
    return shift;
}
