/*
 * The tests of samples, their distributions and the change points beside a second implementation
 * that follows the definitions and counts everything: all pairs, all orders, integrals in small
 * steps. Samples are small, with and without ties.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "compare/changepoint.h"
#include "base/median.h"
#include "compare/statdist.h"
#include "compare/stattest.h"

#define MOST 64

static uint64_t state = 88172645463325252u;

static unsigned dice(unsigned sides)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 20) % sides);
}

/* Of `kinds` values, many of them equal; of 0 kinds all are different. */
static void draw(double *values, size_t count, unsigned kinds)
{
    for (size_t i = 0; i < count; i++)
        values[i] = kinds ? dice(kinds) : dice(1u << 30) + (double)i / 1000;
}

static void near(double got, double want)
{
    CHECK_NEAR(got, want, 1e-9 * fmax(1e-3, fabs(want)));
}

/* ---- integrals ---- */

static double student_density(double t, double df)
{
    return exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * acos(-1)) *
           pow(1 + t * t / df, -(df + 1) / 2);
}

/* P(T > t) for t >= 0 by Simpson's rule from 0 to t. */
static double student_tail(double t, double df)
{
    enum { STEPS = 4000 };
    double width = t / STEPS, sum = 0;
    for (int i = 0; i <= STEPS; i++)
        sum += student_density(i * width, df) * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
    return 0.5 - sum * width / 3;
}

/* I_x(a, b) of whole a and b: at least a of a + b - 1 throws. */
static double beta_of_throws(int a, int b, double x)
{
    double sum = 0;
    for (int k = a; k < a + b; k++) {
        double ways = 1;
        for (int i = 0; i < k; i++)
            ways = ways * (a + b - 1 - i) / (i + 1);
        sum += ways * pow(x, k) * pow(1 - x, a + b - 1 - k);
    }
    return sum;
}

static void distributions_are_integrals(void)
{
    static const double dfs[] = {1, 1.5, 2, 3, 4.25, 7, 10, 30, 99.5};
    for (size_t i = 0; i < CHECK_LENGTH(dfs); i++)
        for (double t = 0.125; t < 6; t += 0.375) {
            double tail = student_tail(t, dfs[i]);
            CHECK_NEAR(nl_student_above(t, dfs[i]), tail, 1e-9);
            CHECK_NEAR(nl_student_above(-t, dfs[i]), 1 - tail, 1e-9);
            CHECK_NEAR(nl_student_quantile(nl_student_above(t, dfs[i]), dfs[i]), t, 1e-8 * t);
        }
    for (int a = 1; a < 9; a++)
        for (int b = 1; b < 9; b++)
            for (double x = 0.0625; x < 1; x += 0.0625)
                CHECK_NEAR(nl_incomplete_beta(a, b, x), beta_of_throws(a, b, x), 1e-11);
    CHECK(nl_incomplete_beta(2, 3, 0) == 0 && nl_incomplete_beta(2, 3, 1) == 1 &&
          nl_incomplete_beta(2, 3, 1.5) == 1 && isnan(nl_incomplete_beta(2, 3, -0.5)));
    CHECK(nl_student_above(0, 5) == 0.5 && nl_student_above(INFINITY, 5) == 0 &&
          nl_student_above(-INFINITY, 5) == 1);
    CHECK(isnan(nl_student_above(NAN, 5)) && isnan(nl_student_above(1, 0)) &&
          isnan(nl_student_above(1, -2)) && isnan(nl_student_above(1, NAN)));
}

/* ---- ranks ---- */

static double pairs_won(const double *a, size_t n, const double *b, size_t m)
{
    double u = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
    return u;
}

/* The variance of U is that of a sum of n drawn from all the ranks, equal values
 * having the mean of theirs. */
static double variance_of_u(const double *a, size_t n, const double *b, size_t m, bool *ties)
{
    double all[2 * MOST], sum = 0;
    size_t count = n + m;
    memcpy(all, a, n * sizeof *a);
    memcpy(all + n, b, m * sizeof *b);
    *ties = false;
    for (size_t i = 0; i < count; i++) {
        double rank = 0.5;
        for (size_t j = 0; j < count; j++) {
            rank += all[j] < all[i] ? 1 : all[j] == all[i] ? 0.5 : 0;
            *ties |= i != j && all[j] == all[i];
        }
        double apart = rank - ((double)count + 1) / 2;
        sum += apart * apart;
    }
    return count < 2 ? 0 : (double)(n * m) * sum / (double)(count * (count - 1));
}

