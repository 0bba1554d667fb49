/*
 * calltree — gputime by path. A node is a name below a node; nodes are numbered through a table of
 * (parent, name) pairs, parents before children, so inclusive times are one walk backwards.
 */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/calltree.h"
#include "tables/gputime.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sum.h"

#define FIRST_SLOTS  1024
#define SHOWN_LEVELS 16    /* of a deeper path the first and last eight */
#define EYES_LEVELS  2     /* for eyes the last two */
#define MAX_PATHS    10000 /* rows; the others are one row together */

struct node {
    uint64_t count, works;
    int64_t cpu_ns, self_ns, gpu_ns;
    uint32_t parent, name, depth, number; /* number: its row of the answer, 0 = none */
    uint32_t outer;     /* the innermost of the outermost levels that paths show */
    uint64_t hash;      /* of the path: an order that events do not decide */
    struct nl_str text; /* its name */
};

struct forest {
    struct nl_gputime gpu;
    struct nl_fold fold;
    struct node *nodes; /* 0 is above all */
    size_t cap;
    uint32_t count;
    struct nl_lookup children; /* nodes by (parent, name) */
    struct node unowned[NL_UNOWNED];
    uint32_t head, tail; /* levels of a path that are shown: outermost and innermost */
};

static uint64_t child_key(uint32_t parent, uint32_t name)
{
    return (uint64_t)parent << 32 | name;
}

static uint32_t node_below(struct forest *forest, uint32_t parent, uint32_t name)
{
    uint64_t hash = nl_hash_number(child_key(parent, name));
    uint32_t found = NL_LOOKUP(&forest->children, hash, i,
                               forest->nodes[i].parent == parent && forest->nodes[i].name == name);
    if (found != NL_NO_ROW)
        return found;
    nl_grow(&forest->nodes, &forest->cap, (size_t)forest->count + 1);
    uint32_t depth = parent ? forest->nodes[parent].depth + 1 : 0;
    forest->nodes[forest->count] =
        (struct node){.parent = parent,
                      .name = name,
                      .depth = depth,
                      .outer = depth < forest->head ? forest->count : forest->nodes[parent].outer};
    nl_lookup_add(&forest->children, hash, forest->count);
    return forest->count++;
}

/* Makes the nodes; returns the node of every range. */
static uint32_t *plant(struct forest *forest)
{
    const struct nl_rangetree *tree = forest->gpu.tree;
    uint32_t *place = nl_alloc(((size_t)tree->count + 1) * sizeof *place);
    nl_grow(&forest->nodes, &forest->cap, 1);
    forest->nodes[0] = (struct node){0};
    forest->count = 1;
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t parent = tree->parents[range], slice = tree->slices[range];
        uint32_t name = nl_fold_id(&forest->fold, forest->gpu.trace->slice.name[slice]);
        int64_t length = nl_scope_length(&forest->gpu.host, slice);
        place[range] = node_below(forest, parent == NL_NULL_ROW ? 0 : place[parent], name);
        if (length < 0)
            continue;
        forest->nodes[place[range]].count++;
        nl_sum_add(&forest->nodes[place[range]].cpu_ns, length);
    }
    return place;
}

static int64_t add_work(struct forest *forest, const uint32_t *place)
{
    const struct nl_gputime *gpu = &forest->gpu;
    int64_t whole = 0;
    for (uint32_t work = 0; work < gpu->owners->count; work++) {
        int64_t length = nl_scope_length(&gpu->device, gpu->owners->work[work]);
        uint32_t range = gpu->owner[work];
        if (length < 0)
            continue;
        struct node *node = range == NL_NULL_ROW ? &forest->unowned[nl_gputime_unowned(gpu, work)]
                                                 : &forest->nodes[place[range]];
        node->works++;
        nl_sum_add(&node->self_ns, length);
        nl_sum_add(&node->gpu_ns, length);
        nl_sum_add(&whole, length);
    }
    for (uint32_t id = forest->count; id-- > 1;) {
        const struct node *node = &forest->nodes[id];
        nl_sum_add(&forest->nodes[node->parent].gpu_ns, node->gpu_ns);
        forest->nodes[node->parent].works += node->works;
    }
    return whole;
}

