/* Counting, each table of a trace once; texts are the keys, since the sides share no ids. */
#include "base/utf8.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffcounts.h"

#include <stdio.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/mem.h"

__extension__ typedef unsigned __int128 wide_int;

#define COUNT_LIST(C, P)                                                                           \
    C(P, what, NULL, TEXT)                                                                         \
    C(P, base, "A", WEIGHT)                                                                        \
    C(P, new, "B", WEIGHT)                                                                         \
    C(P, unit, NULL, UNIT)                                                                         \
    C(P, base_per_step, "A per step", WEIGHT)                                                      \
    C(P, new_per_step, "B per step", WEIGHT)                                                       \
    C(P, changed, NULL, TEXT)
NL_TABLE_COLUMNS(columns, COUNT, COUNT_LIST);

struct count {
    const char *what, *unit;
    enum nl_table_id table; /* that it is counted in */
    uint64_t values[2];     /* NL_NULL_U64 unknown */
    bool there[2];
    bool level; /* no sum: not per step */
};

struct counting {
    struct count *items;
    size_t count, cap;
    struct nl_arena arena;
    struct diff_side *side;
    int which;
    bool largest; /* of several captures the largest value counts, not their sum */
    struct nl_scope scope;
};

static struct count *count_of(struct counting *c, const char *what, const char *unit,
                              enum nl_table_id table)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].what, what) == 0 && strcmp(c->items[i].unit, unit) == 0)
            return &c->items[i];
    nl_grow(&c->items, &c->cap, c->count + 1);
    struct count *item = &c->items[c->count++];
    *item = (struct count){
        .what = nl_arena_text(&c->arena, what, strlen(what)), .unit = unit, .table = table};
    return item;
}

static void add_count(struct counting *c, const char *what, const char *unit,
                      enum nl_table_id table, uint64_t value)
{
    struct count *item = count_of(c, what, unit, table);
    uint64_t *sum = &item->values[c->which];
    if (c->largest) {
        *sum = item->there[c->which] && *sum > value ? *sum : value;
        item->there[c->which] = true;
        return;
    }
    *sum = *sum == NL_NULL_U64 || value == NL_NULL_U64 ? NL_NULL_U64 : *sum + value;
    item->there[c->which] = true;
}

/* Whether something that begins at `ts` on a lane is in the time compared. */
static bool is_compared(struct counting *c, uint32_t lane, int64_t ts)
{
    struct diff_side *side = c->side;
    if (!side->by_step)
        return nl_scope_moment(&c->scope, lane, ts);
    if (lane == NL_NULL_ROW || !nl_scope_lane(&c->scope, lane))
        return false;
    const struct diff_device *device = diff_device_of_rank(side, nl_lane_rank(side->trace, lane));
    return device && diff_span_at(side, device, ts) != SIZE_MAX;
}

static bool counts_slice(struct counting *c, uint32_t slice)
{
    const struct nl_slice_table *table = &c->side->trace->slice;
    return is_compared(c, table->lane[slice], table->ts[slice]);
}

/* ---- device work ---- */

static void count_kernels(struct counting *c)
{
    const struct nl_trace *trace = c->side->trace;
    uint64_t kernels = 0, in_graphs = 0;
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        if (counts_slice(c, trace->kernel.slice[row])) {
            kernels++;
            in_graphs += trace->kernel.graph[row] != NL_NULL_U64;
        }
    if (!trace->kernel.rows)
        return;
    add_count(c, "kernels", "count", NL_T_kernel, kernels);
    add_count(c, "kernels of graphs", "count", NL_T_kernel, in_graphs);
}

#define COPY_KEYS (16 * 8 * 8)

static void put_copies(struct counting *c, unsigned key, uint64_t count, uint64_t bytes)
{
    char what[96];
    const char *kind = nl_enum_text(NL_ENUM_copykind, key >> 6);
    const char *from = nl_enum_text(NL_ENUM_memory, key >> 3 & 7),
               *to = nl_enum_text(NL_ENUM_memory, key & 7);
    bool memory = from || to;
    snprintf(what, sizeof what, "copies %s%s%s%s%s%s", kind ? kind : "of unknown kind",
             memory ? " (" : "", memory && from ? from : "", memory ? " to " : "",
             memory && to ? to : "", memory ? ")" : "");
    add_count(c, what, "count", NL_T_copy, count);
    add_count(c, what, "bytes", NL_T_copy, bytes);
}

static void count_copies(struct counting *c)
{
    const struct nl_copy_table *copy = &c->side->trace->copy;
    uint64_t *sums = nl_zalloc(2 * COPY_KEYS * sizeof *sums), *bytes = sums + COPY_KEYS;
    for (uint32_t row = 0; row < copy->rows; row++) {
        unsigned key = (copy->kind[row] & 15u) << 6 | (copy->src_memory[row] & 7u) << 3 |
                       (copy->dst_memory[row] & 7u);
        if (!counts_slice(c, copy->slice[row]))
            continue;
        sums[key]++;
        bytes[key] = bytes[key] == NL_NULL_U64 || copy->bytes[row] == NL_NULL_U64
                         ? NL_NULL_U64
                         : bytes[key] + copy->bytes[row];
    }
    for (unsigned key = 0; key < COPY_KEYS; key++)
        if (sums[key])
            put_copies(c, key, sums[key], bytes[key]);
    nl_free(sums);
}

