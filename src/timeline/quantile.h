/*
 * quantile — order statistics of many values without sorting them.
 */
#ifndef NL_QUANTILE_H
#define NL_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

/* The position of a quantile of `count` values: between the values of rank `rank` and rank + 1, at
 * `fraction` of the way (0 = at the first). p in hundredths, 0..100. Linear interpolation between
 * closest ranks: position p/100 × (count - 1), in integers so that no rounding moves it. */
struct nl_quantile {
    size_t rank;
    double fraction;
};
struct nl_quantile nl_quantile_at(size_t count, unsigned hundredths);

/* The quantile's value of `base` + values[0..count), 0 < count, none of `values` over `most`.
 * `scratch` has room for `count` values; `values` stays as it is. */
double nl_quantile_u32(const uint32_t *values, size_t count, int64_t base, uint32_t most,
                       struct nl_quantile quantile, uint32_t *scratch);

/* The same for any values, which the call may reorder. */
double nl_quantile_i64(int64_t *values, size_t count, struct nl_quantile quantile);

/* Their median; 0 of none. The call may reorder them. Other medians: base/median.h. */
double nl_quantile_median(int64_t *values, size_t count);

/* As nl_quantile_i64, of values in ascending order. */
double nl_quantile_sorted(const int64_t *values, struct nl_quantile quantile);

#endif
