/*
 * shift — how far one sample lies from another, and how sure that is: the Hodges–Lehmann estimator
 * (the median of all differences between a value of the one and a value of the other) and the
 * interval that inverts the rank test of Mann and Whitney (Hollander, Wolfe, Chicken, Nonparametric
 * Statistical Methods, 3rd ed., 4.2 and 4.3; order statistics by the normal approximation).
 *
 * Of logarithms, exp(shift) is the ratio. No list of differences is made: any number of values takes
 * O(n log n) time and no memory beside the values themselves.
 */
#ifndef NL_COMPARE_SHIFT_H
#define NL_COMPARE_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

struct nl_shift {
    double point;     /* of `to` against `from`; NaN when either is empty */
    double low, high; /* 95 %; NaN when there are too few values for that */
};

/* Sorts both in place. Values are finite. */
struct nl_shift nl_shift_of(double *from, size_t from_count, double *to, size_t to_count);

/* Median of values, which the call sorts; NaN of none. */
double nl_median_f64(double *values, size_t count);

#endif