static void count_fills(struct counting *c)
{
    const struct nl_memset_table *table = &c->side->trace->memset;
    for (uint32_t row = 0; row < table->rows; row++)
        if (counts_slice(c, table->slice[row])) {
            add_count(c, "fills", "count", NL_T_memset, 1);
            add_count(c, "fills", "bytes", NL_T_memset, table->bytes[row]);
        }
}

static void count_graphs(struct counting *c)
{
    const struct nl_graph_table *table = &c->side->trace->graph;
    for (uint32_t row = 0; row < table->rows; row++)
        if (counts_slice(c, table->slice[row]))
            add_count(c, "graphs recorded whole", "count", NL_T_graph, 1);
}

/* On the device where it is recorded, else as the CPU recorded them: never both. */
static void count_collectives(struct counting *c)
{
    const struct nl_trace *trace = c->side->trace;
    const struct nl_collective_table *table = &trace->collective;
    bool device = false;
    for (uint32_t row = 0; row < table->rows; row++)
        device |= trace->slice.kind[table->slice[row]] == NL_KIND_KERNEL;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t slice = table->slice[row];
        char what[128];
        if (device != (trace->slice.kind[slice] == NL_KIND_KERNEL) || !counts_slice(c, slice))
            continue;
        struct nl_str operation = nl_trace_name(trace, table->operation[row]);
        snprintf(what, sizeof what, "collective %.*s", NL_UP_TO(100, operation));
        add_count(c, what, "count", NL_T_collective, 1);
        add_count(c, what, "bytes", NL_T_collective, table->bytes[row]);
    }
}

/* ---- the CPU's side ---- */

static void count_calls(struct counting *c)
{
    static const char *const texts[] = {[NL_API_LAUNCH] = "launches of kernels",
                                        [NL_API_GRAPH_LAUNCH] = "launches of graphs",
                                        [NL_API_GRAPH_BUILD] = "graphs captured or built",
                                        [NL_API_COPY] = "calls that copy",
                                        [NL_API_FILL] = "calls that fill",
                                        [NL_API_SYNC] = "calls that synchronise",
                                        [NL_API_STREAM_WAIT] = "waits of streams",
                                        [NL_API_ALLOCATE] = "calls that allocate or free",
                                        [NL_API_HOST_ALLOCATE] = "calls that pin memory",
                                        [NL_API_MODULE] = "calls that load code"};
    const struct nl_trace *trace = c->side->trace;
    uint64_t sums[NL_API_MODULE + 1] = {0}, blocking = 0;
    if (!trace->api.rows)
        return;
    const struct nl_api_roles *roles = nl_memo_roles(c->side->memo);
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (!counts_slice(c, slice))
            continue;
        sums[nl_api_slice_role(roles, trace, slice)]++;
        blocking += nl_api_slice_blocks(roles, trace, slice);
    }
    for (size_t role = NL_API_LAUNCH; role <= NL_API_MODULE; role++)
        add_count(c, texts[role], "count", NL_T_api, sums[role]);
    add_count(c, "calls that block", "count", NL_T_api, blocking);
}

/* Slices of kinds that say by themselves what happened. */
static void count_kinds(struct counting *c)
{
    static const struct {
        enum nl_kind kind;
        const char *what;
    } kinds[] = {{NL_KIND_OP, "operators"},
                 {NL_KIND_COMPILE, "compilations"},
                 {NL_KIND_GC, "garbage collections"}};
    const struct nl_trace *trace = c->side->trace;
    uint64_t sums[UINT8_MAX + 1] = {0};
    bool there[UINT8_MAX + 1] = {false};
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        uint8_t kind = trace->slice.kind[slice];
        if (kind != NL_KIND_OP && kind != NL_KIND_COMPILE && kind != NL_KIND_GC)
            continue;
        there[kind] = true;
        sums[kind] += counts_slice(c, slice);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (there[kinds[i].kind])
            add_count(c, kinds[i].what, "count", NL_T_op, sums[kinds[i].kind]);
}

static void count_memory(struct counting *c)
{
    const struct nl_memory_table *table = &c->side->trace->memory;
    uint64_t count = 0, bytes = 0, most = 0;
    for (uint32_t row = 0; row < table->rows; row++) {
        bool within = is_compared(c, table->lane[row], table->ts[row]);
        if (within && table->total_allocated[row] != NL_NULL_U64)
            most = table->total_allocated[row] > most ? table->total_allocated[row] : most;
        if (within && table->bytes[row] != NL_NULL_I64 && table->bytes[row] > 0) {
            count++;
            bytes += (uint64_t)table->bytes[row];
        }
    }
    if (!table->rows)
        return;
    add_count(c, "allocations recorded", "count", NL_T_memory, count);
    add_count(c, "allocations recorded", "bytes", NL_T_memory, bytes);
    if (!most)
        return;
    c->largest = true;
    add_count(c, DIFF_PEAK_MEMORY, "bytes", NL_T_memory, most);
    c->largest = false;
    count_of(c, DIFF_PEAK_MEMORY, "bytes", NL_T_memory)->level = true;
}

