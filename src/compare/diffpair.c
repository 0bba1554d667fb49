/*
 * Pairing by sorting: all parts of both sides that are still free, in the order of a key; runs of
 * equal keys that have parts of both sides become a row.
 */
#define _GNU_SOURCE
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffpair.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/diffteam.h"

__extension__ typedef __int128 wide_int;

#define NAMES_SHOWN   3    /* of several parts that became one row */
#define RENAMED_APART 0.05 /* of the time a call takes, as a logarithm */

void diff_rows_release(struct diff_rows *rows)
{
    nl_free(rows->items);
    nl_arena_free(&rows->arena);
}

const char *diff_match_text(enum diff_match match)
{
    static const char *const texts[DIFF_MATCHES] = {
        [DIFF_SAME] = "same",         [DIFF_RENAMED] = "renamed",
        [DIFF_FUSED] = "fused",       [DIFF_SPLIT] = "split",
        [DIFF_REPLACED] = "replaced", [DIFF_REPLACED_CATEGORY] = "replaced, by category",
        [DIFF_REMOVED] = "removed",   [DIFF_ADDED] = "added"};
    return texts[match];
}

const char *diff_group_text(enum diff_group group)
{
    static const char *const texts[DIFF_GROUPS] = {[DIFF_COMPUTE] = "compute",
                                                   [DIFF_COMM] = "exposed communication",
                                                   [DIFF_COPY] = "exposed copies",
                                                   [DIFF_IDLE] = "idle",
                                                   [DIFF_HOST] = "self"};
    return texts[group];
}

struct entry {
    struct diff_part *part;
    bool changed; /* side */
    bool taken;
};

struct pairing {
    struct diff_rows *rows;
    struct entry *entries;
    size_t count;
    uint64_t base_units, changed_units;
};

/* ---- orders ---- */

static int by_name(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return nl_str_order(a->name, b->name);
}

static int by_folded(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return nl_str_order(a->folded, b->folded);
}

static int by_owner(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    return nl_str_order(a->owner, b->owner);
}

static int by_place(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int by_operator(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return nl_str_order(a->owner, b->owner);
}

static int by_category(const void *left, const void *right)
{
    const struct diff_part *a = ((const struct entry *)left)->part,
                           *b = ((const struct entry *)right)->part;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->category < b->category ? -1 : a->category > b->category;
}

/* Equal parts come base first, in the order of their names, so that rows do not depend on ids. */
struct order {
    int (*compare)(const void *, const void *);
};

static int settled(const void *left, const void *right, void *context)
{
    const struct entry *a = left, *b = right;
    int order = ((const struct order *)context)->compare(a, b);
    if (!order)
        order = a->changed - b->changed;
    return order ? order : nl_str_order(a->part->name, b->part->name);
}

/* What parts of a run have in common, and what that makes of a row. */
enum key { BY_NAME, BY_SIGNATURE, BY_PLACE, BY_OPERATOR_CATEGORY, BY_OPERATOR, BY_CATEGORY };

static bool key_fits(enum key key, const struct diff_part *part)
{
    bool placed = part->category != NL_CATEGORY_UNKNOWN && part->category != NL_CATEGORY_OTHER;
    bool idle = part->group == DIFF_IDLE;
    switch (key) {
    case BY_NAME: return true;
    case BY_SIGNATURE: return !idle && part->folded.len > 0;
    case BY_PLACE: return !idle && part->place;
    case BY_OPERATOR_CATEGORY:
    case BY_OPERATOR: return !idle && part->owner.len > 0;
    case BY_CATEGORY: return !idle && placed;
    }
    return false;
}

/* ---- rows ---- */

/* round half away from zero of a × b / (2 c), c > 0 */
static int64_t half_product(wide_int a, int64_t b, wide_int c)
{
    wide_int product = a * b, size = product < 0 ? -product : product;
    wide_int half = (size + c) / (2 * c);
    return (int64_t)(product < 0 ? -half : half);
}

static void split(const struct pairing *pairing, struct diff_row *row)
{
    int64_t change = row->changed_ns - row->base_ns;
    uint64_t a = row->base_count, b = row->changed_count;
    row->by_count = row->by_time = NL_NULL_I64;
    if (row->group == DIFF_IDLE) /* one long wait is no more calls and no slower ones than two */
        return;
    if (a == NL_NULL_U64 || b == NL_NULL_U64)
        return;
    if (!a || !b) {         /* what is on one side only has none on the other */
        bool none = a == b; /* neither began any in the time compared */
        row->by_count = none ? 0 : change;
        row->by_time = none ? change : 0;
        return;
    }
    /* calls per unit: b / Ub - a / Ua = more / (Ua Ub) */
    wide_int more = (wide_int)b * pairing->base_units - (wide_int)a * pairing->changed_units;
    row->by_count = half_product(more, row->base_ns, (wide_int)a * pairing->changed_units) +
                    half_product(more, row->changed_ns, (wide_int)b * pairing->base_units);
    row->by_time = change - row->by_count;
}

/* Several are named together: by what they fold to, or one after another. */
static struct nl_str joined(struct pairing *pairing, const struct entry *entries, size_t count,
                            enum key key)
{
    struct nl_arena *arena = &pairing->rows->arena;
    const char *text = NULL;
    if (count == 1)
        return entries[0].part->name;
    if (key == BY_SIGNATURE)
        return entries[0].part->folded;
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        struct nl_str name = entries[i].part->name;
        text = nl_arena_format(arena, "%s%s%.*s", text ? text : "", text ? " + " : "",
                               (int)name.len, name.ptr);
    }
    if (count > NAMES_SHOWN)
        text = nl_arena_format(arena, "%s + %zu more", text, count - NAMES_SHOWN);
    return nl_str(text);
}

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    return a == NL_NULL_U64 || b == NL_NULL_U64 ? NL_NULL_U64 : a + b;
}

