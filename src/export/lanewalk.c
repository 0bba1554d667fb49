/* Walking: see the header for why a cursor per depth is enough. */
#include "export/lanewalk.h"

#include "base/heap.h"
#include "base/search.h"
#include "base/sort.h"

/* ---- the runs of a lane ---- */

/* First slice of lane [first, last) whose depth is over `depth`. */
static uint32_t behind_depth(const struct nl_trace *trace, uint32_t first, uint32_t last,
                             uint32_t depth)
{
    return NL_FIRST(i, first, last, trace->slice.depth[i] > depth);
}

/* First slice of a depth's run [first, last) whose parent is `parent` or comes after it. */
static uint32_t child_from(const struct nl_trace *trace, uint32_t first, uint32_t last,
                           uint32_t parent)
{
    return NL_FIRST(i, first, last, trace->slice.parent[i] >= parent);
}

/* ---- parts ---- */

static void add_part(struct nl_walk_parts *parts, uint32_t lane, uint32_t from, uint32_t to)
{
    nl_grow(&parts->items, &parts->cap, parts->count + 1);
    parts->items[parts->count++] = (struct nl_walk_part){.lane = lane, .from = from, .to = to};
}

/* The depth with most slices gives the slices where a lane is cut. */
static void cut_lane(struct nl_walk_parts *parts, const struct nl_trace *trace, uint32_t lane,
                     uint32_t slices)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t from = NL_NULL_ROW, best = first, most = 0;
    if (trace->lane.count[lane] > slices)
        for (uint32_t at = first, end; at < last; at = end) {
            end = behind_depth(trace, at, last, trace->slice.depth[at]);
            if (end - at > most) {
                most = end - at;
                best = at;
            }
        }
    uint64_t share = most ? (uint64_t)most * slices / trace->lane.count[lane] : 0;
    for (uint64_t at = share ? share : most; at < most; at += share) {
        uint32_t pivot = best + (uint32_t)at;
        if (trace->slice.flags[pivot] & NL_SLICE_OVERFLOW)
            continue;
        add_part(parts, lane, from, pivot);
        from = pivot;
    }
    add_part(parts, lane, from, NL_NULL_ROW);
}

/* ---- rows of slices that are not nested ---- */

struct row_end {
    int64_t end;
    uint32_t row;
};

/* Row of every slice (in order of start): the one that is free for the longest time. */
static uint32_t colour(const struct nl_trace *trace, struct nl_keyed *slices, size_t count)
{
    struct row_end *heap = nl_alloc((count + 1) * sizeof *heap);
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t slice = slices[i].row;
        int64_t end = nl_slice_end(trace, slice);
        if (rows && heap[0].end <= trace->slice.ts[slice]) {
            slices[i].key = heap[0].row;
            heap[0].end = end;
            NL_HEAP_SINK(heap, rows, a, b, a->end < b->end);
        } else {
            slices[i].key = rows + 1;
            struct row_end row = {end, (uint32_t)rows + 1};
            NL_HEAP_ADD(heap, rows, row, a, b, a->end < b->end);
        }
    }
    nl_free(heap);
    return (uint32_t)rows;
}

static void cut_loose(struct nl_walk_parts *parts, const struct nl_trace *trace, uint32_t lane)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t behind = behind_depth(trace, first, last, 0);
    size_t count = 0, room = 0;
    struct nl_keyed *slices = NULL;
    for (uint32_t i = first; i < behind; i++)
        if (trace->slice.flags[i] & NL_SLICE_OVERFLOW) {
            nl_grow(&slices, &room, count + 1);
            slices[count++] = (struct nl_keyed){0, i};
        }
    if (!count)
        return;
    struct nl_keyed *scratch = nl_alloc(count * sizeof *scratch);
    colour(trace, slices, count);
    nl_sort_keyed(slices, scratch, count);
    nl_free(scratch);
    nl_grow(&parts->loose, &parts->loose_cap, parts->loose_count + count);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)parts->loose_count;
        if (!i || slices[i].key != slices[i - 1].key) {
            add_part(parts, lane, at, at);
            parts->items[parts->count - 1].row = (uint32_t)slices[i].key;
        }
        parts->items[parts->count - 1].to = at + 1;
        parts->loose[parts->loose_count++] = slices[i].row;
    }
    nl_free(slices);
}