/* P(U <= u) without ties: n of the ranks 1 to n + m, by how many subsets have each sum. */
static double subsets_at_most(size_t n, size_t m, double u)
{
    size_t most = (n + m) * (n + m + 1) / 2;
    double *ways = nl_zalloc((n + 1) * (most + 1) * sizeof *ways), low = 0, all = 0;
    ways[0] = 1;
    for (size_t rank = 1; rank <= n + m; rank++)
        for (size_t taken = n; taken > 0; taken--)
            for (size_t sum = most; sum >= rank; sum--)
                ways[taken * (most + 1) + sum] += ways[(taken - 1) * (most + 1) + sum - rank];
    for (size_t sum = 0; sum <= most; sum++) {
        double here = ways[n * (most + 1) + sum];
        all += here;
        low += (double)sum - (double)(n * (n + 1) / 2) <= u ? here : 0;
    }
    nl_free(ways);
    return low / all;
}

static double asymptotic_above(double u, double mean, double variance)
{
    return variance > 0 ? erfc((u - mean - 0.5) / sqrt(variance) / sqrt(2)) / 2 : 1;
}

static void check_ranks(double *a, size_t n, double *b, size_t m)
{
    bool ties;
    double u = pairs_won(a, n, b, m), variance = variance_of_u(a, n, b, m, &ties);
    double mean = (double)(n * m) / 2, larger = fmax(u, 2 * mean - u);
    double both = fmin(1, 2 * asymptotic_above(larger, mean, variance));
    struct nl_mann_whitney test = nl_mann_whitney(a, n, b, m);
    near(test.u, u);
    near(test.asymptotic, both);
    if (ties || (n > 8 && m > 8)) {
        near(test.p, both);
        near(test.less, asymptotic_above(2 * mean - u, mean, variance));
    } else {
        near(test.p, fmin(1, 2 * subsets_at_most(n, m, 2 * mean - larger)));
        near(test.less, subsets_at_most(n, m, u));
    }
}

static void ranks_are_counted(void)
{
    double a[MOST], b[MOST];
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + dice(round % 2 ? 12 : 5), m = 1 + dice(round % 3 ? 12 : 5);
        unsigned kinds = round % 4 == 0 ? 1 + dice(9) : 0;
        draw(a, n, kinds);
        draw(b, m, kinds);
        check_ranks(a, n, b, m);
    }
    for (size_t n = 7; n <= 10; n++) /* both sides of the largest sample that is counted exactly */
        for (size_t m = 7; m <= 10; m++) {
            draw(a, n, 0);
            draw(b, m, 0);
            check_ranks(a, n, b, m);
        }
    CHECK(isnan(nl_mann_whitney(a, 0, b, 3).u) && isnan(nl_mann_whitney(a, 3, b, 0).p));
}

/* ---- distributions apart ---- */

static double share_at_most(const double *values, size_t count, double bound)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += values[i] <= bound;
    return (double)found / (double)count;
}

static double largest_gap(const double *a, size_t n, const double *b, size_t m)
{
    double most = 0;
    for (size_t i = 0; i < n + m; i++) {
        double at = i < n ? a[i] : b[i - n];
        most = fmax(most, fabs(share_at_most(a, n, at) - share_at_most(b, m, at)));
    }
    return most;
}

/* The share of all orders of n and m values whose gap is at least `gap`. */
static double orders_apart(size_t n, size_t m, double gap)
{
    size_t orders = 0, apart = 0;
    for (unsigned order = 0; order < 1u << (n + m); order++) {
        if ((size_t)__builtin_popcount(order) != n)
            continue;
        double most = 0;
        size_t i = 0;
        for (size_t k = 0; k < n + m; k++) {
            i += order >> k & 1;
            most = fmax(most, fabs((double)i / (double)n - (double)(k + 1 - i) / (double)m));
        }
        orders++;
        apart += most > gap - 1e-9;
    }
    return (double)apart / (double)orders;
}