/* One for one, as often, and each call about as long: another name for the same. */
static bool is_renamed(const struct pairing *pairing, const struct diff_row *row)
{
    double a = diff_call_ns(row->base_gross, row->base_count);
    double b = diff_call_ns(row->changed_gross, row->changed_count);
    if (row->base_parts != 1 || row->changed_parts != 1)
        return false;
    wide_int more = (wide_int)row->base_count * pairing->changed_units;
    return more == (wide_int)row->changed_count * pairing->base_units &&
           row->base_count != NL_NULL_U64 && !isnan(a) && !isnan(b) &&
           fabs(log(b / a)) < RENAMED_APART;
}

static enum diff_match match_of(const struct pairing *pairing, const struct diff_row *row,
                                enum key key)
{
    if (!row->base_parts || !row->changed_parts)
        return row->base_parts ? DIFF_REMOVED : DIFF_ADDED;
    if (key <= BY_SIGNATURE)
        return key == BY_NAME ? DIFF_SAME : DIFF_RENAMED;
    if (is_renamed(pairing, row))
        return DIFF_RENAMED;
    if (key == BY_CATEGORY)
        return DIFF_REPLACED_CATEGORY;
    if (row->changed_parts == 1)
        return row->base_parts > 1 ? DIFF_FUSED : DIFF_REPLACED;
    return row->base_parts == 1 ? DIFF_SPLIT : DIFF_REPLACED;
}

/* A run of equal keys: `base` of one side, then the rest. */
static void add_paired_row(struct pairing *pairing, struct entry *run, size_t base, size_t count,
                           enum key key)
{
    struct diff_rows *rows = pairing->rows;
    struct diff_row row = {.group = run[0].part->group,
                           .owner = run[0].part->owner,
                           .category = run[0].part->category,
                           .base_parts = base,
                           .changed_parts = count - base,
                           .low = NAN,
                           .high = NAN,
                           .p = NAN};
    if (base)
        row.base = joined(pairing, run, base, key);
    if (count > base)
        row.changed = joined(pairing, run + base, count - base, key);
    for (size_t i = 0; i < count; i++) {
        struct diff_part *part = run[i].part;
        int64_t *blocks = i < base ? row.base_blocks : row.changed_blocks;
        int64_t *gross = i < base ? &row.base_gross : &row.changed_gross;
        int64_t *mean = i < base ? &row.base_ns : &row.changed_ns;
        *mean = diff_sum(*mean, part->mean);
        *gross = diff_sum(*gross, part->gross);
        for (size_t k = 0; k < DIFF_BLOCKS; k++)
            blocks[k] = diff_sum(blocks[k], part->blocks[k]);
        uint64_t *sum = i < base ? &row.base_count : &row.changed_count;
        *sum = add_counts(*sum, part->count);
        run[i].taken = true;
        part->row = (uint32_t)rows->count + 1;
    }
    split(pairing, &row);
    row.match = match_of(pairing, &row, key);
    nl_grow(&rows->items, &rows->cap, rows->count + 1);
    rows->items[rows->count++] = row;
}

