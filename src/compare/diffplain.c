/* See diffplain.h. */
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "compare/diffinner.h"
#include "compare/diffplain.h"
#include "base/median.h"
#include "tables/plainruns.h"

static void drop(struct diff_side *side)
{
    nl_free(side->plain);
    side->plain = NULL;
    side->plain_count = 0;
}

static void drop_all(struct diff_side *side)
{
    drop(side);
    for (size_t i = 0; i < diff_capture_count(side); i++)
        drop(&diff_captures(side)[i]);
}

static bool find_plain_runs(struct diff_side *side)
{
    bool all = true;
    for (size_t i = 0; i < diff_capture_count(side) && all; i++) {
        struct diff_side *capture = &diff_captures(side)[i];
        drop(capture);
        capture->plain =
            nl_plain_run_lengths(capture->trace, &capture->window, &capture->plain_count);
        all = capture->plain_count > 0;
    }
    return all;
}

/* The side of several captures has all of theirs. */
static void join_captures(struct diff_side *side)
{
    size_t count = 0;
    if (!side->captures)
        return;
    for (size_t i = 0; i < side->capture_count; i++)
        count += side->captures[i].plain_count;
    side->plain = nl_alloc((count + 1) * sizeof *side->plain);
    for (size_t i = 0; i < side->capture_count; i++) {
        const struct diff_side *capture = &side->captures[i];
        memcpy(side->plain + side->plain_count, capture->plain,
               capture->plain_count * sizeof *side->plain);
        side->plain_count += capture->plain_count;
    }
}

void diff_find_plain(struct diff_side *const *sides, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++)
        drop_all(sides[i]);
    for (size_t i = 0; i < count && all; i++)
        all = find_plain_runs(sides[i]);
    for (size_t i = 0; i < count; i++)
        if (all)
            join_captures(sides[i]);
        else
            drop_all(sides[i]);
}

struct nl_capture diff_capture_of(const struct diff_side *capture)
{
    double time = (double)capture->mean;
    if (capture->plain_count)
        return nl_capture_of(capture->plain, capture->plain_count);
    if (capture->by_step)
        return nl_capture_of(capture->lengths, capture->length_count);
    return capture->mean > 0 ? nl_capture_of(&time, 1) : nl_capture_of(NULL, 0);
}

const double *diff_judged_lengths(const struct diff_side *side, size_t *count)
{
    *count = side->plain_count ? side->plain_count : side->by_step ? side->length_count : 0;
    return side->plain_count ? side->plain : side->lengths;
}

int64_t diff_judged_time(const struct diff_side *side)
{
    if (!side->plain_count)
        return side->mean;
    double *sorted = nl_alloc(side->plain_count * sizeof *sorted);
    memcpy(sorted, side->plain, side->plain_count * sizeof *sorted);
    double median = nl_median_f64(sorted, side->plain_count);
    nl_free(sorted);
    return nl_whole_i64(median);
}
