/*
 * median — the middle of some values. Of an even count there are two, so a median says which it is:
 *
 *   nl_median_lower   the smaller of the two: a value that was measured, so that times which add up stay sums
 *   nl_median_upper   the larger of the two: likewise; of two values the larger, which hides no slow one
 *   nl_median_f64     their mean: what is shown as "median", as SQL's median() and nl_quantile_at(count, 50)
 *   nl_median_i64     their mean, of values that stay whole: half a unit is rounded down
 *
 * Order statistics of millions of values: timeline/quantile.h. With a confidence
 * interval: medianrange.h.
 */
#ifndef NL_MEDIAN_H
#define NL_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Where the two stand among `count` > 0 values in order; of an odd count at the same place. */
static inline size_t nl_median_lower_at(size_t count)
{
    return (count - 1) / 2;
}

static inline size_t nl_median_upper_at(size_t count)
{
    return count / 2;
}

/* Of count > 0 values, which the call sorts. */
int64_t nl_median_lower(int64_t *values, size_t count);
int64_t nl_median_upper(int64_t *values, size_t count);
int64_t nl_median_i64(int64_t *values, size_t count);

/* Of values that are no NaN, which the call sorts; NaN of none. The mean of two
 * large ones does not overflow. */
double nl_median_f64(double *values, size_t count);

#endif