/* "outer > inner > innermost"; of a path with too many levels the outermost and the innermost. The
 * levels between them are jumped over: a path costs what it shows, however deep the node is. */
static struct nl_str path_of(const struct forest *forest, const struct node *node,
                             struct nl_buf *text, struct nl_arena *arena)
{
    uint32_t names[SHOWN_LEVELS], levels = 0;
    bool all = node->depth < forest->head + forest->tail;
    const struct node *at = node;
    for (; levels < forest->tail; at = &forest->nodes[at->parent]) {
        names[levels++] = at->name;
        if (!at->parent)
            break;
    }
    if (levels == forest->tail && node->depth >= forest->tail && forest->head > 0) {
        for (at = all ? at : &forest->nodes[at->outer];; at = &forest->nodes[at->parent]) {
            names[levels++] = at->name;
            if (!at->parent)
                break;
        }
    }
    nl_buf_clear(text);
    for (uint32_t i = levels; i-- > 0;) {
        struct nl_str name = nl_dict_text(&forest->fold.texts, names[i]);
        bool gap = !all && i + 1 == forest->tail;
        nl_buf_text(text, i + 1 == levels ? "" : " > ");
        nl_buf_text(text, gap ? "… > " : "");
        nl_buf_add(text, name.ptr, name.len);
    }
    return (struct nl_str){nl_arena_text(arena, text->len ? text->ptr : "", text->len), text->len};
}

static int by_time(const void *left, const void *right)
{
    const struct node *a = *(const struct node *const *)left;
    const struct node *b = *(const struct node *const *)right;
    if (a->gpu_ns != b->gpu_ns)
        return a->gpu_ns > b->gpu_ns ? -1 : 1;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns > b->cpu_ns ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    int order = nl_str_order(a->text, b->text);
    return order ? order : (a->hash > b->hash) - (a->hash < b->hash);
}

#define COLUMNS(C)                                                                                 \
    C(path, NULL, TEXT)                                                                            \
    C(gpu_ns, "GPU total", NS)                                                                     \
    C(share, NULL, SHARE)                                                                          \
    C(gpu_self_ns, "GPU self", NS)                                                                 \
    C(gpu_ops, "GPU ops", COUNT)                                                                   \
    C(count, NULL, COUNT)                                                                          \
    C(cpu_ns, "CPU total", NS)                                                                     \
    C(depth, NULL, INTEGER)                                                                        \
    C(id, NULL, INTEGER)                                                                           \
    C(parent, NULL, INTEGER)
NL_COLUMNS(COLUMNS);

static struct nl_cell *calltree_add_row(struct nl_result *result, const struct node *node,
                                        int64_t whole)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_gpu_ns] = nl_cell_i64(node->gpu_ns);
    cells[AT_share] = nl_cell_share(node->gpu_ns, whole);
    cells[AT_gpu_self_ns] = nl_cell_i64(node->self_ns);
    cells[AT_gpu_ops] = nl_cell_count(node->works);
    cells[AT_depth] = nl_cell_i64(node->depth);
    cells[AT_id] = nl_cell_i64((int64_t)result->rows);
    return cells;
}

/* Hashes and names, once no more names are folded. */
static void describe_nodes(struct forest *forest)
{
    for (uint32_t id = 1; id < forest->count; id++) {
        struct node *node = &forest->nodes[id];
        node->text = nl_dict_text(&forest->fold.texts, node->name);
        const uint64_t pair[2] = {forest->nodes[node->parent].hash,
                                  nl_hash(node->text.ptr, node->text.len)};
        node->hash = nl_hash(pair, sizeof pair);
    }
}

static bool has_something(const struct node *node)
{
    return node->count || node->works;
}

