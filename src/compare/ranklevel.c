/*
 * Who is fastest in which operator, module or range. Parts of a candidate are paired with the
 * fastest one's as a diff pairs them (compare/diffpair.h); parts that stand in one row of any of
 * these pairings, or have one name, are one row here. Intervals are those of captures, or of
 * stretches of the steps of one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "compare/diffinner.h"
#include "compare/diffpair.h"
#include "compare/moments.h"
#include "compare/rankinner.h"
#include "tables/resultcells.h"
#include "tables/shortname.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"

#define MAX_JOINED 6 /* parts of two candidates, where both have several: more is no pair */

static const struct {
    const char *name, *title;
    enum diff_lens lens, inside; /* DIFF_LENSES: nothing is inside */
} levels[RANK_LEVELS] = {
    [RANK_TYPES] = {"types", "By kind of node or layer, the largest lead first", DIFF_LENSES,
                    DIFF_LENSES},
    [RANK_OPERATORS] = {"operators", "Where they differ, the largest lead first", DIFF_BY_OPERATOR,
                        DIFF_IN_OPERATOR},
    [RANK_MODULES] = {"modules", "By module that launched the work", DIFF_BY_MODULE,
                      DIFF_IN_MODULE},
    [RANK_RANGES] = {"ranges", "By range that launched the work", DIFF_BY_RANGE, DIFF_IN_RANGE},
    [RANK_KERNELS] = {"kernels", "By kernel", DIFF_BY_NAME, DIFF_LENSES},
};

/* ---- parts of all candidates as one list ---- */

struct node {
    struct diff_part *part;
    size_t candidate, at; /* of its parts */
    size_t up;            /* towards the one that stands for all of its row */
};

struct nodes {
    struct node *items;
    size_t count;
    size_t first[NL_MAX_RANK + 1]; /* of each candidate */
};

static size_t top_of(struct nodes *nodes, size_t i)
{
    while (nodes->items[i].up != i) {
        nodes->items[i].up = nodes->items[nodes->items[i].up].up;
        i = nodes->items[i].up;
    }
    return i;
}

static void join_nodes(struct nodes *nodes, size_t a, size_t b)
{
    a = top_of(nodes, a);
    b = top_of(nodes, b);
    nodes->items[a > b ? a : b].up = a > b ? b : a;
}

static void list_nodes(struct nodes *nodes, struct rank_level *level, size_t candidates)
{
    size_t all = 0;
    for (size_t i = 0; i < candidates; i++)
        all += level->parts[i].count;
    nodes->items = nl_alloc((all + 1) * sizeof *nodes->items);
    nodes->count = 0;
    for (size_t i = 0; i < candidates; i++) {
        nodes->first[i] = nodes->count;
        for (size_t k = 0; k < level->parts[i].count; k++) {
            nodes->items[nodes->count] =
                (struct node){&level->parts[i].items[k], i, k, nodes->count};
            nodes->count++;
        }
    }
    nodes->first[candidates] = nodes->count;
}

/* A row that joins several parts of both sides, more than MAX_JOINED in all, is too vague:
 * each part keeps its own row. */
static bool *rows_too_wide(const struct nodes *nodes, size_t base, size_t other, size_t rows)
{
    bool *wide = nl_zalloc((rows + 1) * sizeof *wide);
    uint32_t *counts = nl_zalloc((rows + 1) * 2 * sizeof *counts);
    size_t sides[2] = {base, other};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = nodes->first[sides[side]]; i < nodes->first[sides[side] + 1]; i++)
            counts[2 * nodes->items[i].part->row + side]++;
    for (size_t i = 0; i <= rows; i++)
        wide[i] = counts[2 * i] > 1 && counts[2 * i + 1] > 1 &&
                  counts[2 * i] + counts[2 * i + 1] > MAX_JOINED;
    nl_free(counts);
    return wide;
}

