/*
 * Through what a candidate is fastest in an operator, module or range: what is inside it
 * in the slowest is paired with what is inside it in the fastest, and the rows whose time
 * fell most are the reason.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "compare/diffinner.h"
#include "compare/diffpair.h"
#include "compare/rankinner.h"
#include "tables/shortname.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"

#define SENTENCE           ((size_t)1 << 12)
#define MAX_EXPLAINED_ROWS 50    /* rows of a level */
#define MIN_LEAD           0.002 /* of the fastest candidate's time */
#define REASONS            2
#define MATTERS_SHARE      0.1 /* of the lead */

/* Names of a candidate's parts that are in a row. */
static struct nl_str *names_in(const struct rank_level *level, const struct rank_row *row,
                               size_t candidate, size_t *count)
{
    const struct diff_parts *parts = &level->parts[candidate];
    struct nl_str *names = nl_alloc((parts->count + 1) * sizeof *names);
    *count = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (level->row_of[candidate][i] == row->id)
            names[(*count)++] = parts->items[i].name;
    return names;
}

/* The parts inside those of a row, of one candidate, by their own names. */
static void take_inside(struct diff_parts *out, const struct rank_level *level,
                        const struct rank_row *row, const struct diff_parts *inside,
                        size_t candidate)
{
    size_t count;
    struct nl_str *names = names_in(level, row, candidate, &count);
    for (size_t i = 0; i < inside->count; i++) {
        const struct diff_part *one = &inside->items[i];
        const char *cut = memchr(one->name.ptr, DIFF_INSIDE, one->name.len);
        bool wanted = false;
        struct nl_str outer = {one->name.ptr, cut ? (size_t)(cut - one->name.ptr) : 0};
        for (size_t k = 0; cut && k < count && !wanted; k++)
            wanted = nl_str_eq(names[k], outer);
        if (!wanted)
            continue;
        size_t skip = outer.len + 1;
        struct diff_part *part = diff_part_add(
            out, one->group, (struct nl_str){one->name.ptr + skip, one->name.len - skip});
        part->owner = nl_str("one"); /* what is left over is what the other has instead */
        part->category = one->category;
        part->count = one->count;
        part->gross = one->gross;
        part->mean = one->mean;
    }
    nl_free(names);
}

static void put_name(struct nl_buf *text, struct nl_str name)
{
    nl_elide_name(text, nl_short_kernel(name), NL_RANK_NAME_WIDTH);
}

/* One row of the pairing of the slowest with the fastest, whose time fell. */
static void put_reason(struct nl_buf *text, const struct diff_row *row, double slow_units,
                       double fast_units)
{
    char before[NL_UNIT_TEXT], now[NL_UNIT_TEXT];
    double calls[2] = {(double)row->base_count / slow_units,
                       (double)row->changed_count / fast_units};
    if (text->len)
        nl_buf_text(text, "; ");
    if (!row->changed.ptr) {
        nl_buf_text(text, "no ");
        put_name(text, row->base);
        nl_buf_format(text, " (%s there)", nl_format_ns(before, row->base_ns));
        return;
    }
    put_name(text, row->changed);
    bool fewer = row->by_count != NL_NULL_I64 && row->by_count < row->by_time;
    if (row->match != DIFF_SAME && row->match != DIFF_RENAMED) {
        nl_buf_text(text, " instead of ");
        put_name(text, row->base);
    } else if (fewer) {
        nl_buf_format(text, " runs %.3g times, not %.3g", calls[1], calls[0]);
    } else if (row->changed_ns > 0) {
        nl_buf_format(text, " takes %.3g of the time",
                      (double)row->changed_ns / (double)row->base_ns);
    }
    nl_buf_format(text, " (%s, not %s)", nl_format_ns(now, row->changed_ns),
                  nl_format_ns(before, row->base_ns));
}

static const char *reason_of(struct ranking *r, const struct rank_level *level,
                             const struct rank_row *row, const struct diff_parts *inside)
{
    struct diff_parts slow = {0}, fast = {0};
    struct diff_rows rows = {0};
    struct nl_buf text;
    struct diff_side *sides[2] = {&r->items[row->slowest].side, &r->items[row->fastest].side};
    take_inside(&slow, level, row, &inside[row->slowest], row->slowest);
    take_inside(&fast, level, row, &inside[row->fastest], row->fastest);
    diff_pair(&rows, sides[0], &slow, sides[1], &fast, false);
    nl_buf_init(&text, SENTENCE);
    for (size_t i = 0, told = 0; i < rows.count && told < REASONS; i++) {
        const struct diff_row *one = &rows.items[i];
        if ((double)(one->base_ns - one->changed_ns) < MATTERS_SHARE * (double)row->lead)
            continue;
        put_reason(&text, one, (double)sides[0]->units, (double)sides[1]->units);
        told++;
    }
    const char *out = text.len ? nl_arena_text(&r->report->arena, text.ptr, text.len) : NULL;
    nl_buf_release(&text);
    diff_rows_release(&rows);
    diff_parts_release(&slow);
    diff_parts_release(&fast);
    return out;
}

void rank_level_explain(struct ranking *r, struct rank_level *level, enum diff_lens inner)
{
    struct diff_parts inside[NL_MAX_RANK] = {0};
    bool known = inner != DIFF_LENSES;
    for (size_t i = 0; i < r->count && known; i++)
        known = diff_parts_make(&inside[i], &r->items[i].side, inner);
    double least = MIN_LEAD * r->order[0]->time;
    for (size_t i = 0; i < level->count && i < MAX_EXPLAINED_ROWS && known; i++) {
        struct rank_row *row = &level->rows[i];
        if (row->group != DIFF_IDLE && row->lead > 0 && (double)row->lead >= least)
            row->because = reason_of(r, level, row, inside);
    }
    for (size_t i = 0; i < r->count; i++)
        diff_parts_release(&inside[i]);
}
