/* median — of numbers that fit in memory. */
#ifndef NL_COMPARE_MEDIAN_H
#define NL_COMPARE_MEDIAN_H

#include <stddef.h>

/* Median of values, which the call sorts; NaN of none. */
double nl_median_f64(double *values, size_t count);

#endif
