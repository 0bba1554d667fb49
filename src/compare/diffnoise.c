/*
 * What a row varies by itself: between the tenths of the steps of one capture, or between captures;
 * and what captures differ by beyond that (replicate.h).
 */
#include <math.h>

#include "base/mem.h"
#include "compare/diffinner.h"
#include "compare/diffnoise.h"
#include "compare/partnoise.h"
#include "compare/statdist.h"
#include "compare/stattest.h"

#define FALSE_SHARE 0.05 /* of the rows that are flagged, at most so many by chance */

struct spread {
    double variance, df; /* of the side's mean; NaN not known */
};

/* `wider`: a capture differs from the next by so many times what steps do (partnoise.h). */
static struct spread spread_of(const int64_t blocks[DIFF_BLOCKS], const struct diff_side *side,
                               const struct nl_noise *noise, double wider)
{
    double values[DIFF_BLOCKS], sum = 0, squares = 0;
    size_t n = 0;
    bool several = side->captures != NULL;
    for (size_t i = 0; i < side->blocks.count; i++)
        if (side->blocks.units[i]) {
            values[n] = (double)blocks[i] / (double)side->blocks.units[i];
            sum += values[n++];
        }
    if (n < 2)
        return (struct spread){NAN, NAN};
    double mean = sum / (double)n, count = (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double sd = noise->sd > 0 ? noise->sd : several ? NL_NOISE_SEVERAL : NL_NOISE_SINGLE;
    double df = noise->sd > 0 ? noise->df : several ? NL_NOISE_DF : NL_NOISE_DF_ONE;
    double capture = sd * mean * sd * mean;
    capture *= several ? 1 : wider * wider;
    if (several)
        return (struct spread){(df * capture + squares) / (df + count - 1) / count, df + count - 1};
    double inner = squares / (count - 1) / count, all = capture + inner;
    double terms = capture * capture / df + inner * inner / (count - 1);
    return (struct spread){all, terms > 0 ? all * all / terms : df};
}

static void judge_row(struct diff_row *row, const struct diff_side *base,
                      const struct diff_side *changed, const struct nl_noise *noise, double wider)
{
    struct spread a = spread_of(row->base_blocks, base, noise, wider),
                  b = spread_of(row->changed_blocks, changed, noise, wider);
    double change = (double)(row->changed_ns - row->base_ns), all = a.variance + b.variance;
    if (isnan(all))
        return;
    if (!(all > 0)) { /* nothing varies, and captures of nothing do not either */
        row->low = row->high = change;
        row->p = change == 0 ? 1 : 0;
        return;
    }
    double df = all * all / (a.variance * a.variance / a.df + b.variance * b.variance / b.df);
    double half = nl_student_quantile(0.025, df) * sqrt(all);
    row->low = change - half;
    row->high = change + half;
    row->p = 2 * nl_student_above(fabs(change) / sqrt(all), df);
}

/* Benjamini–Hochberg over rows that were judged, and large enough to matter. */
static void flag(struct diff_row *rows, size_t count, const struct diff_side *base,
                 const struct diff_side *changed)
{
    double *p = nl_alloc((count + 1) * sizeof *p);
    bool *flagged = nl_alloc((count + 1) * sizeof *flagged);
    for (size_t i = 0; i < count; i++)
        p[i] = rows[i].p;
    (void)nl_benjamini_hochberg(p, count, FALSE_SHARE, flagged);
    double least =
        DIFF_MATERIAL * (double)(base->mean > changed->mean ? base->mean : changed->mean);
    for (size_t i = 0; i < count; i++)
        rows[i].flagged =
            flagged[i] && fabs((double)(rows[i].changed_ns - rows[i].base_ns)) >= least;
    nl_free(p);
    nl_free(flagged);
}

void diff_rows_judge(struct diff_rows *rows, const struct diff_side *base,
                     const struct diff_side *changed, const struct nl_noise *noise)
{
    for (size_t i = 0; i < rows->count; i++)
        judge_row(&rows->items[i], base, changed, noise, 1);
    flag(rows->items, rows->count, base, changed);
}

/* ---- parts of the time ---- */

static void add_to_group(struct diff_row *group, const struct diff_row *row)
{
    group->base_ns = diff_sum(group->base_ns, row->base_ns);
    group->changed_ns = diff_sum(group->changed_ns, row->changed_ns);
    for (size_t k = 0; k < DIFF_BLOCKS; k++) {
        group->base_blocks[k] = diff_sum(group->base_blocks[k], row->base_blocks[k]);
        group->changed_blocks[k] = diff_sum(group->changed_blocks[k], row->changed_blocks[k]);
    }
}

static double wider_of(const struct diff_side *side, enum diff_group group)
{
    bool steps = side->unit == DIFF_BY_STEP && side->by_step && !side->captures;
    return steps && group < DIFF_HOST ? nl_part_noise_of(side, group, false).wider : 1;
}

void diff_groups_judge(struct diff_row groups[DIFF_GROUPS], const struct diff_rows *rows,
                       const struct diff_side *base, const struct diff_side *changed,
                       const struct nl_noise *noise)
{
    for (size_t i = 0; i < DIFF_GROUPS; i++)
        groups[i] =
            (struct diff_row){.group = (enum diff_group)i, .p = NAN, .low = NAN, .high = NAN};
    for (size_t i = 0; i < rows->count; i++)
        add_to_group(&groups[rows->items[i].group], &rows->items[i]);
    for (size_t i = 0; i < DIFF_GROUPS; i++) {
        double a = wider_of(base, (enum diff_group)i), b = wider_of(changed, (enum diff_group)i);
        judge_row(&groups[i], base, changed, noise, a > b ? a : b);
    }
    flag(groups, DIFF_GROUPS, base, changed);
}
