/*
 * One pass over windows: in each, the best split by energy distance is kept while the t test of its
 * two sides holds at ten times the p asked for. Then the weakest is taken away until all hold;
 * levels reach from one change to the next.
 */
#include "compare/changepoint.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "compare/statdist.h"

struct found {
    struct nl_change *items;
    size_t count, cap;
    double *sums; /* twice a window */
};

/* ---- levels ---- */

static void level_of(const double *values, size_t count, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *deviation = sqrt(squares / (double)count);
}

/* Levels of [from, index) and [index, to), and the t test of one variance on them. */
static struct nl_change change_at(const double *values, size_t from, size_t index, size_t to)
{
    struct nl_change c = {
        .index = index, .p = 1, .before_count = index - from, .after_count = to - index};
    level_of(values + from, c.before_count, &c.before, &c.before_sd);
    level_of(values + index, c.after_count, &c.after, &c.after_sd);
    double n = (double)c.before_count, m = (double)c.after_count, df = n + m - 2;
    if (df < 1)
        return c;
    double variance =
        ((n - 1) * c.before_sd * c.before_sd + (m - 1) * c.after_sd * c.after_sd) / df;
    double error = sqrt(variance * (1 / n + 1 / m)), apart = fabs(c.before - c.after);
    c.p = apart > 0 ? 2 * nl_student_above(apart / error, df) : 1;
    return c;
}

double nl_change_magnitude(const struct nl_change *change)
{
    double forward = fabs(change->after / change->before - 1);
    double backward = fabs(change->before / change->after - 1);
    return forward > backward ? forward : backward;
}

/* ---- the best split of a stretch ---- */

/* Energy distance of n values to the m after them, from the sums of |x - y| within and between. */
static double distance(double n, double m, double left, double right, double all)
{
    double q = 2 * (all - left - right) / (n + m);
    if (n > 1)
        q -= 2 * m * left / (n + m) / (n - 1);
    if (m > 1)
        q -= 2 * n * right / (n + m) / (m - 1);
    return q;
}

/* The largest distance of [0, index) to [index, end), over all ends; 0 when there is none. `sums`
 * has room for twice `count` numbers. Of equal ones the first index counts. */
static double best_split(const double *values, size_t count, double *sums, size_t *index)
{
    double *left = sums, *right = sums + count, best = 0;
    *index = 0;
    memset(sums, 0, 2 * count * sizeof *sums);
    for (size_t last = 1; last < count; last++) {
        double more = 0;
        for (size_t i = last; i-- > 0;) { /* right[i]: pairs within [i, last] */
            more += fabs(values[i] - values[last]);
            right[i] += more;
        }
        if (last + 1 < count)
            left[last + 1] = right[0]; /* left[i]: pairs within [0, i) */
        for (size_t i = 1; i <= last; i++) {
            double q = distance((double)i, (double)(last + 1 - i), left[i], right[i], right[0]);
            if (q > best || (q == best && best > 0 && i < *index)) {
                best = q;
                *index = i;
            }
        }
    }
    return best;
}

/* ---- first pass ---- */

static void insert(struct found *found, size_t at, struct nl_change change)
{
    nl_grow(&found->items, &found->cap, found->count + 1);
    memmove(found->items + at + 1, found->items + at, (found->count - at) * sizeof *found->items);
    found->items[at] = change;
    found->count++;
}

/* Splits one window, best first, while a split holds; adds what it finds to `found`. */
static void split_window(struct found *found, const double *values, size_t from, size_t to,
                         double p)
{
    size_t first = found->count;
    for (;;) {
        double best = 0;
        size_t best_at = 0, place = 0, best_from = 0, best_to = 0;
        for (size_t k = first; k <= found->count; k++) {
            size_t start = k == first ? from : found->items[k - 1].index, at;
            size_t end = k == found->count ? to : found->items[k].index;
            double q = best_split(values + start, end - start, found->sums, &at);
            if (q > best) {
                best = q;
                best_at = start + at;
                place = k;
                best_from = start;
                best_to = end;
            }
        }
        if (!(best > 0))
            return;
        struct nl_change change = change_at(values, best_from, best_at, best_to);
        if (!(change.p <= p))
            return;
        insert(found, place, change);
    }
}

/* ---- second pass ---- */

static void measure_change(struct found *found, const double *values, size_t count, size_t k)
{
    size_t from = k ? found->items[k - 1].index : 0;
    size_t to = k + 1 < found->count ? found->items[k + 1].index : count;
    found->items[k] = change_at(values, from, found->items[k].index, to);
}

/* The place of the change that holds least, or SIZE_MAX when all hold. */
static size_t weakest(const struct found *found, const struct nl_change_options *options)
{
    size_t worst = 0, least = 0;
    for (size_t k = 1; k < found->count; k++) {
        if (found->items[k].p > found->items[worst].p)
            worst = k;
        if (nl_change_magnitude(&found->items[k]) < nl_change_magnitude(&found->items[least]))
            least = k;
    }
    if (!(found->items[worst].p < options->p))
        return worst;
    bool holds = nl_change_magnitude(&found->items[least]) > options->magnitude;
    return holds ? (size_t)-1 : least;
}

static void drop(struct found *found, const double *values, size_t count, size_t k)
{
    memmove(found->items + k, found->items + k + 1, (found->count - k - 1) * sizeof *found->items);
    found->count--;
    /* What stands before the gap keeps its levels: so does Otava, and p only gets smaller. */
    for (size_t next = k; next < k + 2 && next < found->count; next++)
        measure_change(found, values, count, next);
}

static void drop_weak(struct found *found, const double *values, size_t count,
                      const struct nl_change_options *options)
{
    while (found->count) {
        size_t k = weakest(found, options);
        if (k == (size_t)-1)
            return;
        drop(found, values, count, k);
    }
}

/* A short level between two others is a spike: the weaker of its ends goes, and
 * what then does not hold. */
static void drop_spikes(struct found *found, const double *values, size_t count,
                        const struct nl_change_options *options)
{
    for (size_t k = 0; k + 1 < found->count;) {
        if (found->items[k + 1].index - found->items[k].index >= options->least) {
            k++;
            continue;
        }
        drop(found, values, count, found->items[k].p > found->items[k + 1].p ? k : k + 1);
        if (k)
            measure_change(found, values, count, k - 1);
        if (k < found->count)
            measure_change(found, values, count, k);
        k -= k > 0;
    }
    drop_weak(found, values, count, options);
}

size_t nl_change_points(const double *values, size_t count, const struct nl_change_options *options,
                        struct nl_change **changes)
{
    struct found found = {0};
    double p = options->p < 0.05 ? options->p * 10 : options->p < 0.5 ? options->p * 2 : options->p;
    size_t step = options->window / 2;
    found.sums = nl_alloc(2 * options->window * sizeof *found.sums);
    for (size_t start = 0; start < count;) {
        size_t end = count - start < options->window ? count : start + options->window;
        size_t before = found.count, next = start + step;
        split_window(&found, values, start, end, p);
        if (found.count > before && found.items[found.count - 1].index > next)
            next = found.items[found.count - 1].index;
        start = next;
    }
    for (size_t k = 0; k < found.count; k++)
        measure_change(&found, values, count, k);
    drop_weak(&found, values, count, options);
    if (options->least)
        drop_spikes(&found, values, count, options);
    nl_free(found.sums);
    *changes = found.items;
    return found.count;
}