/* Joins what a pairing put into one row. */
static void join_paired(struct nodes *nodes, size_t base, size_t other, size_t rows)
{
    size_t *first = nl_alloc((rows + 1) * sizeof *first);
    size_t sides[2] = {base, other};
    bool *wide = rows_too_wide(nodes, base, other, rows);
    for (size_t i = 0; i <= rows; i++)
        first[i] = SIZE_MAX;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = nodes->first[sides[side]]; i < nodes->first[sides[side] + 1]; i++) {
            uint32_t row = nodes->items[i].part->row;
            if (wide[row])
                continue;
            if (first[row] == SIZE_MAX)
                first[row] = i;
            else
                join_nodes(nodes, first[row], i);
        }
    nl_free(wide);
    nl_free(first);
}

static int by_key(const void *left, const void *right)
{
    const struct node *const *a = left, *const *b = right;
    if ((*a)->part->group != (*b)->part->group)
        return (*a)->part->group < (*b)->part->group ? -1 : 1;
    int order = (*a)->part->nobody - (*b)->part->nobody;
    return order ? order : nl_str_order((*a)->part->name, (*b)->part->name);
}

static void join_named(struct nodes *nodes)
{
    struct node **order = nl_alloc((nodes->count + 1) * sizeof *order);
    for (size_t i = 0; i < nodes->count; i++)
        order[i] = &nodes->items[i];
    if (nodes->count)
        qsort(order, nodes->count, sizeof *order, by_key);
    for (size_t i = 1; i < nodes->count; i++)
        if (!by_key(&order[i - 1], &order[i]))
            join_nodes(nodes, (size_t)(order[i - 1] - nodes->items),
                       (size_t)(order[i] - nodes->items));
    nl_free(order);
}

static void pair_all(struct nodes *nodes, struct ranking *r, struct rank_level *level, bool own)
{
    size_t base = (size_t)(r->order[0] - r->items);
    for (size_t i = 0; i < r->count; i++) {
        struct diff_rows rows = {0};
        if (i == base)
            continue;
        diff_pair(&rows, &r->items[base].side, &level->parts[base], &r->items[i].side,
                  &level->parts[i], own);
        join_paired(nodes, base, i, rows.count);
        diff_rows_release(&rows);
    }
    join_named(nodes);
}

/* ---- rows ---- */

static void add_node(struct rank_row *row, const struct node *node)
{
    int64_t *time = &row->times[node->candidate];
    *time = *time == NL_NULL_I64 ? node->part->mean : diff_sum(*time, node->part->mean);
    for (size_t k = 0; k < DIFF_BLOCKS; k++)
        row->blocks[node->candidate][k] =
            diff_sum(row->blocks[node->candidate][k], node->part->blocks[k]);
}

/* Named as the fastest candidate that has it does: after its largest part. */
static void name_row(struct ranking *r, const struct nodes *nodes, struct rank_row *row,
                     const size_t *members, size_t count)
{
    for (size_t place = 0; place < r->count && !row->name.ptr; place++) {
        const struct diff_part *largest = NULL;
        size_t several = 0;
        for (size_t i = 0; i < count; i++) {
            const struct node *node = &nodes->items[members[i]];
            if (r->items[node->candidate].place != place)
                continue;
            several += !largest || !nl_str_eq(largest->name, node->part->name);
            if (!largest || node->part->mean > largest->mean)
                largest = node->part;
        }
        if (!largest)
            continue;
        row->group = largest->group;
        row->name = largest->name;
        struct nl_arena *arena = &r->report->arena;
        if (several > 1)
            row->name = nl_str(nl_arena_format(arena, "%.*s + %zu more", (int)row->name.len,
                                               row->name.ptr, several - 1));
    }
}

/* Within its noise as fast as the fastest. */
static bool is_row_tie(const struct ranking *r, const struct rank_row *row, size_t candidate)
{
    double low = rank_row_apart(r, row, row->fastest, candidate).low;
    return isnan(low) ? row->times[candidate] == row->times[row->fastest] : !(low > 0);
}

