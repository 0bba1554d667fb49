/* capturedrows — see capturedrows.h. Slices are in order of (lane, depth, parent), as trace files
 * demand; their lanes come after all others, so no other row is renumbered. */
#define _GNU_SOURCE
#include "derive/capturedrows.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

struct nl_captured_range {
    const struct nl_trace *trace; /* where it was recorded */
    uint32_t slice;               /* there */
    uint32_t process, parent;     /* parent: number of the range around it, NL_NO_ROW */
    uint32_t place;               /* in the order of slices */
    uint16_t depth;
};

struct inputs {
    uint32_t shapes, dtypes, strides, values;
};

static struct inputs inputs_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t row = trace->slice.detail[slice];
    if (trace->slice.kind[slice] != NL_KIND_OP || row == NL_NULL_U32)
        return (struct inputs){0};
    return (struct inputs){trace->op.shapes[row], trace->op.dtypes[row], trace->op.strides[row],
                           trace->op.concrete_inputs[row]};
}

static uint64_t hash_name(const struct nl_trace *trace, uint64_t hash, uint32_t name)
{
    struct nl_str text = nl_trace_name(trace, name);
    return nl_hash_pair(hash, nl_hash(text.ptr, text.len));
}

static bool counts(const struct nl_trace *trace, uint32_t slice, bool operators)
{
    return !operators || trace->slice.kind[slice] == NL_KIND_OP;
}

uint64_t nl_chain_hash(const struct nl_chain *chain, bool operators)
{
    const struct nl_trace *trace = chain->trace;
    uint64_t hash = 0;
    for (size_t i = 0; i < chain->count; i++) {
        uint32_t slice = chain->items[i];
        if (!counts(trace, slice, operators))
            continue;
        struct inputs inputs = inputs_of(trace, slice);
        const uint32_t names[] = {trace->slice.name[slice], inputs.shapes, inputs.dtypes,
                                  inputs.strides, inputs.values};
        hash = nl_hash_pair(hash, trace->slice.kind[slice]);
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            hash = hash_name(trace, hash, names[n]);
    }
    return hash;
}

/* The row of a range in the range `parent`, made on first use; NL_NO_ROW if it is nested too
 * deeply. */
static uint32_t put_one(struct nl_captured_rows *rows, const struct nl_trace *trace, uint32_t slice,
                        uint32_t process, uint32_t parent, bool *fresh)
{
    uint64_t hash =
        nl_hash_pair(nl_hash_pair((uint64_t)process << 32 | slice, parent), (uintptr_t)trace);
    uint32_t at = NL_LOOKUP(&rows->by_source, hash, r,
                            rows->items[r].slice == slice && rows->items[r].parent == parent &&
                                rows->items[r].process == process && rows->items[r].trace == trace);
    *fresh = at == NL_NO_ROW;
    if (!*fresh)
        return at;
    uint16_t depth = parent == NL_NO_ROW ? 0 : rows->items[parent].depth;
    if (depth == UINT16_MAX - 1)
        return NL_NO_ROW;
    at = (uint32_t)rows->count;
    nl_grow(&rows->items, &rows->cap, rows->count + 1);
    rows->items[rows->count++] =
        (struct nl_captured_range){.trace = trace,
                                   .slice = slice,
                                   .process = process,
                                   .parent = parent,
                                   .depth = (uint16_t)(parent == NL_NO_ROW ? 0 : depth + 1)};
    nl_lookup_add(&rows->by_source, hash, at);
    return at;
}

/* Operators around experts have only tokens and scores as inputs; the operators inside have the
 * sizes, though they launched nothing. All are direct children. */
static void put_inside(struct nl_captured_rows *rows, const struct nl_trace *trace, uint32_t slice,
                       uint32_t process, uint32_t around)
{
    const struct nl_slice_table *table = &trace->slice;
    if (table->kind[slice] != NL_KIND_OP ||
        !nl_str_contains(nl_trace_name(trace, table->name[slice]), "moe_forward"))
        return;
    uint32_t lane = table->lane[slice], end = trace->lane.first[lane] + trace->lane.count[lane];
    int64_t from = table->ts[slice], to = nl_slice_end(trace, slice);
    bool fresh;
    for (uint32_t first = slice + 1, below; first < end; first = below) {
        below = NL_FIRST(i, first, end, table->depth[i] > table->depth[first]);
        if (table->depth[first] <= table->depth[slice])
            continue;
        uint32_t i = NL_FIRST(at, first, below, table->ts[at] >= from);
        for (; i < below && table->ts[i] < to; i++)
            if (table->kind[i] == NL_KIND_OP && inputs_of(trace, i).shapes != NL_NO_NAME)
                (void)put_one(rows, trace, i, process, around, &fresh);
    }
}