static void count_side(struct counting *c, struct diff_side *side, int which)
{
    c->side = side;
    c->which = which;
    struct nl_window window = side->window;
    if (side->by_step)
        window.has_time = false;
    nl_scope_init(&c->scope, side->trace, &window);
    count_kernels(c);
    count_graphs(c);
    count_copies(c);
    count_fills(c);
    count_collectives(c);
    count_calls(c);
    count_kinds(c);
    count_memory(c);
    nl_scope_release(&c->scope);
}

/* ---- rows ---- */

static void count_captures(struct counting *c, struct diff_side *side, int which)
{
    for (size_t i = 0; i < diff_capture_count(side); i++)
        count_side(c, &diff_captures(side)[i], which);
}

/* Steps over all ranks: a rank's devices share theirs. Without steps, captures
 * where there are several. */
static uint64_t rank_steps(const struct diff_side *side)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < side->device_count; i++)
        if (diff_device_of_rank(side, side->devices[i].rank) == &side->devices[i])
            steps += side->devices[i].spans;
    return side->by_step ? steps : side->captures ? side->capture_count : 0;
}

static bool same_format(const struct diff_side *base, const struct diff_side *changed)
{
    const struct nl_source_table *a = &base->trace->source, *b = &changed->trace->source;
    return a->rows && b->rows &&
           nl_str_eq(nl_trace_name(base->trace, a->format[0]),
                     nl_trace_name(changed->trace, b->format[0]));
}

/* What a side did not count is 0 where it records such things, else not known. */
static uint64_t value_of(const struct count *item, int which, const struct diff_side *side,
                         bool alike)
{
    if (item->there[which])
        return item->values[which];
    return alike || nl_trace_rows(side->trace, item->table) ? 0 : NL_NULL_U64;
}

static struct nl_cell per_step(uint64_t value, uint64_t steps)
{
    return value == NL_NULL_U64 || !steps ? (struct nl_cell){0}
                                          : nl_cell_f64((double)value / (double)steps);
}

/* Where a row stands: yes, unknown, no. */
static int place_of(const struct nl_cell *cells)
{
    const struct nl_cell *changed = &cells[COUNT_changed];
    if (changed->type != NL_CELL_TEXT)
        return 1;
    return nl_str_is(changed->text, "yes") ? 0 : 2;
}

static void add_count_row(struct nl_result *result, const struct count *item,
                          struct diff_side *base, struct diff_side *changed)
{
    bool alike = same_format(base, changed);
    uint64_t a = value_of(item, 0, base, alike), b = value_of(item, 1, changed, alike);
    uint64_t a_steps = rank_steps(base), b_steps = rank_steps(changed);
    bool per = a_steps && b_steps && !item->level;
    if ((a == 0 || a == NL_NULL_U64) && (b == 0 || b == NL_NULL_U64))
        return;
    struct nl_cell *cells = nl_result_row(result);
    cells[COUNT_what] = nl_cell_text(result, nl_str(item->what));
    cells[COUNT_base] = nl_cell_count(a);
    cells[COUNT_new] = nl_cell_count(b);
    cells[COUNT_unit] = nl_cell_static(item->unit);
    cells[COUNT_base_per_step] = per_step(a, item->level ? 0 : a_steps);
    cells[COUNT_new_per_step] = per_step(b, item->level ? 0 : b_steps);
    if (a == NL_NULL_U64 || b == NL_NULL_U64)
        return;
    bool same = per ? (wide_int)a * b_steps == (wide_int)b * a_steps : a == b;
    cells[COUNT_changed] = nl_cell_static(same ? "no" : "yes");
}

struct nl_result *diff_counts(struct diff_side *base, struct diff_side *changed)
{
    struct counting c = {0};
    struct nl_result *result = NL_ANSWER_NEW("counts", "What is counted", columns);
    nl_arena_init(&c.arena);
    count_captures(&c, base, 0);
    count_captures(&c, changed, 1);
    for (size_t i = 0; i < c.count; i++)
        add_count_row(result, &c.items[i], base, changed);
    struct nl_cell *cells = result->cells;
    size_t width = result->column_count * sizeof *cells;
    for (size_t i = 1; i < result->rows; i++) /* few rows; stable, as qsort is not */
        for (size_t j = i; j && place_of(cells + (j - 1) * result->column_count) >
                                    place_of(cells + j * result->column_count);
             j--) {
            struct nl_cell swap[sizeof columns / sizeof columns[0]];
            memcpy(swap, cells + j * result->column_count, width);
            memcpy(cells + j * result->column_count, cells + (j - 1) * result->column_count, width);
            memcpy(cells + (j - 1) * result->column_count, swap, width);
        }
    nl_arena_free(&c.arena);
    nl_free(c.items);
    return result;
}