static void find_lead(struct ranking *r, struct rank_row *row)
{
    row->fastest = row->slowest = SIZE_MAX;
    for (size_t place = 0; place < r->count;
         place++) { /* of equals the one that is faster in all */
        size_t i = (size_t)(r->order[place] - r->items);
        if (row->times[i] == NL_NULL_I64)
            continue;
        if (row->fastest == SIZE_MAX || row->times[i] < row->times[row->fastest])
            row->fastest = i;
        if (row->slowest == SIZE_MAX || row->times[i] > row->times[row->slowest])
            row->slowest = i;
    }
    row->lead = row->times[row->slowest] - row->times[row->fastest];
    row->alone = r->count > 1;
    for (size_t i = 0; i < r->count; i++)
        row->alone &= i == row->fastest || row->times[i] == NL_NULL_I64;
    for (size_t i = 0; i < r->count; i++)
        if (i != row->fastest && row->times[i] != NL_NULL_I64)
            row->tie |= is_row_tie(r, row, i);
}

/* What one candidate alone has weighs all of its time. */
static int64_t weight_of(const struct rank_row *row)
{
    return row->alone ? row->times[row->fastest] : row->lead;
}

static int by_lead(const void *left, const void *right)
{
    const struct rank_row *a = left, *b = right;
    if (weight_of(a) != weight_of(b))
        return weight_of(a) > weight_of(b) ? -1 : 1;
    int order = nl_str_order(a->name, b->name);
    return order ? order : (int)a->group - (int)b->group;
}

struct member {
    size_t top, node;
};

static int by_top(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->top != b->top)
        return a->top < b->top ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void add_level_row(struct ranking *r, const struct nodes *nodes, struct rank_level *level,
                          const size_t *members, size_t count)
{
    struct rank_row *row = &level->rows[level->count];
    *row = (struct rank_row){.id = (uint32_t)level->count};
    level->count++;
    for (size_t n = 0; n < r->count; n++)
        row->times[n] = NL_NULL_I64;
    for (size_t i = 0; i < count; i++) {
        const struct node *node = &nodes->items[members[i]];
        add_node(row, node);
        level->row_of[node->candidate][node->at] = row->id;
    }
    name_row(r, nodes, row, members, count);
    find_lead(r, row);
}

static void make_rows(struct ranking *r, struct nodes *nodes, struct rank_level *level)
{
    struct member *order = nl_alloc((nodes->count + 1) * sizeof *order);
    size_t *members = nl_alloc((nodes->count + 1) * sizeof *members);
    level->rows = nl_alloc((nodes->count + 1) * sizeof *level->rows);
    for (size_t i = 0; i < r->count; i++)
        level->row_of[i] = nl_zalloc((level->parts[i].count + 1) * sizeof *level->row_of[i]);
    for (size_t i = 0; i < nodes->count; i++)
        order[i] = (struct member){top_of(nodes, i), i};
    if (nodes->count)
        qsort(order, nodes->count, sizeof *order, by_top);
    for (size_t i = 0, next; i < nodes->count; i = next) {
        for (next = i; next < nodes->count && order[next].top == order[i].top; next++)
            members[next - i] = order[next].node;
        add_level_row(r, nodes, level, members, next - i);
    }
    if (level->count)
        qsort(level->rows, level->count, sizeof *level->rows, by_lead);
    nl_free(members);
    nl_free(order);
}

/* ---- intervals ---- */

/* Standard error of the mean; NaN of one value. */
static double error_of(const double *values, size_t count, double mean)
{
    double variance = count > 1 ? nl_sample_variance(values, count, mean) : NAN;
    return sqrt(variance / (double)count);
}

/* One value a capture; of the stretches of one capture their mean, with the error that
 * they show. Returns how many. */