static void gaps_are_counted(void)
{
    double a[MOST], b[MOST];
    for (int round = 0; round < 120; round++) {
        size_t n = 1 + dice(7), m = 1 + dice(6);
        unsigned kinds = round % 3 == 0 ? 1 + dice(6) : 0;
        draw(a, n, kinds);
        draw(b, m, kinds);
        double gap = largest_gap(a, n, b, m);
        struct nl_kolmogorov test = nl_kolmogorov(a, n, b, m);
        near(test.d, gap);
        CHECK_NEAR(test.p, orders_apart(n, m, gap), 1e-12);
    }
    CHECK(isnan(nl_kolmogorov(a, 0, b, 3).d) && isnan(nl_kolmogorov(a, 3, b, 0).p));
}

/* Beyond 10,000 values a side Kolmogorov's limit stands for the count. */
static void limits_many(void)
{
    static double many[10001];
    double few[] = {-1, 2000, 2500.5};
    for (size_t count = 10000; count <= 10001; count++) {
        for (size_t i = 0; i < count; i++)
            many[i] = (double)i;
        double x = largest_gap(many, count, few, 3), sum = 0;
        double lambda = x * sqrt((double)count * 3 / ((double)count + 3));
        for (int k = 1; k < 100; k++)
            sum += (k % 2 ? 2 : -2) * exp(-2 * lambda * lambda * k * k);
        double p = nl_kolmogorov(many, count, few, 3).p, q = nl_kolmogorov(few, 3, many, count).p;
        near(p, q);
        if (count == 10001)
            near(p, sum);
        else
            CHECK(fabs(p - sum) > 1e-3);
    }
}

/* ---- means, medians, tables ---- */

static void means_are_tested(void)
{
    double a[MOST], b[MOST];
    for (int round = 0; round < 100; round++) {
        size_t n = 2 + dice(9), m = 2 + dice(9);
        draw(a, n, 40);
        draw(b, m, 9);
        double mean[2] = {0, 0}, of_mean[2], squares[2] = {0, 0};
        for (size_t i = 0; i < n; i++)
            mean[0] += a[i], squares[0] += a[i] * a[i];
        for (size_t i = 0; i < m; i++)
            mean[1] += b[i], squares[1] += b[i] * b[i];
        double size[2] = {(double)n, (double)m};
        for (int i = 0; i < 2; i++)
            of_mean[i] = (squares[i] - mean[i] * mean[i] / size[i]) / (size[i] - 1) / size[i];
        double both = of_mean[0] + of_mean[1];
        struct nl_welch test = nl_welch(a, n, b, m);
        if (both < 1e-12) {
            CHECK(isnan(test.t) && isnan(test.df) && isnan(test.p));
            continue;
        }
        double t = (mean[0] / size[0] - mean[1] / size[1]) / sqrt(both);
        double df =
            both * both /
            (of_mean[0] * of_mean[0] / (size[0] - 1) + of_mean[1] * of_mean[1] / (size[1] - 1));
        near(test.t, t);
        near(test.df, df);
        CHECK_NEAR(test.p, 2 * student_tail(fabs(t), df), 1e-8);
    }
    CHECK(isnan(nl_welch(a, 1, b, 5).t) && isnan(nl_welch(a, 5, b, 1).p));
}

static double choose(size_t n, size_t k)
{
    double ways = k <= n;
    for (size_t i = 0; i < k && k <= n; i++)
        ways = ways * (double)(n - i) / (double)(i + 1);
    return ways;
}

static void tables_are_counted(void)
{
    for (size_t n = 1; n < 9; n++)
        for (size_t m = 1; m < 9; m++)
            for (size_t a = 0; a <= n; a++)
                for (size_t b = 0; b <= m; b++) {
                    double more = 0;
                    for (size_t k = b; k <= a + b; k++)
                        more += choose(m, k) * choose(n, a + b - k);
                    near(nl_fisher_more(a, n, b, m), more / choose(n + m, a + b));
                }
}

