/*
 * sum — sums of lengths. A damaged or hostile file may hold lengths of 146 years, a few of which no
 * 64-bit number holds together; their sum stays at the largest number there is, and never wraps.
 * And doubles that become whole numbers: a cast of one that its type does not hold is undefined, so
 * that what comes from a file, or was worked out of it, is cast here alone.
 */
#ifndef NL_SUM_H
#define NL_SUM_H

#include <math.h>
#include <stdint.h>

/* Never INT64_MIN, which means unknown. */
static inline int64_t nl_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum) || sum == INT64_MIN)
        return b > 0 ? INT64_MAX : INT64_MIN + 1;
    return sum;
}

static inline void nl_sum_add(int64_t *sum, int64_t length)
{
    *sum = nl_sum(*sum, length);
}

/* A share of a length, or another length worked out without integers; unknown is 0. */
static inline int64_t nl_sum_near(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    if (value <= -0x1p63)
        return INT64_MIN + 1;
    return value == value ? (int64_t)value : 0;
}

/* To the nearest whole number, halves away from 0; what fits no column is the
 * nearest that does; NaN is 0. */
static inline int64_t nl_whole_i64(double value)
{
    return nl_sum_near(round(value));
}

/* Bytes and counts: the whole part, never below 0; NaN is 0. */
static inline uint64_t nl_whole_u64(double value)
{
    if (value >= 0x1p64)
        return UINT64_MAX;
    return value > 0 ? (uint64_t)value : 0;
}

/* The same of bytes and counts as tables have them. */
static inline void nl_sum_add_u64(int64_t *sum, uint64_t value)
{
    nl_sum_add(sum, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

#endif