static size_t values_of(const struct rank_candidate *c, const int64_t blocks[DIFF_BLOCKS],
                        struct nl_value values[DIFF_BLOCKS])
{
    size_t count = 0, none = 0;
    double means[DIFF_BLOCKS], logs[DIFF_BLOCKS];
    for (size_t i = 0; i < c->side.blocks.count; i++) {
        means[i] =
            c->side.blocks.units[i] ? (double)blocks[i] / (double)c->side.blocks.units[i] : 0;
        none += !(means[i] > 0);
        if (means[i] > 0) {
            logs[count] = log(means[i]);
            values[count] = (struct nl_value){logs[count], 0};
            count++;
        }
    }
    if (none && count) { /* which has no logarithm: that of the mean, and its own error */
        double mean = nl_sample_mean(means, c->side.blocks.count);
        double error = error_of(means, c->side.blocks.count, mean);
        values[0] = (struct nl_value){log(mean), error / mean};
        return 1;
    }
    if (c->side.captures || count < 2)
        return count;
    double mean = nl_sample_mean(logs, count);
    values[0] = (struct nl_value){mean, error_of(logs, count, mean)};
    return 1;
}

struct nl_apart rank_row_apart(const struct ranking *r, const struct rank_row *row, size_t from,
                               size_t to)
{
    struct nl_value a[DIFF_BLOCKS], b[DIFF_BLOCKS];
    const struct rank_candidate *first = &r->items[from], *second = &r->items[to];
    size_t n = values_of(first, row->blocks[from], a), m = values_of(second, row->blocks[to], b);
    if (!n && row->times[from] > 0)
        a[n++] = (struct nl_value){log((double)row->times[from]), 0};
    if (!m && row->times[to] > 0)
        b[m++] = (struct nl_value){log((double)row->times[to]), 0};
    return nl_apart_of(a, n, b, m, &first->noise);
}

/* ---- all levels ---- */

static bool make_parts(struct ranking *r, struct rank_level *level, enum diff_lens lens)
{
    bool made = r->unit <= DIFF_BY_WORK;
    for (size_t i = 0; i < r->count && made; i++)
        made = diff_parts_make(&level->parts[i], &r->items[i].side, lens);
    for (size_t i = 0; i < r->count && !made; i++) {
        diff_parts_release(&level->parts[i]);
        level->parts[i] = (struct diff_parts){0};
    }
    return made;
}

static int by_owner(const void *left, const void *right)
{
    const struct diff_part *const *a = left, *const *b = right;
    return nl_str_order((*a)->owner, (*b)->owner);
}

/* Parts of one kind of node (Conv, MatMul, …) added up. */
static void add_types(struct diff_parts *out, const struct diff_parts *parts)
{
    const struct diff_part **order = nl_alloc((parts->count + 1) * sizeof *order);
    struct diff_part *type = NULL;
    for (size_t i = 0; i < parts->count; i++)
        order[i] = &parts->items[i];
    if (parts->count)
        qsort(order, parts->count, sizeof *order, by_owner);
    for (size_t i = 0; i < parts->count; i++) {
        if (!i || by_owner(&order[i - 1], &order[i])) {
            type = diff_part_add(out, order[i]->group, order[i]->owner);
            if (!type->name.len)
                type->name = nl_str("(no type)");
        }
        type->mean = diff_sum(type->mean, order[i]->mean);
        for (size_t k = 0; k < DIFF_BLOCKS; k++)
            type->blocks[k] = diff_sum(type->blocks[k], order[i]->blocks[k]);
    }
    nl_free(order);
}

static bool have_types(const struct rank_candidate *c)
{
    for (size_t i = 0; i < c->parts.count; i++)
        if (c->parts.items[i].owner.len)
            return true;
    return false;
}

static bool make_types(struct ranking *r, struct rank_level *level)
{
    bool made = r->unit == DIFF_BY_HOST || r->unit == DIFF_BY_LAYER;
    for (size_t i = 0; i < r->count && made; i++)
        made = have_types(&r->items[i]);
    for (size_t i = 0; i < r->count && made; i++)
        add_types(&level->parts[i], &r->items[i].parts);
    return made;
}

const struct rank_level *rank_telling_level(const struct ranking *r)
{
    return &r->levels[r->levels[RANK_TYPES].count ? RANK_TYPES : RANK_OPERATORS];
}