static size_t rank_of(const double *p, size_t count, size_t at)
{
    size_t rank = 0;
    for (size_t i = 0; i < count; i++)
        rank += p[i] <= p[at]; /* never of NaN */
    return rank;
}

static void discoveries_are_bounded(void)
{
    for (int round = 0; round < 200; round++) {
        double p[20];
        bool flagged[20];
        size_t count = dice(21), tests = 0, kept = 0;
        for (size_t i = 0; i < count; i++) {
            p[i] = dice(8) == 0 ? (double)NAN : dice(3) ? dice(40) / 400.0 : dice(1000) / 1000.0;
            tests += !isnan(p[i]);
        }
        size_t found = nl_benjamini_hochberg(p, count, 0.125, flagged);
        for (size_t i = 0; i < count; i++) {
            bool keep = false; /* it, or one that is not smaller, lies under its bound */
            for (size_t j = 0; j < count && !isnan(p[i]); j++)
                keep |=
                    p[j] >= p[i] && p[j] <= 0.125 * (double)rank_of(p, count, j) / (double)tests;
            CHECK_INT(flagged[i], keep);
            kept += keep;
        }
        CHECK_INT(found, kept);
    }
}

static double middle_of(const double *values, size_t count)
{
    double sum = 0;
    size_t halves = 0; /* the values with half of all below them, and at most half */
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++)
            below += values[j] < values[i], equal += values[j] == values[i];
        for (size_t place = (count - 1) / 2; place <= count / 2; place++)
            if (below <= place && place < below + equal)
                sum += values[i] / (double)equal, halves++;
    }
    return halves ? sum / (count % 2 ? 1 : 2) : (double)NAN;
}

static void medians_are_in_the_middle(void)
{
    for (size_t count = 1; count < 12; count++) {
        double values[12], apart[12];
        draw(values, count, count % 2 ? 5 : 0);
        double middle = middle_of(values, count);
        for (size_t i = 0; i < count; i++)
            apart[i] = fabs(values[i] - middle);
        near(nl_mad(values, count), middle_of(apart, count));
        near(nl_median_f64(values, count), middle);
    }
    CHECK(isnan(nl_mad(NULL, 0)));
}

/* ---- change points: Otava's walk, from its definitions ---- */

struct level {
    size_t from, at, to;
    double p, before, after;
};

static double between(const double *v, size_t a, size_t b, size_t c, size_t d)
{
    double sum = 0;
    for (size_t i = a; i < b; i++)
        for (size_t j = c; j < d; j++)
            sum += fabs(v[i] - v[j]);
    return sum;
}

static double energy(const double *v, size_t from, size_t at, size_t to)
{
    double n = (double)(at - from), m = (double)(to - at);
    double q = 2 * between(v, from, at, at, to) / (n + m);
    q -= n > 1 ? m * between(v, from, at, from, at) / (n + m) / (n - 1) : 0;
    q -= m > 1 ? n * between(v, at, to, at, to) / (n + m) / (m - 1) : 0;
    return q;
}

static struct level tested(const double *v, size_t from, size_t at, size_t to)
{
    struct level level = {from, at, to, 1, 0, 0};
    double n = (double)(at - from), m = (double)(to - at), squares = 0;
    for (size_t i = from; i < at; i++)
        level.before += v[i] / n;
    for (size_t i = at; i < to; i++)
        level.after += v[i] / m;
    for (size_t i = from; i < to; i++)
        squares += pow(v[i] - (i < at ? level.before : level.after), 2) *
                   ((i < at ? (n - 1) / n : (m - 1) / m)); /* deviations are the population's */
    double t = fabs(level.before - level.after) / sqrt(squares / (n + m - 2) * (1 / n + 1 / m));
    if (n + m > 2 && level.before != level.after)
        level.p = 2 * nl_student_above(t, n + m - 2);
    return level;
}

static size_t splits(const double *v, size_t from, size_t to, double p, size_t *ends)
{
    size_t count = 2;
    ends[0] = from, ends[1] = to;
    for (;;) {
        double best = 0;
        size_t at = 0, place = 0;
        for (size_t k = 0; k + 1 < count; k++)
            for (size_t i = ends[k] + 1; i < ends[k + 1]; i++)
                for (size_t end = i + 1; end <= ends[k + 1]; end++) {
                    double q = energy(v, ends[k], i, end);
                    if (q > best + 1e-12)
                        best = q, at = i, place = k;
                }
        if (best == 0 || !(tested(v, ends[place], at, ends[place + 1]).p <= p))
            return count;
        memmove(ends + place + 2, ends + place + 1, (count - place - 1) * sizeof *ends);
        ends[place + 1] = at;
        count++;
    }
}

