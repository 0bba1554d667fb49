/*
 * A lane's slices are stored depth by depth, each depth in order of time, so a walk with a cursor
 * per depth visits them in order of start, outer before inner, without sorting. Lanes of one thread
 * are merged. Parents need no stack: the open ranges that can still contain anything are the last
 * range, its parent, that one's parent and so on, because a range that ends before a later one does
 * is never again the innermost.
 */
#include "timeline/rangetree.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"

uint32_t *nl_no_rows(size_t count)
{
    uint32_t *rows = nl_alloc((count + 1) * sizeof *rows);
    memset(rows, 0xff, (count + 1) * sizeof *rows);
    return rows;
}

/* ---- One lane in order of start. ---- */

struct lane_walk {
    uint32_t *next, *last, *open; /* per depth: cursor, end of its run, slice that is open */
    size_t next_cap, last_cap, open_cap;
};

/* Runs of equal depth within rows first .. end; returns their number. */
static uint32_t find_runs(const struct nl_trace *trace, struct lane_walk *walk, uint32_t first,
                          uint32_t end)
{
    const uint16_t *depth = trace->slice.depth;
    uint32_t runs = 0;
    while (first < end && depth[first] == runs) {
        uint32_t deeper = NL_FIRST(i, first + 1, end, depth[i] > runs);
        nl_grow(&walk->next, &walk->next_cap, (size_t)runs + 1);
        nl_grow(&walk->last, &walk->last_cap, (size_t)runs + 1);
        nl_grow(&walk->open, &walk->open_cap, (size_t)runs + 1);
        walk->next[runs] = first;
        walk->last[runs++] = deeper;
        first = deeper;
    }
    return runs;
}

/* Adds the lane's ranges of `kind` to the tree. */
static void walk_lane(struct nl_rangetree *tree, struct lane_walk *walk, uint32_t lane,
                      unsigned kind)
{
    const struct nl_slice_table *slice = &tree->trace->slice;
    uint32_t first = tree->trace->lane.first[lane], depth = 0;
    uint32_t runs = find_runs(tree->trace, walk, first, first + tree->trace->lane.count[lane]);
    while (runs) {
        uint32_t row =
            depth < runs && walk->next[depth] < walk->last[depth] ? walk->next[depth] : NL_NULL_ROW;
        if (row == NL_NULL_ROW || (depth && slice->parent[row] != walk->open[depth - 1])) {
            if (!depth--)
                break;
            continue;
        }
        walk->next[depth]++;
        walk->open[depth++] = row;
        bool range = slice->kind[row] == kind && slice->dur[row] != NL_NULL_I64 &&
                     !(slice->flags[row] & NL_SLICE_INSTANT);
        if (range)
            tree->slices[tree->count++] = row;
    }
}

/* ---- Several lanes of one thread. ---- */

static bool begins_before(const struct nl_slice_table *slice, uint32_t a, uint32_t b)
{
    if (slice->ts[a] != slice->ts[b])
        return slice->ts[a] < slice->ts[b];
    return slice->dur[a] > slice->dur[b];
}

static void merge(const struct nl_slice_table *slice, uint32_t *rows, size_t middle, size_t end,
                  uint32_t *scratch)
{
    size_t left = 0, right = middle, at = 0;
    memcpy(scratch, rows, middle * sizeof *rows);
    while (left < middle)
        rows[at++] = right < end && begins_before(slice, rows[right], scratch[left])
                         ? rows[right++]
                         : scratch[left++];
}

/* Merges neighbouring parts until one is left. `bounds`: starts of parts, and the end. */
static void merge_parts(const struct nl_slice_table *slice, uint32_t *rows, uint32_t *bounds,
                        size_t parts)
{
    if (parts < 2)
        return;
    uint32_t *scratch = nl_alloc(bounds[parts] * sizeof *scratch);
    while (parts > 1) {
        size_t kept = 0;
        for (size_t part = 0; part < parts; part += 2) {
            uint32_t first = bounds[part];
            uint32_t end = bounds[part + 2 < parts ? part + 2 : parts];
            if (part + 1 < parts)
                merge(slice, rows + first, bounds[part + 1] - first, end - first, scratch);
            bounds[kept++] = first;
        }
        bounds[kept] = bounds[parts];
        parts = kept;
    }
    nl_free(scratch);
}

/* Slices that overlap too many others are un-nested on the last sub-lane (store/nest.c): there a
 * walk does not meet starts in order, and the ranges are sorted after all. */
