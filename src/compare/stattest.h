/*
 * stattest — tests of two samples, and what keeps many of them honest. Formulas and conventions are
 * those of SciPy 1.11 (mannwhitneyu, ttest_ind, ks_2samp with their default methods), which the
 * tests compare them with.
 *
 * Values are finite; samples are sorted in place where the comment says so.
 */
#ifndef NL_COMPARE_STATTEST_H
#define NL_COMPARE_STATTEST_H

#include <stdbool.h>
#include <stddef.h>

struct nl_mann_whitney {
    double u;    /* pairs in which the value of `a` is the larger, ties half */
    double p;    /* two-sided: exact without ties when a sample has at most 8 values */
    double less; /* the same of "a is smaller" */
    /* two-sided, by the normal approximation, corrected for ties and continuity */
    double asymptotic;
};

/* Sorts both. NaN everywhere when either is empty. */
struct nl_mann_whitney nl_mann_whitney(double *a, size_t a_count, double *b, size_t b_count);

struct nl_welch {
    double t, df, p; /* of mean(a) - mean(b); p two-sided. NaN without two values a side */
};

struct nl_welch nl_welch(const double *a, size_t a_count, const double *b, size_t b_count);

struct nl_kolmogorov {
    double d, p; /* largest distance of the two distributions; two-sided, exact */
};

/* Sorts both. Exact up to 10,000 values a side; beyond, by Kolmogorov's limit. */
struct nl_kolmogorov nl_kolmogorov(double *a, size_t a_count, double *b, size_t b_count);

/* Median of the distances from the median; sorts. NaN of none. */
double nl_mad(double *values, size_t count);

/* One-sided exact test of Fisher: the probability that of `a` + `b` successes in samples of a_count
 * and b_count, so many or more (`b`) fall on the second. */
double nl_fisher_more(size_t a, size_t a_count, size_t b, size_t b_count);

/* Benjamini–Hochberg at false discovery rate q: sets flagged[i] for those of `p` (NaN = not tested)
 * that are kept. Returns how many. */
size_t nl_benjamini_hochberg(const double *p, size_t count, double q, bool *flagged);

#endif