void nl_walk_cut(struct nl_walk_parts *parts, const struct nl_trace *trace,
                 const struct nl_scope *scope, uint32_t slices)
{
    *parts = (struct nl_walk_parts){0};
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!trace->lane.count[lane] || !nl_scope_lane(scope, lane))
            continue;
        cut_lane(parts, trace, lane, slices);
        if (trace->lane.sub[lane])
            cut_loose(parts, trace, lane);
    }
    for (size_t i = 0; i < parts->count; i++)
        parts->items[i].list = parts->loose;
}

void nl_walk_parts_release(struct nl_walk_parts *parts)
{
    nl_free(parts->items);
    nl_free(parts->loose);
    *parts = (struct nl_walk_parts){0};
}

/* ---- a walk ---- */

/* Puts the cursors where slice `from` is the next to begin: its ancestors are open, and of deeper
 * slices those come next whose ancestors are it or later ones. */
static void start_at(struct nl_walk *walk, uint32_t from)
{
    const struct nl_slice_table *slice = &walk->trace->slice;
    uint32_t depth = slice->depth[from];
    if (depth >= walk->depths)
        NL_BUG("a lane whose slices are not in order of depth");
    walk->next[depth] = from;
    for (uint32_t d = depth, at = from; d-- > 0;) {
        at = slice->parent[at];
        if (at == NL_NULL_ROW)
            NL_BUG("a nested slice without a parent");
        walk->open[d] = at;
        walk->next[d] = at + 1;
    }
    walk->depth = depth;
    for (uint32_t d = depth + 1; d < walk->depths; d++)
        walk->next[d] = child_from(walk->trace, walk->next[d], walk->end[d], walk->next[d - 1]);
}

void nl_walk_open(struct nl_walk *walk, const struct nl_trace *trace,
                  const struct nl_walk_part *part)
{
    *walk = (struct nl_walk){.trace = trace, .part = part, .at = part->from};
    if (part->row)
        return;
    uint32_t first = trace->lane.first[part->lane], last = first + trace->lane.count[part->lane];
    size_t depths = (size_t)trace->slice.depth[last - 1] + 1;
    walk->depths = (uint32_t)depths;
    walk->next = nl_alloc(3 * depths * sizeof *walk->next);
    walk->end = walk->next + depths;
    walk->open = walk->end + depths;
    for (uint32_t d = 0, at = first; d < walk->depths; d++) {
        walk->next[d] = at;
        at = behind_depth(trace, at, last, d);
        walk->end[d] = at;
    }
    if (part->from != NL_NULL_ROW)
        start_at(walk, part->from);
}

void nl_walk_close(struct nl_walk *walk)
{
    nl_free(walk->next);
    *walk = (struct nl_walk){0};
}

static enum nl_walk_what next_loose(struct nl_walk *walk, uint32_t *slice)
{
    if (walk->at == walk->part->to)
        return NL_WALK_DONE;
    *slice = walk->part->list[walk->at];
    walk->pending = !walk->pending;
    walk->depth = walk->pending;
    if (!walk->pending)
        walk->at++;
    return walk->pending ? NL_WALK_BEGIN : NL_WALK_END;
}

enum nl_walk_what nl_walk_next(struct nl_walk *walk, uint32_t *slice)
{
    const struct nl_slice_table *table = &walk->trace->slice;
    if (walk->part->row)
        return next_loose(walk, slice);
    uint32_t depth = walk->depth;
    if (depth == 0)
        while (walk->next[0] < walk->end[0] && table->flags[walk->next[0]] & NL_SLICE_OVERFLOW)
            walk->next[0]++;
    if (depth < walk->depths && walk->next[depth] < walk->end[depth] &&
        (depth == 0 || table->parent[walk->next[depth]] == walk->open[depth - 1])) {
        if (walk->next[depth] == walk->part->to)
            return NL_WALK_DONE;
        *slice = walk->open[depth] = walk->next[depth]++;
        walk->depth++;
        return NL_WALK_BEGIN;
    }
    if (depth == 0)
        return NL_WALK_DONE;
    *slice = walk->open[--walk->depth];
    return NL_WALK_END;
}