static void sort_by_start(const struct nl_slice_table *slice, uint32_t *rows, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = !begins_before(slice, rows[i], rows[i - 1]);
    if (sorted)
        return;
    struct nl_keyed *items = nl_alloc(2 * count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct nl_keyed){~nl_sort_key(slice->dur[rows[i]]), rows[i]};
    nl_sort_keyed(items, items + count, count);
    for (size_t i = 0; i < count; i++)
        items[i].key = nl_sort_key(slice->ts[items[i].row]);
    nl_sort_keyed(items, items + count, count);
    for (size_t i = 0; i < count; i++)
        rows[i] = items[i].row;
    nl_free(items);
}

/* Lanes by thread, in their order: those of thread t are lanes[first[t]] .. lanes[first[t + 1]]. */
static uint32_t *group_lanes(const struct nl_trace *trace, uint32_t *lanes)
{
    uint32_t *first = nl_zalloc(((size_t)trace->thread.rows + 2) * sizeof *first);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.thread[lane] != NL_NULL_ROW)
            first[trace->lane.thread[lane] + 2]++;
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        first[thread + 2] += first[thread + 1];
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.thread[lane] != NL_NULL_ROW)
            lanes[first[trace->lane.thread[lane] + 1]++] = lane;
    return first;
}

static bool holds_kind(const struct nl_trace *trace, uint32_t lane, unsigned kind)
{
    uint32_t count = trace->lane.count[lane];
    return count && memchr(trace->slice.kind + trace->lane.first[lane], (int)kind, count);
}

static void set_parents(struct nl_rangetree *tree, uint32_t first)
{
    const struct nl_slice_table *slice = &tree->trace->slice;
    uint32_t top = NL_NULL_ROW;
    for (uint32_t range = first; range < tree->count; range++) {
        uint32_t row = tree->slices[range];
        int64_t start = slice->ts[row], end = start + slice->dur[row];
        for (; top != NL_NULL_ROW; top = tree->parents[top]) {
            int64_t reach = nl_rangetree_end(tree, top);
            if (reach > start && reach >= end)
                break;
            tree->crossed |= reach > start;
        }
        tree->parents[range] = top;
        top = range;
    }
}

bool nl_rangetree_any(const struct nl_trace *trace, unsigned kind)
{
    uint32_t rows = trace->slice.rows, captured = trace->captured.rows;
    return (rows && memchr(trace->slice.kind, (int)kind, rows)) ||
           (captured && memchr(trace->captured.kind, (int)kind, captured));
}

static size_t count_kind(const struct nl_trace *trace, unsigned kind)
{
    size_t count = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        count += trace->slice.kind[row] == kind;
    for (uint32_t row = 0; row < trace->captured.rows; row++)
        count += trace->captured.kind[row] == kind;
    return count;
}

uint32_t nl_rangetree_captured(const struct nl_rangetree *tree, uint32_t slice)
{
    for (; slice != NL_NULL_ROW; slice = tree->trace->slice.parent[slice]) {
        uint32_t at = NL_FIRST(i, tree->captured, tree->count, tree->slices[i] >= slice);
        if (at < tree->count && tree->slices[at] == slice)
            return at;
    }
    return NL_NULL_ROW;
}

/* Outer ones have smaller slices, so a parent is there before its children. */
static void add_captured(struct nl_rangetree *tree, unsigned kind)
{
    const struct nl_captured_table *table = &tree->trace->captured;
    tree->captured = tree->count;
    for (uint32_t row = 0; row < table->rows; row++) {
        if (table->kind[row] != kind)
            continue;
        uint32_t parent = nl_rangetree_captured(tree, tree->trace->slice.parent[table->slice[row]]);
        tree->slices[tree->count] = table->slice[row];
        tree->parents[tree->count++] = parent;
    }
}

/* Adds the ranges of one thread, which are on `lanes`. `bounds` has room for count + 1. */
static void add_thread(struct nl_rangetree *tree, struct lane_walk *walk, unsigned kind,
                       const uint32_t *lanes, size_t count, uint32_t *bounds)
{
    uint32_t first = tree->count;
    size_t parts = 0;
    for (size_t i = 0; i < count; i++) {
        if (!holds_kind(tree->trace, lanes[i], kind))
            continue;
        bounds[parts++] = tree->count - first;
        walk_lane(tree, walk, lanes[i], kind);
    }
    bounds[parts] = tree->count - first;
    merge_parts(&tree->trace->slice, tree->slices + first, bounds, parts);
    sort_by_start(&tree->trace->slice, tree->slices + first, tree->count - first);
    set_parents(tree, first);
}