uint32_t nl_captured_rows_put(struct nl_captured_rows *rows, const struct nl_chain *chain,
                              uint32_t process, bool operators)
{
    uint32_t at = NL_NO_ROW;
    for (size_t i = 0; i < chain->count; i++) {
        uint32_t slice = chain->items[i], parent = at;
        bool fresh;
        if (!counts(chain->trace, slice, operators))
            continue;
        at = put_one(rows, chain->trace, slice, process, parent, &fresh);
        if (at == NL_NO_ROW)
            return parent;
        if (fresh)
            put_inside(rows, chain->trace, slice, process, at);
    }
    return at;
}

/* ---- Into the trace. ---- */

static int by_place(const void *left, const void *right, void *context)
{
    const struct nl_captured_range *items = context;
    uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const struct nl_captured_range *a = &items[x], *b = &items[y];
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    uint32_t p = a->parent == NL_NO_ROW ? 0 : items[a->parent].place;
    uint32_t q = b->parent == NL_NO_ROW ? 0 : items[b->parent].place;
    if (p != q)
        return p < q ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* A parent's place must be known before its children are sorted: depth after depth. */
static uint32_t *order(struct nl_captured_rows *rows)
{
    uint32_t *order = nl_alloc((rows->count + 1) * sizeof *order);
    for (uint32_t i = 0; i < rows->count; i++) {
        rows->items[i].place = 0;
        order[i] = i;
    }
    qsort_r(order, rows->count, sizeof *order, by_place, rows->items);
    for (size_t first = 0, end; first < rows->count; first = end) {
        const struct nl_captured_range *head = &rows->items[order[first]];
        for (end = first + 1; end < rows->count && rows->items[order[end]].depth == head->depth &&
                              rows->items[order[end]].process == head->process;)
            end++;
        qsort_r(order + first, end - first, sizeof *order, by_place, rows->items);
        for (size_t i = first; i < end; i++)
            rows->items[order[i]].place = (uint32_t)i;
    }
    return order;
}

/* Columns of a table with room for more rows, which are unknown. */
static void extend(struct nl_trace *trace, enum nl_table_id table, uint32_t more)
{
    const struct nl_table_def *def = &nl_tables[table];
    uint32_t *rows = (uint32_t *)(void *)((char *)trace + def->offset);
    for (unsigned c = def->first; c < def->first + def->count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (!nl_is_stored(column))
            continue;
        void **array = nl_column_array(trace, column);
        char *cells = nl_trace_cells(trace, ((size_t)*rows + more) * column->size);
        if (*rows)
            memcpy(cells, *array, (size_t)*rows * column->size);
        nl_fill_cells(cells + (size_t)*rows * column->size, column->size, more,
                      nl_unknown_cells(column->type));
        nl_trace_cells_free(trace, *array, (size_t)*rows * column->size);
        *array = cells;
    }
    *rows += more;
}

static uint32_t copy_name(struct nl_trace *trace, const struct nl_trace *from, uint32_t name)
{
    return from == trace || name == NL_NO_NAME
               ? name
               : nl_dict_add(&trace->names, nl_trace_name(from, name));
}

/* When the process first launched a graph whose kernels have captured ranges. */
static int64_t *first_times(const struct nl_trace *trace)
{
    int64_t *first = nl_alloc(((size_t)trace->process.rows + 1) * sizeof *first);
    for (uint32_t i = 0; i <= trace->process.rows; i++)
        first[i] = INT64_MAX;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        if (trace->kernel.captured[row] == NL_NULL_ROW)
            continue;
        uint32_t launch = trace->slice.link[trace->kernel.slice[row]];
        uint32_t process = nl_slice_process(trace, launch);
        int64_t *ts = &first[process < trace->process.rows ? process : trace->process.rows];
        *ts = trace->slice.ts[launch] < *ts ? trace->slice.ts[launch] : *ts;
    }
    return first;
}

