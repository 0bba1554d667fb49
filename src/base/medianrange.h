/*
 * medianrange — the median of measured times and a confidence interval for it that supposes nothing
 * about how they are distributed.
 *
 * The interval is made of two order statistics: with B binomial(n, 1/2), the median lies
 * between the k-th smallest and the k-th largest value with probability 1 - 2 P(B < k); k is
 * the largest for which that is at least 95 % (W. J. Conover, Practical Nonparametric
 * Statistics, 3rd ed. 1999, section 3.2; H. A. David and H. N. Nagaraja, Order Statistics, 3rd
 * ed. 2003, section 7.1). It holds for values that are independent of each other; runs that
 * follow each other are only nearly so.
 */
#ifndef NL_MEDIANRANGE_H
#define NL_MEDIANRANGE_H

#include <stddef.h>
#include <stdint.h>

struct nl_median_range {
    size_t count;
    int64_t median, lowest, highest; /* of an even count the mean of the two middle values */
    int64_t low, high; /* the interval; INT64_MIN (unknown) with fewer than 6 values */
};

/* Of count > 0 values of 0 or more, in any order; they are sorted in place. */
struct nl_median_range nl_median_range_of(int64_t *values, size_t count);

/* k from above, 0 when there is none (fewer than 6). */
size_t nl_median_rank(size_t count);

/* The larger distance of an end from the median, as a share of it; NaN when unknown. */
double nl_median_range_width(const struct nl_median_range *range);

#endif