/* Moves the candidates' parts into the level, which frees them: RANK_TYPES must have
 * been made of them before. */
static void move_parts(struct ranking *r, struct rank_level *level)
{
    for (size_t i = 0; i < r->count; i++) {
        level->parts[i] = r->items[i].parts;
        r->items[i].parts = (struct diff_parts){0};
    }
}

/* False: not all candidates have what the level is about. */
static bool make_level(struct ranking *r, size_t at)
{
    switch (at) {
    case RANK_TYPES: return make_types(r, &r->levels[at]);
    case RANK_KERNELS: return false; /* of the candidates' own parts */
    default: return make_parts(r, &r->levels[at], levels[at].lens);
    }
}

/* Pairs the parts of the level, which are there. `own`: they are the
 * candidates' own ones, by name. */
static void fill_level(struct ranking *r, size_t at, bool own)
{
    struct rank_level *level = &r->levels[at];
    struct nodes nodes = {0};
    list_nodes(&nodes, level, r->count);
    pair_all(&nodes, r, level, own && r->unit <= DIFF_BY_WORK);
    make_rows(r, &nodes, level);
    rank_level_explain(r, level, own ? DIFF_LENSES : levels[at].inside);
    nl_free(nodes.items);
}

void rank_levels_find(struct ranking *r)
{
    /* Names that were measured are kernels, below the operators; without operators
     * they make the first table. */
    size_t own_at = RANK_OPERATORS;
    for (size_t at = 0; at < RANK_LEVELS; at++) {
        bool made = make_level(r, at);
        if (at == RANK_OPERATORS && made)
            own_at = RANK_KERNELS;
        if (at == own_at)
            move_parts(r, &r->levels[at]);
        if (made || at == own_at)
            fill_level(r, at, at == own_at);
    }
}

void rank_levels_release(struct ranking *r)
{
    for (size_t at = 0; at < RANK_LEVELS; at++) {
        for (size_t i = 0; i < r->count; i++) {
            diff_parts_release(&r->levels[at].parts[i]);
            nl_free(r->levels[at].row_of[i]);
        }
        nl_free(r->levels[at].rows);
    }
}

/* ---- tables ---- */

/* Columns before the times of the candidates. */
enum { BY_NAME, BY_FASTEST, BY_LEAD, BY_SPEEDUP, BY_BECAUSE, BY_LOW, BY_HIGH, BY_TIE, FIXED };

/* Took no time in any. */
static bool is_nothing(const struct rank_row *row)
{
    return row->times[row->slowest] == 0;
}