/* The nodes in the order of the answer, in which a parent precedes its children. */
static struct node **order_nodes(struct forest *forest, size_t *count)
{
    struct node **order = nl_alloc((size_t)forest->count * sizeof *order);
    *count = 0;
    describe_nodes(forest);
    for (uint32_t id = 1; id < forest->count; id++)
        if (has_something(&forest->nodes[id]))
            order[(*count)++] = &forest->nodes[id];
    qsort(order, *count, sizeof *order, by_time);
    for (size_t i = 0; i < *count && i < MAX_PATHS; i++)
        order[i]->number = (uint32_t)i + 1;
    return order;
}

/* What the paths without a row have, as one: of each the outermost, which holds the others. */
static struct node sum_rest(const struct forest *forest, struct node *const *order, size_t count)
{
    struct node rest = {0};
    for (size_t i = MAX_PATHS; i < count; i++) {
        if (order[i]->parent && !forest->nodes[order[i]->parent].number)
            continue;
        rest.works += order[i]->works;
        nl_sum_add(&rest.gpu_ns, order[i]->gpu_ns);
        nl_sum_add(&rest.self_ns, order[i]->gpu_ns);
    }
    return rest;
}

static void add_nodes(struct nl_result *result, struct forest *forest, int64_t whole)
{
    size_t count = 0;
    struct node **order = order_nodes(forest, &count);
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 26);
    for (size_t i = 0; i < count && i < MAX_PATHS; i++) {
        struct nl_cell *cells = calltree_add_row(result, order[i], whole);
        uint32_t parent = forest->nodes[order[i]->parent].number;
        if (parent)
            cells[AT_parent] = nl_cell_i64(parent);
        cells[AT_path].type = NL_CELL_TEXT;
        cells[AT_path].text = path_of(forest, order[i], &text, &result->arena);
        cells[AT_count] = nl_cell_count(order[i]->count);
        cells[AT_cpu_ns] = nl_cell_i64(order[i]->cpu_ns);
    }
    if (count > MAX_PATHS) {
        struct node rest = sum_rest(forest, order, count);
        calltree_add_row(result, &rest, whole)[AT_path] = nl_cell_static("[paths with less]");
    }
    nl_buf_release(&text);
    nl_free(order);
}

static struct nl_result *make_table(struct forest *forest, int64_t whole)
{
    struct nl_result *result = NL_ANSWER_NEW("gpu_by_path", NULL, columns);
    add_nodes(result, forest, whole);
    for (unsigned i = 0; i < NL_UNOWNED; i++)
        if (forest->unowned[i].works)
            calltree_add_row(result, &forest->unowned[i], whole)[AT_path] =
                nl_cell_static(nl_gputime_unowned_name((enum nl_unowned)i));
    result->note = nl_fold_note(&forest->fold, &result->arena);
    return result;
}

/* Without any device work in the recording, device times are not 0 but unknown. */
static void forget_device_times(struct nl_result *result, const struct nl_trace *trace)
{
    static const unsigned device_cells[] = {AT_gpu_ns, AT_share, AT_gpu_self_ns, AT_gpu_ops};
    if (nl_has_device_work(trace))
        return;
    for (size_t row = 0; row < result->rows; row++)
        for (size_t i = 0; i < sizeof device_cells / sizeof device_cells[0]; i++)
            result->cells[row * result->column_count + device_cells[i]].type = NL_CELL_NULL;
}

struct nl_result *nl_gputime_by_path(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, enum nl_kind kind)
{
    struct forest forest = {.head = options->fold ? 0 : SHOWN_LEVELS / 2,
                            .tail = options->fold ? EYES_LEVELS : SHOWN_LEVELS / 2};
    if (!nl_rangetree_any(trace, kind))
        return NL_ANSWER_NEW("gpu_by_path", NULL, columns);
    nl_gputime_init(&forest.gpu, trace, options, kind);
    nl_fold_init(&forest.fold, trace, options->fold ? NL_FOLD_EYES : NL_FOLD_INSTANCES);
    uint32_t *place = plant(&forest);
    int64_t whole = add_work(&forest, place);
    struct nl_result *result = make_table(&forest, whole);
    forget_device_times(result, trace);
    nl_free(place);
    nl_free(forest.nodes);
    nl_lookup_release(&forest.children);
    nl_fold_release(&forest.fold);
    nl_gputime_release(&forest.gpu);
    return result;
}
