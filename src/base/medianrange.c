/* Order statistics around the median; binomial sums, exact where doubles hold 2^-n. */
#include "base/medianrange.h"

#include <math.h>

#include "base/median.h"

#define MAX_EXACT    1000 /* 2^-n and its sums are normal doubles up to here */
#define SIGNIFICANCE 0.05

/* Above MAX_EXACT the binomial is normal to within a rank: (n - 1.96 sqrt(n)) / 2. */
size_t nl_median_rank(size_t count)
{
    if (count > MAX_EXACT)
        return (size_t)floor(((double)count - 1.959963984540054 * sqrt((double)count)) / 2);
    double term = ldexp(1, -(int)count), sum = term; /* P(B = k), P(B <= k) */
    size_t rank = 0;
    while (rank < count / 2 && 2 * sum <= SIGNIFICANCE) {
        rank++;
        term *= (double)(count - rank + 1) / (double)rank;
        sum += term;
    }
    return rank;
}

struct nl_median_range nl_median_range_of(int64_t *values, size_t count)
{
    struct nl_median_range range = {.count = count, .low = INT64_MIN, .high = INT64_MIN};
    size_t rank = nl_median_rank(count);
    range.median = nl_median_i64(values, count); /* sorts */
    range.lowest = values[0];
    range.highest = values[count - 1];
    if (rank) {
        range.low = values[rank - 1];
        range.high = values[count - rank];
    }
    return range;
}

double nl_median_range_width(const struct nl_median_range *range)
{
    if (range->low == INT64_MIN || range->median <= 0)
        return NAN;
    int64_t below = range->median - range->low, above = range->high - range->median;
    return (double)(below > above ? below : above) / (double)range->median;
}
