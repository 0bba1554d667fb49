/* See replicate.h. */
#include "compare/replicate.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "compare/moments.h"
#include "base/median.h"
#include "compare/statdist.h"
#include "compare/stattest.h"

#define NORMAL_MAD        1.4826022185056018 /* deviation of a normal distribution / its MAD */
#define MEDIAN_COST       1.5707963267948966 /* variance of a median / that of a mean: π/2 */
#define MIN_STEPS         4
#define MIN_FREE          1.0
#define TAIL_95           0.025
#define ROBUST_Z          3.5
#define MIN_APART         0.05
#define MIN_DF            4   /* so few captures refute nothing */
#define MIN_REFUTED_TIMES 4.0 /* times the variance that was believed */
#define MAX_MORE_CAPTURES 1000
#define STRICTNESS_POWER  5.0 /* times the spread: so many powers less of false alarms */
#define MIN_FALSE_ALARMS  1e-4

/* ---- within a capture ---- */

/* How strongly a value follows the one before it; of ranks' sort the values are cut at 3
 * deviations, so that one long step is no sign of independence. */
static double following(const double *logs, size_t count, double middle, double deviation)
{
    double sum = 0, squares = 0, before = 0, cut = 3 * deviation;
    for (size_t i = 0; i < count; i++) {
        double x = logs[i] - middle;
        x = x > cut ? cut : x < -cut ? -cut : x;
        squares += x * x;
        sum += i ? x * before : 0;
        before = x;
    }
    if (!(squares > 0))
        return 0;
    double r = sum / squares;
    r += (1 + 3 * r) / (double)count; /* Kendall, Biometrika 41, 1954 */
    return r < 0 ? 0 : r > 0.98 ? 0.98 : r;
}

/* Variance of the mean, from the means of about √n blocks. */
static double blocks_variance(const double *logs, size_t count)
{
    size_t blocks = (size_t)sqrt((double)count);
    double *means = nl_alloc((blocks + 1) * sizeof *means);
    for (size_t i = 0; i < blocks; i++) {
        size_t from = count * i / blocks, to = count * (i + 1) / blocks;
        means[i] = nl_sample_mean(logs + from, to - from);
    }
    double variance =
        nl_sample_variance(means, blocks, nl_sample_mean(means, blocks)) / (double)blocks;
    nl_free(means);
    return variance;
}

static void find_errors(struct nl_capture *c, const double *lengths, const double *logs,
                        size_t count)
{
    double *sorted = nl_alloc((count + 1) * sizeof *sorted);
    memcpy(sorted, logs, count * sizeof *sorted);
    double middle = nl_median_f64(sorted, count);
    double robust = NORMAL_MAD * nl_mad(sorted, count);
    double plain = sqrt(nl_sample_variance(logs, count, nl_sample_mean(logs, count)));
    double deviation = robust > 0 ? robust : plain;
    double r = following(logs, count, middle, deviation);
    double free = (double)count * (1 - r) / (1 + r);
    c->independent = free > MIN_FREE ? free : MIN_FREE;
    double typical = MEDIAN_COST * deviation * deviation / c->independent;
    double blocks = blocks_variance(logs, count);
    double blocks_share = plain > 0 ? deviation * deviation / (plain * plain) : 1;
    double by_blocks = MEDIAN_COST * blocks * (blocks_share < 1 ? blocks_share : 1);
    c->median_se = sqrt(typical > by_blocks ? typical : by_blocks);
    double spread = sqrt(nl_sample_variance(lengths, count, c->mean)) / c->mean;
    double mean = spread * spread / c->independent;
    c->mean_se = sqrt(mean > blocks ? mean : blocks);
    nl_free(sorted);
}

double nl_mean_error(const double *values, size_t count, double *spread)
{
    double *sorted = nl_alloc((count + 1) * sizeof *sorted);
    if (count)
        memcpy(sorted, values, count * sizeof *sorted);
    double middle = nl_median_f64(sorted, count), robust = NORMAL_MAD * nl_mad(sorted, count);
    nl_free(sorted);
    double variance = count ? nl_sample_variance(values, count, nl_sample_mean(values, count)) : 0;
    double deviation = robust > 0 ? robust : sqrt(variance);
    if (spread)
        *spread = deviation;
    if (count < MIN_STEPS)
        return NAN;
    double r = following(values, count, middle, deviation);
    double free = (double)count * (1 - r) / (1 + r);
    double mean = variance / (free > MIN_FREE ? free : MIN_FREE);
    double blocks = blocks_variance(values, count);
    return sqrt(mean > blocks ? mean : blocks);
}

struct nl_capture nl_capture_of(const double *lengths, size_t count)
{
    struct nl_capture c = {.steps = count,
                           .median = NAN,
                           .mean = NAN,
                           .p95 = NAN,
                           .independent = NAN,
                           .median_se = NAN,
                           .mean_se = NAN};
    if (!count)
        return c;
    double *copy = nl_alloc((count + 1) * sizeof *copy);
    memcpy(copy, lengths, count * sizeof *copy);
    c.median = nl_median_f64(copy, count); /* sorts */
    c.mean = nl_sample_mean(lengths, count);
    double rank = 0.95 * (double)(count - 1);
    size_t low = (size_t)rank;
    c.p95 = low + 1 < count ? copy[low] + (rank - (double)low) * (copy[low + 1] - copy[low])
                            : copy[low];
    for (size_t i = 0; i < count; i++)
        c.slow += copy[i] > NL_SLOW_STEP * c.median;
    if (count >= MIN_STEPS) {
        for (size_t i = 0; i < count; i++)
            copy[i] = log(lengths[i]);
        find_errors(&c, lengths, copy, count);
    }
    nl_free(copy);
    return c;
}