void nl_rangetree_init(struct nl_rangetree *tree, const struct nl_trace *trace, unsigned kind)
{
    size_t most = count_kind(trace, kind), threads = trace->thread.rows;
    struct lane_walk walk = {0};
    uint32_t *lanes = nl_alloc((trace->lane.rows + (size_t)1) * sizeof *lanes);
    uint32_t *bounds = nl_alloc((trace->lane.rows + (size_t)1) * sizeof *bounds);
    uint32_t *first = group_lanes(trace, lanes);
    *tree = (struct nl_rangetree){.trace = trace};
    tree->slices = nl_alloc((most + 1) * sizeof *tree->slices);
    tree->parents = nl_alloc((most + 1) * sizeof *tree->parents);
    tree->thread_first = nl_zalloc((threads + 1) * sizeof *tree->thread_first);
    for (size_t thread = 0; most && thread < threads; thread++) {
        tree->thread_first[thread] = tree->count;
        add_thread(tree, &walk, kind, lanes + first[thread], first[thread + 1] - first[thread],
                   bounds);
    }
    tree->thread_first[threads] = tree->count;
    add_captured(tree, kind);
    nl_free(walk.next);
    nl_free(walk.last);
    nl_free(walk.open);
    nl_free(bounds);
    nl_free(lanes);
    nl_free(first);
}

void nl_rangetree_release(struct nl_rangetree *tree)
{
    nl_free(tree->slices);
    nl_free(tree->parents);
    nl_free(tree->thread_first);
    *tree = (struct nl_rangetree){0};
}

uint32_t *nl_rangetree_places(const struct nl_rangetree *tree)
{
    uint32_t *places = nl_no_rows(tree->trace->slice.rows);
    for (uint32_t range = 0; range < tree->count; range++)
        places[tree->slices[range]] = range;
    return places;
}

bool nl_rangetree_inputs(const struct nl_trace *trace, uint32_t slice, struct nl_op_inputs *inputs)
{
    const struct nl_op_table *op = &trace->op;
    const struct nl_captured_table *captured = &trace->captured;
    uint32_t row = trace->slice.detail[slice];
    if (row == NL_NULL_U32)
        return false;
    if (trace->slice.kind[slice] == NL_KIND_CAPTURED)
        *inputs = (struct nl_op_inputs){captured->shapes[row], captured->dtypes[row],
                                        captured->strides[row], captured->concrete_inputs[row]};
    else
        *inputs = (struct nl_op_inputs){op->shapes[row], op->dtypes[row], op->strides[row],
                                        op->concrete_inputs[row]};
    return true;
}

/* ---- Moments. ---- */

void nl_moments_init(struct nl_moments *moments, const struct nl_moment *items, size_t count,
                     uint32_t threads)
{
    uint32_t *first = nl_zalloc(((size_t)threads + 2) * sizeof *first);
    moments->order = nl_alloc((count + 1) * sizeof *moments->order);
    for (size_t i = 0; i < count; i++)
        if (items[i].thread != NL_NULL_ROW)
            first[items[i].thread + 2]++;
    for (uint32_t thread = 0; thread < threads; thread++)
        first[thread + 2] += first[thread + 1];
    for (size_t i = 0; i < count; i++)
        if (items[i].thread != NL_NULL_ROW)
            moments->order[first[items[i].thread + 1]++] =
                (struct nl_keyed){nl_sort_key(items[i].ts), items[i].item};
    struct nl_keyed *scratch = nl_alloc((count + 1) * sizeof *scratch);
    for (uint32_t thread = 0; thread < threads; thread++)
        nl_sort_keyed(moments->order + first[thread], scratch, first[thread + 1] - first[thread]);
    nl_free(scratch);
    moments->thread_first = first;
}

void nl_moments_release(struct nl_moments *moments)
{
    nl_free(moments->order);
    nl_free(moments->thread_first);
    *moments = (struct nl_moments){0};
}

static void find_in_thread(const struct nl_rangetree *tree, uint32_t thread,
                           const struct nl_moments *moments, uint32_t *answer)
{
    const int64_t *ts = tree->trace->slice.ts;
    uint32_t next = tree->thread_first[thread], end = tree->thread_first[thread + 1];
    uint32_t top = NL_NULL_ROW;
    for (uint32_t i = moments->thread_first[thread]; i < moments->thread_first[thread + 1]; i++) {
        uint64_t moment = moments->order[i].key;
        while (next < end && nl_sort_key(ts[tree->slices[next]]) <= moment)
            top = next++;
        while (top != NL_NULL_ROW && nl_sort_key(nl_rangetree_end(tree, top)) <= moment)
            top = tree->parents[top];
        if (top != NL_NULL_ROW)
            answer[moments->order[i].row] = top;
    }
}

void nl_rangetree_find(const struct nl_rangetree *tree, const struct nl_moments *moments,
                       uint32_t *answer)
{
    for (uint32_t thread = 0; thread < tree->trace->thread.rows; thread++)
        find_in_thread(tree, thread, moments, answer);
}
