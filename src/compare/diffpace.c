/* See diffpace.h. */
#include "compare/diffpace.h"

#include <math.h>

/* A name of work that both sides have and count. */
static bool is_shared(const struct diff_row *row)
{
    return row->group != DIFF_IDLE && (row->match == DIFF_SAME || row->match == DIFF_RENAMED) &&
           row->base_count != NL_NULL_U64 && row->changed_count != NL_NULL_U64 && row->base_count &&
           row->changed_count;
}

static double per_unit(uint64_t count, const struct diff_side *side)
{
    return (double)count / (double)(side->units ? side->units : 1);
}

/* Share of the pieces whose names changed by half to twice as much as all
 * did, in the same direction. */
static double share_alike(const struct diff_pace *pace, const struct diff_side *base,
                          const struct diff_side *changed, const struct diff_rows *rows)
{
    double all = log(pace->changed_pieces / pace->base_pieces), alike = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->items[i];
        if (!is_shared(row))
            continue;
        double a = per_unit(row->base_count, base), b = per_unit(row->changed_count, changed);
        double part = log(b / a) / all;
        if (part >= 0.5 && part <= 2)
            alike += a + b;
    }
    return alike / (pace->base_pieces + pace->changed_pieces);
}

/* Whether what both have is most of either, and enough to count. */
static bool is_most(const struct diff_pace *pace, const struct diff_side *base,
                    const struct diff_side *changed, const struct diff_rows *rows)
{
    double a = 0, b = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->items[i];
        if (row->group == DIFF_IDLE)
            continue;
        a += row->base_count != NL_NULL_U64 ? per_unit(row->base_count, base) : 0;
        b += row->changed_count != NL_NULL_U64 ? per_unit(row->changed_count, changed) : 0;
    }
    return pace->base_pieces >= DIFF_MIN_PACE && pace->changed_pieces >= DIFF_MIN_PACE &&
           pace->base_pieces >= DIFF_PACE_ALIKE * a && pace->changed_pieces >= DIFF_PACE_ALIKE * b;
}

void diff_pace_find(struct diff_pace *pace, const struct diff_side *base,
                    const struct diff_side *changed, const struct diff_rows *rows)
{
    double a = 0, b = 0;
    *pace = (struct diff_pace){
        .base_pieces = NAN, .changed_pieces = NAN, .base_piece_ns = NAN, .changed_piece_ns = NAN};
    if (base->by_step || base->unit > DIFF_BY_HOST)
        return;
    for (size_t i = 0; i < rows->count; i++)
        if (is_shared(&rows->items[i])) {
            a += per_unit(rows->items[i].base_count, base);
            b += per_unit(rows->items[i].changed_count, changed);
        }
    if (!(a > 0 && b > 0 && base->mean > 0 && changed->mean > 0))
        return;
    pace->base_pieces = a;
    pace->changed_pieces = b;
    pace->base_piece_ns = (double)base->mean / a;
    pace->changed_piece_ns = (double)changed->mean / b;
    if (fabs(log(b / a)) < DIFF_PACE_APART || !is_most(pace, base, changed, rows) ||
        share_alike(pace, base, changed, rows) < DIFF_PACE_ALIKE)
        return;
    pace->other_work = true;
    pace->same_length = base->unit == DIFF_BY_WALL &&
                        fabs(log((double)changed->mean / (double)base->mean)) < DIFF_PACE_LONG;
}