static void put_lane(struct nl_trace *trace, uint32_t lane, uint32_t process, uint32_t first,
                     uint32_t count, uint16_t depth)
{
    struct nl_lane_table *table = &trace->lane;
    table->kind[lane] = NL_LANE_CAPTURED;
    table->name[lane] = nl_dict_add(&trace->names, nl_str("captured graphs"));
    table->process[lane] = process;
    table->sub[lane] = 0;
    table->first[lane] = first;
    table->count[lane] = count;
    table->depth[lane] = (uint16_t)(depth + 1);
}

static void put_slice(struct nl_trace *trace, const struct nl_captured_range *range, uint32_t base,
                      const struct nl_captured_range *parent, uint32_t lane, int64_t ts)
{
    struct nl_slice_table *slice = &trace->slice;
    uint32_t row = base + range->place;
    slice->ts[row] = ts;
    slice->dur[row] = 0;
    slice->name[row] = copy_name(trace, range->trace, range->trace->slice.name[range->slice]);
    slice->kind[row] = NL_KIND_CAPTURED;
    slice->flags[row] = NL_SLICE_INSTANT;
    slice->depth[row] = range->depth;
    slice->lane[row] = lane;
    slice->parent[row] = parent ? base + parent->place : NL_NULL_ROW;
    slice->detail[row] = range->place;
}

static void put_range(struct nl_trace *trace, const struct nl_captured_range *range, uint32_t base)
{
    struct nl_captured_table *table = &trace->captured;
    struct inputs inputs = inputs_of(range->trace, range->slice);
    uint32_t row = range->place;
    table->slice[row] = base + row;
    table->kind[row] = range->trace->slice.kind[range->slice];
    table->shapes[row] = copy_name(trace, range->trace, inputs.shapes);
    table->dtypes[row] = copy_name(trace, range->trace, inputs.dtypes);
    table->strides[row] = copy_name(trace, range->trace, inputs.strides);
    table->concrete_inputs[row] = copy_name(trace, range->trace, inputs.values);
}

static void put_all(struct nl_captured_rows *rows, struct nl_trace *trace, const uint32_t *order,
                    uint32_t lanes)
{
    uint32_t base = trace->slice.rows, lane = trace->lane.rows;
    int64_t *first = first_times(trace);
    extend(trace, NL_T_slice, (uint32_t)rows->count);
    extend(trace, NL_T_lane, lanes);
    for (size_t from = 0, end; from < rows->count; from = end, lane++) {
        uint32_t process = rows->items[order[from]].process;
        for (end = from + 1; end < rows->count && rows->items[order[end]].process == process;)
            end++;
        put_lane(trace, lane, process, base + (uint32_t)from, (uint32_t)(end - from),
                 rows->items[order[end - 1]].depth);
        for (size_t i = from; i < end; i++) {
            const struct nl_captured_range *range = &rows->items[order[i]];
            put_slice(trace, range, base,
                      range->parent == NL_NO_ROW ? NULL : &rows->items[range->parent], lane,
                      first[process < trace->process.rows ? process : trace->process.rows]);
            put_range(trace, range, base);
        }
    }
    nl_free(first);
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        if (trace->kernel.captured[row] != NL_NULL_ROW)
            trace->kernel.captured[row] = base + rows->items[trace->kernel.captured[row]].place;
}

static uint32_t count_processes(const struct nl_captured_rows *rows, const uint32_t *order)
{
    uint32_t count = rows->count > 0;
    for (size_t i = 1; i < rows->count; i++)
        count += rows->items[order[i]].process != rows->items[order[i - 1]].process;
    return count;
}

bool nl_captured_rows_finish(struct nl_captured_rows *rows, struct nl_finish *finish,
                             struct nl_err *err)
{
    struct nl_trace *trace = finish->trace;
    bool done = (uint64_t)trace->slice.rows + rows->count < UINT32_MAX - 1
                    ? nl_build_table(finish, NL_T_captured, rows->count, err)
                    : nl_too_many_rows(NL_T_slice, err);
    if (done && rows->count) {
        uint32_t *places = order(rows);
        put_all(rows, trace, places, count_processes(rows, places));
        nl_free(places);
    }
    nl_free(rows->items);
    nl_lookup_release(&rows->by_source);
    return done;
}
