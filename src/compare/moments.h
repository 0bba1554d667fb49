/*
 * moments — mean and variance of a sample, summed in the order of its values, so that equal
 * samples give equal bits.
 */
#ifndef NL_COMPARE_MOMENTS_H
#define NL_COMPARE_MOMENTS_H

#include <stddef.h>

/* NaN of none. */
static inline double nl_sample_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Of the population that the sample is from: over count - 1; 0 with fewer than two values. */
static inline double nl_sample_variance(const double *values, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sum / (double)(count - 1) : 0;
}

#endif