static double magnitude(const struct level *level)
{
    return fmax(fabs(level->after / level->before - 1), fabs(level->before / level->after - 1));
}

/* All changes of the first pass, then the weakest goes until all hold. */
static size_t changes(const double *v, size_t count, size_t window, double p, double least,
                      struct level *found)
{
    size_t ends[MOST], places = 0, kept = 0, place[MOST];
    double first = p < 0.05 ? 10 * p : p < 0.5 ? 2 * p : p;
    for (size_t start = 0, next; start < count; start = next) {
        size_t end = start + window < count ? start + window : count;
        size_t split = splits(v, start, end, first, ends);
        next = start + window / 2;
        for (size_t k = 1; k + 1 < split; k++)
            place[places++] = ends[k];
        if (split > 2 && ends[split - 2] > next)
            next = ends[split - 2];
    }
    for (kept = 0; kept < places; kept++)
        found[kept] = tested(v, kept ? place[kept - 1] : 0, place[kept],
                             kept + 1 < places ? place[kept + 1] : count);
    while (kept) {
        size_t unsure = 0, small = 0;
        for (size_t k = 1; k < kept; k++) {
            unsure = found[k].p > found[unsure].p ? k : unsure;
            small = magnitude(&found[k]) < magnitude(&found[small]) ? k : small;
        }
        size_t gone = !(found[unsure].p < p) ? unsure : small;
        if (gone == small && found[unsure].p < p && magnitude(&found[small]) > least)
            return kept;
        memmove(found + gone, found + gone + 1, (kept - gone - 1) * sizeof *found);
        kept--;
        for (size_t k = gone; k < gone + 2 && k < kept; k++)
            found[k] = tested(v, k ? found[k - 1].at : 0, found[k].at,
                              k + 1 < kept ? found[k + 1].at : count);
    }
    return kept;
}

static void check_changes(const double *v, size_t count, struct nl_change_options options)
{
    struct level want[MOST];
    struct nl_change *got;
    size_t wanted = changes(v, count, options.window, options.p, options.magnitude, want);
    size_t found = nl_change_points(v, count, &options, &got);
    CHECK_INT(found, wanted);
    for (size_t i = 0; i < found && i < wanted; i++) {
        CHECK_INT(got[i].index, want[i].at);
        CHECK_NEAR(got[i].p, want[i].p, 1e-9);
        near(got[i].before, want[i].before);
        near(got[i].after, want[i].after);
    }
    nl_free(got);
}

static void changes_are_found_again(void)
{
    size_t found = 0;
    for (int round = 0; round < 60; round++) {
        double values[MOST];
        size_t count = dice(41) + 4;
        double level = 100;
        for (size_t i = 0; i < count; i++) {
            level += dice(9) == 0 ? (double)dice(31) - 15 : 0;
            values[i] = level + dice(1000) / 250.0;
        }
        struct nl_change_options options = NL_CHANGE_DEFAULTS;
        options.window = 6 + dice(15);
        options.p = dice(2) ? 0.001 : dice(2) ? 0.06 : 0.6;
        options.magnitude = dice(2) ? 0 : 0.04;
        check_changes(values, count, options);
        struct nl_change *got;
        found += nl_change_points(values, count, &options, &got);
        nl_free(got);
    }
    CHECK(found > 60);
}

CHECK_MAIN("statbrute", {"distributions are integrals", distributions_are_integrals},
           {"ranks are counted", ranks_are_counted}, {"gaps are counted", gaps_are_counted},
           {"limits many", limits_many}, {"means are tested", means_are_tested},
           {"tables are counted", tables_are_counted},
           {"discoveries are bounded", discoveries_are_bounded},
           {"medians are in the middle", medians_are_in_the_middle},
           {"changes are found again", changes_are_found_again})
