/* Whether the same work runs in another order: of one step in the middle, on devices that compute
 * on one stream, for of several streams the order is chance. */
#include <stdlib.h>

#include "base/mem.h"
#include "compare/diffdoc.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"

/* Does the first device compute on one stream alone? */
static bool has_one_stream(struct diff_side *side)
{
    const struct nl_trace *trace = diff_captures(side)[0].trace;
    const struct diff_side *first = &diff_captures(side)[0];
    int64_t only = NL_NULL_I64;
    bool any = false;
    if (!first->device_count)
        return false;
    for (uint32_t i = 0; i < trace->kernel.rows; i++) {
        uint32_t lane = trace->slice.lane[trace->kernel.slice[i]];
        bool computes = trace->kernel.class[i] == NL_CLASS_COMPUTE ||
                        trace->kernel.class[i] == NL_CLASS_UNKNOWN;
        if (!computes || trace->lane.device[lane] != first->devices[0].device)
            continue;
        if (any && trace->lane.stream[lane] != only)
            return false;
        only = trace->lane.stream[lane];
        any = true;
    }
    return any && only != NL_NULL_I64;
}

/* Names of the compute of that step, as it runs. */
static struct nl_str *sequence_of(const struct diff_parts *parts, size_t *count)
{
    struct nl_str *names = nl_alloc((parts->order_count + 1) * sizeof *names);
    *count = 0;
    for (size_t i = 0; i < parts->order_count; i++)
        if (parts->items[parts->order[i]].group == DIFF_COMPUTE)
            names[(*count)++] = parts->items[parts->order[i]].name;
    return names;
}

static int by_text(const void *left, const void *right)
{
    return nl_str_order(*(const struct nl_str *)left, *(const struct nl_str *)right);
}

/* The same names as often? */
static bool same_work(const struct nl_str *a, const struct nl_str *b, size_t count)
{
    bool same = true;
    struct nl_str *x = nl_alloc((count + 1) * 2 * sizeof *x), *y = x + count;
    memcpy(x, a, count * sizeof *x);
    memcpy(y, b, count * sizeof *y);
    qsort(x, count, sizeof *x, by_text);
    qsort(y, count, sizeof *y, by_text);
    for (size_t i = 0; i < count && same; i++)
        same = nl_str_eq(x[i], y[i]);
    nl_free(x);
    return same;
}

struct diff_reordered diff_find_reordered(struct diff_doc *doc)
{
    struct diff_reordered found = {.places = 0};
    size_t n, m;
    if (doc->base.unit != DIFF_BY_STEP || !doc->base.by_step || !doc->changed.by_step ||
        !has_one_stream(&doc->base) || !has_one_stream(&doc->changed))
        return found;
    struct nl_str *a = sequence_of(&doc->base_parts, &n);
    struct nl_str *b = sequence_of(&doc->changed_parts, &m);
    if (n == m && n > 1 && same_work(a, b, n))
        for (size_t i = 0; i < n; i++)
            if (!nl_str_eq(a[i], b[i]) && !found.places++) {
                found.before = a[i];
                found.now = b[i];
            }
    found.of = n;
    nl_free(a);
    nl_free(b);
    return found;
}
