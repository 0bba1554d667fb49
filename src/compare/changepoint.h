/*
 * changepoint — where a series of numbers changes its level: E-divisive means (Matteson and
 * James, J. Am. Stat. Assoc. 109, 2014) on half-overlapping windows, with Student's t in place of
 * permutations and a second pass that takes away what does not hold, as Apache Otava does
 * (Fleming et al., ICPE 2023); so equal series give equal answers. tests/unit/test_stats.c
 * compares it with that program's.
 */
#ifndef NL_COMPARE_CHANGEPOINT_H
#define NL_COMPARE_CHANGEPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct nl_change_options {
    size_t window;    /* values a window has; at least 5 */
    double p;         /* greatest p of a change that is kept */
    double magnitude; /* least relative change that is kept, of the larger of both directions */
    size_t least;     /* values that a level between two changes must have; 0 = any, as in Otava */
};

#define NL_CHANGE_DEFAULTS                                                                         \
    (struct nl_change_options)                                                                     \
    {                                                                                              \
        .window = 50, .p = 0.001, .magnitude = 0                                                   \
    }

struct nl_change {
    size_t index;               /* the first value of the new level */
    double p;                   /* two-sided t test of the levels before and after */
    double before, after;       /* their means */
    double before_sd, after_sd; /* their deviations (of the population) */
    size_t before_count, after_count;
};

/* Changes in order of index, into *changes (nl_free); returns how many. Values are finite. */
size_t nl_change_points(const double *values, size_t count, const struct nl_change_options *options,
                        struct nl_change **changes);

/* after / before - 1, or before / after - 1 if that is larger: both without their signs. */
double nl_change_magnitude(const struct nl_change *change);

#endif