static void drop_taken(struct pairing *pairing)
{
    size_t kept = 0;
    for (size_t i = 0; i < pairing->count; i++)
        if (!pairing->entries[i].taken)
            pairing->entries[kept++] = pairing->entries[i];
    pairing->count = kept;
}

static void pair_by(struct pairing *pairing, enum key key,
                    int (*compare)(const void *, const void *))
{
    struct order order = {compare};
    struct entry *entries = pairing->entries;
    qsort_r(entries, pairing->count, sizeof *entries, settled, &order);
    for (size_t i = 0, next; i < pairing->count; i = next) {
        size_t base = 0;
        for (next = i; next < pairing->count && !compare(&entries[i], &entries[next]); next++)
            base += !entries[next].changed;
        if (key_fits(key, entries[i].part) && base && base < next - i)
            add_paired_row(pairing, entries + i, base, next - i, key);
    }
    drop_taken(pairing);
}

static bool is_left(const struct pairing *pairing)
{
    bool base = false, changed = false;
    for (size_t i = 0; i < pairing->count; i++) {
        base |= !pairing->entries[i].changed;
        changed |= pairing->entries[i].changed;
    }
    return base && changed;
}

static int by_change(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    int64_t x = llabs(a->changed_ns - a->base_ns), y = llabs(b->changed_ns - b->base_ns);
    if (x != y)
        return x > y ? -1 : 1;
    x = a->changed_ns + a->base_ns;
    y = b->changed_ns + b->base_ns;
    if (x != y)
        return x > y ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    int order = nl_str_order(a->base, b->base);
    return order ? order : nl_str_order(a->changed, b->changed);
}

/* ---- places ---- */

/* Between which rows the parts left over stand first in the order of launches. */
static void find_places(struct diff_parts *parts)
{
    uint32_t next = 0;
    uint32_t *after = nl_alloc((parts->order_count + 1) * sizeof *after);
    for (size_t i = parts->order_count; i-- > 0;) {
        uint32_t row = parts->items[parts->order[i]].row;
        next = row ? row : next;
        after[i] = next;
    }
    uint32_t before = 0;
    for (size_t i = 0; i < parts->order_count; i++) {
        struct diff_part *part = &parts->items[parts->order[i]];
        if (part->row)
            before = part->row;
        else if (!part->place && (before || after[i]))
            part->place = (uint64_t)before << 32 | after[i];
    }
    nl_free(after);
}

static void add_entries(struct pairing *pairing, struct diff_parts *parts, bool changed)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct diff_part *part = &parts->items[i];
        part->place = part->row = 0; /* of another pairing */
        pairing->entries[pairing->count++] = (struct entry){.part = part, .changed = changed};
    }
}

void diff_pair(struct diff_rows *rows, struct diff_side *base_side, struct diff_parts *base,
               struct diff_side *changed_side, struct diff_parts *changed, bool own)
{
    struct pairing pairing = {
        .rows = rows, .base_units = base_side->units, .changed_units = changed_side->units};
    pairing.entries = nl_alloc((base->count + changed->count + 1) * sizeof *pairing.entries);
    add_entries(&pairing, base, false);
    add_entries(&pairing, changed, true);
    pair_by(&pairing, BY_NAME, by_name);
    pair_by(&pairing, BY_SIGNATURE, by_folded);
    if (own && is_left(&pairing)) {
        diff_parts_own(base, base_side);
        diff_parts_own(changed, changed_side);
        find_places(base);
        find_places(changed);
    }
    pair_by(&pairing, BY_PLACE, by_place);
    pair_by(&pairing, BY_OPERATOR_CATEGORY, by_owner);
    pair_by(&pairing, BY_OPERATOR, by_operator);
    pair_by(&pairing, BY_CATEGORY, by_category);
    for (size_t i = 0; i < pairing.count; i++)
        add_paired_row(&pairing, &pairing.entries[i], !pairing.entries[i].changed, 1, BY_NAME);
    nl_free(pairing.entries);
    if (rows->count)
        qsort(rows->items, rows->count, sizeof *rows->items, by_change);
}
