/*
 * Mann and Whitney's U counts in one walk over both sorted samples; its exact distribution is
 * that of partitions of the sum, by the recurrence on the number of values. The exact
 * distribution of Kolmogorov and Smirnov counts lattice paths that stay near the diagonal
 * (Hodges, Ark. Mat. 3, 1958).
 */
#include "compare/stattest.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/moments.h"
#include "base/median.h"
#include "compare/statdist.h"

#define MAX_EXACT    8 /* values of the smaller sample for an exact p, as SciPy's "auto" */
#define KS_MAX_EXACT 10000

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* ---- Mann and Whitney ---- */

/* U of a, and Σ (t³ - t) over groups of t equal values. */
static double count_pairs(const double *a, size_t n, const double *b, size_t m, double *ties)
{
    double u = 0;
    size_t i = 0, j = 0;
    *ties = 0;
    while (i < n || j < m) {
        double value = j >= m || (i < n && a[i] <= b[j]) ? a[i] : b[j];
        size_t from_i = i, from_j = j;
        while (i < n && a[i] == value)
            i++;
        while (j < m && b[j] == value)
            j++;
        double own = (double)(i - from_i), other = (double)(j - from_j), both = own + other;
        u += own * ((double)from_j + other / 2);
        *ties += both * both * both - both;
    }
    return u;
}

/* P(U <= u) without ties: shares of the (n + m over n) orders, built value by value,
 * so that nothing overflows. Of n values of the one, f(n, m, u) = n/(n+m) f(n-1, m,
 * u-m) + m/(n+m) f(n, m-1, u). */
static double exact_at_most(size_t n, size_t m, double u)
{
    size_t most = n * m, width = most + 1;
    double *table = nl_zalloc((n + 1) * width * sizeof *table), sum = 0;
    for (size_t j = 0; j <= m; j++)
        for (size_t i = 0; i <= n; i++) { /* row i holds f(i, j - 1, .) until it is overwritten */
            double *row = table + i * width;
            if (!i || !j) {
                for (size_t k = 0; k <= most; k++)
                    row[k] = k == 0;
                continue;
            }
            const double *fewer = table + (i - 1) * width;
            double own = (double)i / (double)(i + j), other = (double)j / (double)(i + j);
            for (size_t k = 0; k <= most; k++)
                row[k] = other * row[k] + (k >= j ? own * fewer[k - j] : 0);
        }
    for (size_t k = 0; k <= most && (double)k <= u; k++)
        sum += table[n * width + k];
    nl_free(table);
    return sum < 1 ? sum : 1;
}

/* P(U >= u) by the normal approximation, with half a unit for continuity. */
static double normal_at_least(double u, double n, double m, double ties)
{
    double all = n + m;
    double deviation = sqrt(n * m / 12 * (all + 1 - ties / (all * (all - 1))));
    return deviation > 0 ? nl_normal_above((u - n * m / 2 - 0.5) / deviation) : 1;
}

static double twice(double p)
{
    return 2 * p < 1 ? 2 * p : 1;
}

struct nl_mann_whitney nl_mann_whitney(double *a, size_t a_count, double *b, size_t b_count)
{
    struct nl_mann_whitney test = {NAN, NAN, NAN, NAN};
    double n = (double)a_count, m = (double)b_count, ties;
    if (!a_count || !b_count)
        return test;
    qsort(a, a_count, sizeof *a, ascending);
    qsort(b, b_count, sizeof *b, ascending);
    test.u = count_pairs(a, a_count, b, b_count, &ties);
    double other = n * m - test.u, larger = test.u > other ? test.u : other;
    test.asymptotic = twice(normal_at_least(larger, n, m, ties));
    test.p = test.asymptotic;
    test.less = normal_at_least(other, n, m, ties);
    size_t small = a_count < b_count ? a_count : b_count, large = a_count + b_count - small;
    if (ties == 0 && small <= MAX_EXACT && large <= 100000) {
        test.p = twice(exact_at_most(small, large, n * m - larger));
        test.less = exact_at_most(small, large, test.u);
    }
    return test;
}

/* ---- Welch ---- */