/* ---- between captures ---- */

static double mean_log(const struct nl_value *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i].log;
    return sum / (double)count;
}

static double squares_of(const struct nl_value *values, size_t count)
{
    double mean = mean_log(values, count), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i].log - mean) * (values[i].log - mean);
    return sum;
}

/* Mean of the variances within; NaN when one is not known. */
static double within(const struct nl_value *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i].se * values[i].se;
    return sum / (double)count;
}

/* Captures show themselves how they differ. */
static void by_captures(struct nl_apart *apart, const struct nl_value *a, size_t n,
                        const struct nl_value *b, size_t m, const struct nl_noise *noise)
{
    double sd = noise->sd > 0 ? noise->sd : NL_NOISE_SEVERAL;
    double df0 = noise->sd > 0 ? noise->df : NL_NOISE_DF, df = (double)(n + m - 2);
    double inner = (within(a, n) + within(b, m)) / 2, prior = sd * sd;
    if (!isnan(inner))
        prior += inner;
    double squares = squares_of(a, n) + squares_of(b, m);
    if (df >= MIN_DF &&
        squares > MIN_REFUTED_TIMES * df * prior) /* they refute what was believed of them */
        df0 = 0;
    double s2 = (df0 * prior + squares) / (df0 + df);
    apart->spread = sqrt(s2);
    apart->se = sqrt(s2 * (1 / (double)n + 1 / (double)m));
    apart->df = df0 + df;
}

/* One capture on a side: what is known beforehand, and what its steps show. */
static void by_steps(struct nl_apart *apart, const struct nl_value *a, size_t n,
                     const struct nl_value *b, size_t m, const struct nl_noise *noise)
{
    double sd = noise->sd > 0 ? noise->sd : NL_NOISE_SINGLE;
    double df0 = noise->sd > 0 ? noise->df : NL_NOISE_DF_ONE;
    double inner_a = within(a, n) / (double)n, inner_b = within(b, m) / (double)m;
    if (isnan(inner_a) || isnan(inner_b))
        return;
    double noise2 = sd * sd * (1 / (double)n + 1 / (double)m), all = noise2 + inner_a + inner_b;
    double terms = noise2 * noise2 / df0 + inner_a * inner_a / 3 + inner_b * inner_b / 3;
    apart->se = sqrt(all);
    apart->df = all * all / terms;
}

struct nl_apart nl_apart_of(const struct nl_value *a, size_t a_count, const struct nl_value *b,
                            size_t b_count, const struct nl_noise *noise)
{
    struct nl_apart apart = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!a_count || !b_count)
        return apart;
    apart.shift = mean_log(b, b_count) - mean_log(a, a_count);
    if (a_count + b_count > 2)
        by_captures(&apart, a, a_count, b, b_count, noise);
    else
        by_steps(&apart, a, a_count, b, b_count, noise);
    if (isnan(apart.se))
        return apart;
    double half = nl_student_quantile(TAIL_95, apart.df) * apart.se;
    apart.low = apart.shift - half;
    apart.high = apart.shift + half;
    double p = 2 * nl_student_above(fabs(apart.shift) / apart.se, apart.df);
    apart.p = p < 1 ? p : 1;
    return apart;
}

double nl_apart_tail(const struct nl_apart *apart, double tail)
{
    if (!(apart->spread > NL_NOISE_BUSY))
        return tail;
    double strict = tail * pow(NL_NOISE_BUSY / apart->spread, STRICTNESS_POWER);
    return strict > MIN_FALSE_ALARMS ? strict : MIN_FALSE_ALARMS;
}

double nl_apart_above(const struct nl_apart *apart, double tail)
{
    if (isnan(apart->se))
        return NAN;
    return apart->shift - nl_student_quantile(tail, apart->df) * apart->se;
}

/* Whether this many more captures per side would distinguish a change from none. */
static bool would_tell(const struct nl_apart *apart, size_t a_count, size_t b_count, size_t more,
                       double change, double tail)
{
    double each = apart->se / sqrt(1 / (double)a_count + 1 / (double)b_count);
    double n = (double)(a_count + more), m = (double)(b_count + more);
    double se = each * sqrt(1 / n + 1 / m);
    return nl_student_quantile(tail, apart->df + 2 * (double)more) * se < change;
}

size_t nl_captures_needed(const struct nl_apart *apart, size_t a_count, size_t b_count,
                          double change, double tail)
{
    if (isnan(apart->se) || !(change > 0))
        return SIZE_MAX;
    size_t now = a_count < b_count ? a_count : b_count;
    size_t least = now > 1 ? 0 : 1, most = MAX_MORE_CAPTURES;
    if (!would_tell(apart, a_count, b_count, most, change, tail))
        return SIZE_MAX;
    /* More captures never show less. */
    return NL_FIRST(more, least, most, would_tell(apart, a_count, b_count, more, change, tail));
}

size_t nl_outlying(const double *values, size_t count, bool *outlying)
{
    double *copy = nl_alloc((count + 1) * sizeof *copy);
    size_t found = 0;
    memcpy(copy, values, count * sizeof *copy);
    double middle = nl_median_f64(copy, count), mad = nl_mad(copy, count);
    for (size_t i = 0; i < count; i++) {
        double apart = fabs(values[i] - middle);
        outlying[i] = count > 2 && apart > MIN_APART && apart > ROBUST_Z * NORMAL_MAD * mad;
        found += outlying[i];
    }
    nl_free(copy);
    return found;
}
