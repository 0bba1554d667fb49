/* What a change looks like as a whole: clocks that moved, and work that
 * changed where nothing shows it. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/diffdoc.h"

#define MIN_CLOCKS    0.015 /* least common change of all kernels, as a logarithm */
#define CLOCKS_APART  0.01  /* of one kernel from the common change */
#define CLOCKS_SHARE  0.8   /* of the kernels' time that must have changed so */
#define CLOCKS_NAMES  3
#define HIDDEN_SHARE  0.01 /* of the step: least change of whole lengths that is worth a sentence */
#define HIDDEN_CHANGE 0.05 /* of the time a call takes */

struct kernel {
    double change, weight; /* logarithm of B/A a call; time in A and B */
};

static int by_change(const void *left, const void *right)
{
    double a = ((const struct kernel *)left)->change, b = ((const struct kernel *)right)->change;
    return a < b ? -1 : a > b;
}

static double weighted_median(const struct kernel *kernels, size_t count)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        all += kernels[i].weight;
    for (size_t i = 0; i < count; i++) {
        sum += kernels[i].weight;
        if (sum * 2 >= all)
            return kernels[i].change;
    }
    return 0;
}

/* Whether it can be clocks: another device or batch is none, and clocks move the typical step as
 * they move the mean, single slow steps do not. */
static bool may_be_clocks(const struct diff_doc *doc)
{
    double mean = fabs(log((double)doc->changed.mean / (double)doc->base.mean));
    bool single = doc->base.by_step && mean > MIN_CLOCKS && isfinite(mean) &&
                  fabs(log(doc->sureness.ratio)) < mean / 2;
    return doc->sureness.verdict != DIFF_INCOMPARABLE && !single;
}

struct diff_clocks diff_find_clocks(const struct diff_doc *doc)
{
    struct diff_clocks clocks = {.ratio = NAN};
    struct kernel *kernels = nl_alloc((doc->rows.count + 1) * sizeof *kernels);
    double all = 0, alike = 0;
    for (size_t i = 0; i < doc->rows.count; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        double a = diff_call_ns(row->base_gross, row->base_count);
        double b = diff_call_ns(row->changed_gross, row->changed_count);
        if (row->group != DIFF_COMPUTE)
            continue;
        all += (double)row->base_ns + (double)row->changed_ns;
        if (row->match == DIFF_SAME && !isnan(a) && !isnan(b))
            kernels[clocks.names++] =
                (struct kernel){log(b / a), (double)row->base_ns + (double)row->changed_ns};
    }
    if (clocks.names)
        qsort(kernels, clocks.names, sizeof *kernels, by_change);
    double common = weighted_median(kernels, clocks.names);
    for (size_t i = 0; i < clocks.names; i++)
        if (fabs(kernels[i].change - common) < CLOCKS_APART) {
            alike += kernels[i].weight;
            clocks.alike++;
        }
    clocks.ratio = exp(common);
    clocks.found = may_be_clocks(doc) && clocks.alike >= CLOCKS_NAMES &&
                   fabs(common) > MIN_CLOCKS && alike >= CLOCKS_SHARE * all;
    nl_free(kernels);
    return clocks;
}

const struct diff_row *diff_find_hidden(const struct diff_doc *doc)
{
    const struct diff_row *best = NULL;
    double most = 0,
           step = (double)(doc->base.mean > doc->changed.mean ? doc->base.mean : doc->changed.mean);
    for (size_t i = 0; i < doc->rows.count && doc->base.unit <= DIFF_BY_WALL; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        double a = diff_call_ns(row->base_gross, row->base_count);
        double b = diff_call_ns(row->changed_gross, row->changed_count);
        if (row->match != DIFF_SAME || isnan(a) || isnan(b) || fabs(log(b / a)) < HIDDEN_CHANGE)
            continue;
        double gross = (double)row->changed_gross / (double)doc->changed.units -
                       (double)row->base_gross / (double)doc->base.units;
        double shown = (double)(row->changed_ns - row->base_ns);
        double hidden = fabs(gross - shown);
        if (hidden < HIDDEN_SHARE * step || fabs(shown) > fabs(gross) / 2 || hidden <= most)
            continue;
        most = hidden;
        best = row;
    }
    return best;
}