struct nl_result *rank_level_table(const struct ranking *r, size_t at)
{
    static const char *const names[NL_MAX_RANK] = {
        "time_1_ns", "time_2_ns", "time_3_ns", "time_4_ns",  "time_5_ns",  "time_6_ns",
        "time_7_ns", "time_8_ns", "time_9_ns", "time_10_ns", "time_11_ns", "time_12_ns"};
    static const char *const heads[NL_MAX_RANK] = {
        "1st place", "2nd place", "3rd place", "4th place",  "5th place",  "6th place",
        "7th place", "8th place", "9th place", "10th place", "11th place", "12th place"};
    struct nl_result_column columns[NL_MAX_RANK + FIXED] = {
        [BY_NAME] = {"name", NULL, NL_MEANS_TEXT},
        [BY_FASTEST] = {"fastest", NULL, NL_MEANS_TEXT},
        [BY_LEAD] = {"lead_ns", "lead", NL_MEANS_NS},
        [BY_SPEEDUP] = {"speedup", NULL, NL_MEANS_NUMBER},
        [BY_BECAUSE] = {"because", NULL, NL_MEANS_TEXT},
        [BY_LOW] = {"speedup_low", "at least", NL_MEANS_NUMBER},
        [BY_HIGH] = {"speedup_high", "at most", NL_MEANS_NUMBER},
        [BY_TIE] = {"tie", NULL, NL_MEANS_TEXT}};
    const struct rank_level *level = &r->levels[at];
    for (size_t i = 0; i < r->count; i++)
        columns[i + FIXED] = (struct nl_result_column){names[i], heads[i], NL_MEANS_NS};
    struct nl_result *result =
        nl_result_new(levels[at].name, levels[at].title, columns, r->count + FIXED);
    result->note =
        "places are those of table rank; times are of a step (or all) of a device; lead and "
        "speedup are those of the fastest over the slowest that has it";
    for (size_t i = 0; i < level->count; i++) {
        const struct rank_row *row = &level->rows[i];
        if (is_nothing(row))
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[BY_NAME] = nl_cell_text(result, row->name.len ? row->name : nl_str("(no name)"));
        if (!row->alone) {
            cells[BY_FASTEST] = nl_cell_text(result, nl_str(rank_word(&r->items[row->fastest])));
            cells[BY_LEAD] = nl_cell_i64(row->lead);
        }
        if (row->fastest != row->slowest) {
            struct nl_apart apart = rank_row_apart(r, row, row->fastest, row->slowest);
            cells[BY_SPEEDUP] = nl_cell_f64(exp(apart.shift));
            cells[BY_LOW] = nl_cell_f64(exp(apart.low));
            cells[BY_HIGH] = nl_cell_f64(exp(apart.high));
            cells[BY_TIE] = nl_cell_static(row->tie ? "yes" : "no");
        }
        cells[BY_BECAUSE] =
            row->because ? nl_cell_text(result, nl_str(row->because)) : (struct nl_cell){0};
        for (size_t n = 0; n < r->count; n++)
            cells[FIXED + r->items[n].place] = nl_cell_i64(row->times[n]);
    }
    return result;
}

#define SPEEDUP_COLUMNS(C)                                                                         \
    C(level, NULL, TEXT)                                                                           \
    C(name, NULL, TEXT)                                                                            \
    C(candidate, NULL, TEXT)                                                                       \
    C(time_ns, "time", NS)                                                                         \
    C(ratio, "of the fastest", NUMBER)                                                             \
    C(ratio_low, "at least", NUMBER)                                                               \
    C(ratio_high, "at most", NUMBER)                                                               \
    C(tie, "tie with it", TEXT)
NL_COLUMNS(SPEEDUP_COLUMNS);

static void put_speedups(struct nl_result *result, const struct ranking *r, size_t at,
                         const struct rank_row *row)
{
    for (size_t place = 0; place < r->count; place++) {
        size_t i = (size_t)(r->order[place] - r->items);
        if (row->times[i] == NL_NULL_I64)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_level] = nl_cell_static(levels[at].name);
        cells[AT_name] = nl_cell_text(result, row->name.len ? row->name : nl_str("(no name)"));
        cells[AT_candidate] = nl_cell_text(result, nl_str(rank_word(&r->items[i])));
        cells[AT_time_ns] = nl_cell_i64(row->times[i]);
        if (i == row->fastest) {
            cells[AT_ratio] = nl_cell_f64(1);
            continue;
        }
        struct nl_apart apart = rank_row_apart(r, row, row->fastest, i);
        cells[AT_ratio] = nl_cell_f64(exp(apart.shift));
        cells[AT_ratio_low] = nl_cell_f64(exp(apart.low));
        cells[AT_ratio_high] = nl_cell_f64(exp(apart.high));
        cells[AT_tie] = nl_cell_static(is_row_tie(r, row, i) ? "yes" : "no");
    }
}

struct nl_result *rank_speedups_table(const struct ranking *r)
{
    struct nl_result *result =
        NL_ANSWER_NEW("speedups", "How many times as long as the fastest of each row", columns);
    for (size_t at = 0; at < RANK_LEVELS; at++)
        for (size_t i = 0; i < r->levels[at].count; i++)
            if (!is_nothing(&r->levels[at].rows[i]))
                put_speedups(result, r, at, &r->levels[at].rows[i]);
    return result;
}