struct nl_welch nl_welch(const double *a, size_t a_count, const double *b, size_t b_count)
{
    struct nl_welch test = {NAN, NAN, NAN};
    if (a_count < 2 || b_count < 2)
        return test;
    double a_mean = nl_sample_mean(a, a_count), b_mean = nl_sample_mean(b, b_count);
    double n = (double)a_count, m = (double)b_count;
    double x = nl_sample_variance(a, a_count, a_mean) / n,
           y = nl_sample_variance(b, b_count, b_mean) / m;
    if (!(x + y > 0))
        return test;
    test.t = (a_mean - b_mean) / sqrt(x + y);
    test.df = (x + y) * (x + y) / (x * x / (n - 1) + y * y / (m - 1));
    test.p = twice(nl_student_above(fabs(test.t), test.df));
    return test;
}

/* ---- Kolmogorov and Smirnov ---- */

/* The largest |i m - j n| over all values: the distance times n m, in whole numbers. */
static uint64_t largest_distance(const double *a, size_t n, const double *b, size_t m)
{
    uint64_t most = 0;
    size_t i = 0, j = 0;
    while (i < n && j < m) {
        double value = a[i] < b[j] ? a[i] : b[j];
        while (i < n && a[i] == value)
            i++;
        while (j < m && b[j] == value)
            j++;
        int64_t apart = (int64_t)(i * m) - (int64_t)(j * n);
        uint64_t size = (uint64_t)(apart < 0 ? -apart : apart);
        most = size > most ? size : most;
    }
    return most;
}

/* The share of all paths from (0, 0) to (n, m) that keep |i m - j n| < distance, from below: the
 * probability of each cell given that the path goes on evenly over all orders. */
static double inside(size_t n, size_t m, uint64_t distance)
{
    double *row = nl_zalloc((m + 1) * sizeof *row);
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            int64_t apart = (int64_t)(i * m) - (int64_t)(j * n);
            double all = (double)(i + j), value = 0;
            if (!i && !j)
                value = 1;
            else if (i) /* the last value before the cell was one of a, or one of b */
                value = row[j] * (double)i / all;
            if (j)
                value += row[j - 1] * (double)j / all;
            row[j] = (uint64_t)(apart < 0 ? -apart : apart) < distance ? value : 0;
        }
    double share = row[m];
    nl_free(row);
    return share;
}

static double limit_above(double x)
{
    double sum = 0;
    for (int k = 1; k < 200; k++)
        sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * x * x);
    return sum < 0 ? 0 : sum > 1 ? 1 : sum;
}

struct nl_kolmogorov nl_kolmogorov(double *a, size_t a_count, double *b, size_t b_count)
{
    struct nl_kolmogorov test = {NAN, NAN};
    if (!a_count || !b_count)
        return test;
    qsort(a, a_count, sizeof *a, ascending);
    qsort(b, b_count, sizeof *b, ascending);
    double n = (double)a_count, m = (double)b_count;
    uint64_t distance = largest_distance(a, a_count, b, b_count);
    test.d = (double)distance / n / m;
    if (a_count > KS_MAX_EXACT || b_count > KS_MAX_EXACT)
        test.p = limit_above(test.d * sqrt(n * m / (n + m)));
    else
        test.p = 1 - inside(a_count, b_count, distance);
    return test;
}

/* ---- the rest ---- */

double nl_mad(double *values, size_t count)
{
    double middle = nl_median_f64(values, count);
    double *apart = nl_alloc((count + 1) * sizeof *apart);
    for (size_t i = 0; i < count; i++)
        apart[i] = fabs(values[i] - middle);
    double mad = nl_median_f64(apart, count);
    nl_free(apart);
    return mad;
}

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double nl_fisher_more(size_t a, size_t a_count, size_t b, size_t b_count)
{
    double n = (double)a_count, m = (double)b_count, hits = (double)(a + b), sum = 0;
    double whole = log_choose(n + m, hits);
    for (size_t k = b; k <= b_count && k <= a + b; k++)
        if (a + b - k <= a_count)
            sum += exp(log_choose(m, (double)k) + log_choose(n, hits - (double)k) - whole);
    return sum < 1 ? sum : 1;
}

size_t nl_benjamini_hochberg(const double *p, size_t count, double q, bool *flagged)
{
    double *sorted = nl_alloc((count + 1) * sizeof *sorted), bound = -1;
    size_t tests = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            sorted[tests++] = p[i];
    qsort(sorted, tests, sizeof *sorted, ascending);
    for (size_t i = 0; i < tests; i++)
        if (sorted[i] <= q * (double)(i + 1) / (double)tests)
            bound = sorted[i];
    for (size_t i = 0; i < count; i++) {
        flagged[i] = !isnan(p[i]) && p[i] <= bound;
        kept += flagged[i];
    }
    nl_free(sorted);
    return kept;
}
