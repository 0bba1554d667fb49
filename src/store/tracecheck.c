/* All columns and parts of the slices as tasks of one pool; the first complaint in their order
 * wins, so that the message does not depend on threads. */
#include "store/tracecheck.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/pool.h"
#include "base/search.h"
#include "base/wide.h"
#include "store/filled.h"

#define PART ((size_t)1 << 18) /* slices of a task */

struct check {
    const struct nl_trace *trace;
    size_t parts;
    uint32_t details[256]; /* by kind: rows of the side table, plus 1 */
    atomic_size_t failed;  /* task + 1, the least */
};

/* True when every value plus `add` (which wraps) is below `limit`. With `add` 1, and `limit` one
 * more, NL_NULL_ROW passes too. */
NL_WIDE static bool all_below(const uint32_t *values, size_t count, uint32_t add, uint64_t limit)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = values[i] + add;
        most = value > most ? value : most;
    }
    return !count || most < limit;
}

NL_WIDE static bool all_below_u8(const uint8_t *values, size_t count, unsigned limit)
{
    uint8_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= (uint8_t)(values[i] >= limit);
    return !wrong;
}

/* Names, or filled patterns, which only args have. */
static bool are_texts(const struct nl_trace *t, const uint32_t *ids, size_t count)
{
    bool fine = true;
    for (size_t i = 0; i < count; i++)
        fine &= ids[i] < t->names.count ||
                (ids[i] & NL_FILLED && (ids[i] & ~NL_FILLED) < t->filled.count);
    return fine;
}

NL_WIDE static bool are_times(const int64_t *times, size_t count)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= ((uint32_t)(times[i] > NL_MAX_TIME) | (uint32_t)(times[i] < -NL_MAX_TIME)) &
                 (uint32_t)(times[i] != NL_NULL_I64);
    return !wrong;
}

NL_WIDE static bool are_lengths(const int64_t *lengths, size_t count)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= ((uint32_t)(lengths[i] > 2 * NL_MAX_TIME) | (uint32_t)(lengths[i] < 0)) &
                 (uint32_t)(lengths[i] != NL_NULL_I64);
    return !wrong;
}

static bool column_fits(const struct nl_trace *t, const struct nl_column_def *column)
{
    size_t rows = nl_trace_rows(t, column->table);
    if (column->hop != NL_HOP_NONE || !rows)
        return true;
    const void *cells = nl_trace_column(t, column);
    switch (column->type) {
    case NL_TYPE_NAME:
        return column->table == NL_T_arg ? are_texts(t, cells, rows)
                                         : all_below(cells, rows, 0, t->names.count);
    case NL_TYPE_REF:
        return column->key
                   ? all_below(cells, rows, 0, nl_trace_rows(t, column->target))
                   : all_below(cells, rows, 1, (uint64_t)nl_trace_rows(t, column->target) + 1);
    case NL_TYPE_TIME: return are_times(cells, rows);
    case NL_TYPE_DUR: return column->table != NL_T_step || are_lengths(cells, rows);
    case NL_TYPE_ENUM: return all_below_u8(cells, rows, nl_enum_count(column->enumeration));
    default: return true;
    }
}

/* The lane of a row: lanes follow each other (lanes_fit), so it is the last with slices that begins
 * at the row or before it. */
static uint32_t lane_at(const struct nl_lane_table *lane, uint32_t row)
{
    return NL_FIRST(i, 1, lane->rows, lane->first[i] > row) - 1;
}

NL_WIDE static bool all_are(const uint32_t *values, uint32_t from, uint32_t to, uint32_t value)
{
    uint32_t wrong = 0;
    for (uint32_t i = from; i < to; i++)
        wrong |= values[i] ^ value;
    return !wrong;
}

NL_WIDE static bool all_deep(const uint16_t *depths, uint32_t from, uint32_t to, uint16_t depth)
{
    uint16_t wrong = 0;
    for (uint32_t i = from; i < to; i++)
        wrong |= depths[i] ^ depth;
    return !wrong;
}

/* First row in [from, to) that is deeper than `depth`, if they are in order of depth, which whoever
 * checks them finds out. */
static uint32_t deeper(const uint16_t *depths, uint32_t from, uint32_t to, unsigned depth)
{
    return NL_FIRST(i, from, to, depths[i] > depth);
}

/* Wraps for times that another part refuses. */
static inline int64_t end_of(const struct nl_slice_table *slice, uint32_t i)
{
    return (int64_t)((uint64_t)slice->ts[i] + (uint64_t)slice->dur[i]);
}

NL_WIDE static bool in_order(const struct nl_slice_table *slice, uint32_t from, uint32_t to)
{
    const int64_t *ts = slice->ts, *dur = slice->dur;
    const uint32_t *parent = slice->parent;
    uint64_t wrong = 0;
    for (uint32_t i = from; i + 1 < to; i++)
        wrong |= (uint64_t)((int64_t)((uint64_t)ts[i] + (uint64_t)dur[i]) > ts[i + 1]);
    for (uint32_t i = from; i + 1 < to; i++)
        wrong |= (uint64_t)(parent[i] > parent[i + 1]);
    return !wrong;
}

/* The same on sub-lanes, where slices that found no place may overlap. */
static bool in_order_but_loose(const struct nl_slice_table *slice, uint32_t from, uint32_t to)
{
    bool fine = true;
    for (uint32_t i = from; i + 1 < to; i++) {
        bool loose = (slice->flags[i] | slice->flags[i + 1]) & NL_SLICE_OVERFLOW;
        fine &= slice->ts[i] <= slice->ts[i + 1] && slice->parent[i] <= slice->parent[i + 1] &&
                (loose || end_of(slice, i) <= slice->ts[i + 1]);
    }
    return fine;
}

/* Parents of a run are in order, so the first and the last show that all are among `above`. */
static bool within_parents(const struct nl_slice_table *slice, uint32_t from, uint32_t to,
                           uint32_t above, uint32_t above_end)
{
    const int64_t *ts = slice->ts;
    const uint32_t *parents = slice->parent;
    if (parents[from] < above || parents[to - 1] >= above_end)
        return false;
    uint32_t wrong = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t parent = parents[i];
        wrong |= (uint32_t)(ts[parent] > ts[i]) |
                 (uint32_t)(end_of(slice, parent) < end_of(slice, i)) |
                 (uint32_t)(slice->flags[parent] & NL_SLICE_OVERFLOW);
    }
    return !wrong;
}

/* Slices [from, to) of one lane and one depth; `before`: they go on a run that begins earlier. */
static bool run_fits(const struct nl_trace *trace, uint32_t lane, uint32_t from, uint32_t to,
                     bool before)
{
    const struct nl_slice_table *slice = &trace->slice;
    uint32_t first = trace->lane.first[lane];
    uint16_t depth = slice->depth[from];
    if (!all_deep(slice->depth, from, to, depth) || !all_are(slice->lane, from, to, lane) ||
        !(trace->lane.sub[lane] ? in_order_but_loose(slice, from - before, to)
                                : in_order(slice, from - before, to)))
        return false;
    if (!depth)
        return all_are(slice->parent, from, to, NL_NULL_ROW);
    uint32_t above = depth > 1 ? deeper(slice->depth, first, from, depth - 2u) : first;
    return within_parents(slice, from, to, above, deeper(slice->depth, above, from, depth - 1u));
}

/* Slices [from, to) of one lane: a run for each depth, one after the other. */
static bool nested(const struct nl_trace *trace, uint32_t lane, uint32_t from, uint32_t to)
{
    const uint16_t *depths = trace->slice.depth;
    uint32_t first = trace->lane.first[lane];
    uint32_t deep = depths[first + trace->lane.count[lane] - 1] + 1u;
    if (from == first &&
        (depths[first] || trace->lane.depth[lane] != (deep < UINT16_MAX ? deep : UINT16_MAX)))
        return false;
    for (uint32_t i = from, end; i < to; i = end) {
        bool before = i > first && depths[i - 1] == depths[i];
        end = deeper(depths, i, to, depths[i]);
        if ((i > first && !before && depths[i - 1] + 1u != depths[i]) ||
            !run_fits(trace, lane, i, end, before))
            return false;
    }
    return true;
}

/* Slices [from, to) of any lanes. */
static bool lanes_nested(const struct nl_trace *trace, uint32_t from, uint32_t to)
{
    bool fine = true;
    for (uint32_t lane = lane_at(&trace->lane, from); fine && from < to; lane++) {
        uint32_t end = trace->lane.first[lane] + trace->lane.count[lane];
        uint32_t stop = end < to ? end : to;
        if (from < stop) {
            fine = nested(trace, lane, from, stop);
            from = stop;
        }
    }
    return fine;
}

/* Times within bounds, parents before their children. */
NL_WIDE static bool settled(const struct nl_slice_table *slice, uint32_t from, uint32_t to)
{
    const int64_t *ts = slice->ts, *dur = slice->dur;
    const uint32_t *parent = slice->parent;
    uint32_t wrong = 0;
    for (uint32_t i = from; i < to; i++)
        wrong |= (uint32_t)(dur[i] < 0) | (uint32_t)(ts[i] > NL_MAX_TIME) |
                 (uint32_t)(dur[i] > 2 * NL_MAX_TIME) | (uint32_t)(ts[i] < -NL_MAX_TIME) |
                 /* their sum is at most 2^62 here, or one of them was wrong */
                 (uint32_t)((int64_t)((uint64_t)ts[i] + (uint64_t)dur[i]) > NL_MAX_TIME) |
                 ((uint32_t)(parent[i] >= i) & (uint32_t)(parent[i] != NL_NULL_ROW));
    return !wrong;
}

/* Unknown is the largest number, which becomes 0. */
static bool details_fit(const struct check *check, uint32_t from, uint32_t to)
{
    const struct nl_slice_table *slice = &check->trace->slice;
    const uint8_t *kind = slice->kind;
    const uint32_t *detail = slice->detail;
    uint32_t wrong = 0;
    for (uint32_t i = from; i < to; i++)
        wrong |= (uint32_t)(detail[i] + 1 > check->details[kind[i]]);
    return !wrong;
}

static bool part_fits(const struct check *check, size_t part)
{
    const struct nl_slice_table *slice = &check->trace->slice;
    size_t end = (part + 1) * PART;
    uint32_t from = (uint32_t)(part * PART), to = end < slice->rows ? (uint32_t)end : slice->rows;
    return settled(slice, from, to) && details_fit(check, from, to) &&
           lanes_nested(check->trace, from, to);
}

static void run_task(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct check *check = context;
    bool fits = index < nl_column_count ? column_fits(check->trace, &nl_columns[index])
                                        : part_fits(check, index - nl_column_count);
    if (fits)
        return;
    size_t least = atomic_load(&check->failed);
    while ((!least || index + 1 < least) &&
           !atomic_compare_exchange_weak(&check->failed, &least, index + 1))
        ;
}

static bool say_problem(char what[NL_TRACECHECK_TEXT], const char *text)
{
    (void)snprintf(what, NL_TRACECHECK_TEXT, "%s", text);
    return false;
}

/* Lanes follow each other and hold all slices. */
static bool lanes_fit(const struct nl_trace *t, char what[NL_TRACECHECK_TEXT])
{
    uint64_t at = 0;
    for (uint32_t l = 0; l < t->lane.rows; l++) {
        if (t->lane.first[l] != at)
            return say_problem(what, "a lane begins where none can");
        at += t->lane.count[l];
        if (at > t->slice.rows || (!t->lane.count[l] && t->lane.depth[l]))
            return say_problem(what, "a lane points outside the slices");
    }
    return at == t->slice.rows || say_problem(what, "a slice has no lane");
}

/* What is left are small tables: callers come before what they call. */
static bool tables_fit(const struct nl_trace *t, char what[NL_TRACECHECK_TEXT])
{
    if (t->first_ts > t->last_ts || t->first_ts < -NL_MAX_TIME || t->last_ts > NL_MAX_TIME)
        return say_problem(what, "it begins or ends at impossible times");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < t->stack.rows; i++)
        wrong |=
            (uint32_t)(t->stack.parent[i] >= i) & (uint32_t)(t->stack.parent[i] != NL_NULL_ROW);
    return !wrong || say_problem(what, "a frame of a call stack comes before its caller");
}

static bool say_column(char what[NL_TRACECHECK_TEXT], const struct nl_column_def *column)
{
    (void)snprintf(what, NL_TRACECHECK_TEXT, "%s.%s refers to what is not there",
                   nl_tables[column->table].sql, column->name);
    return false;
}

bool nl_tracecheck_small(const struct nl_trace *trace, char what[NL_TRACECHECK_TEXT])
{
    for (size_t i = 0; i < nl_column_count; i++)
        if ((nl_columns[i].table == NL_T_meta ||
             nl_trace_rows(trace, nl_columns[i].table) <= NL_TRACECHECK_SMALL) &&
            !column_fits(trace, &nl_columns[i]))
            return say_column(what, &nl_columns[i]);
    return true;
}

bool nl_tracecheck(const struct nl_trace *trace, unsigned threads, char what[NL_TRACECHECK_TEXT])
{
    struct check check = {.trace = trace, .parts = (trace->slice.rows + PART - 1) / PART};
    for (unsigned kind = 0; kind < nl_enum_count(NL_ENUM_kind); kind++) {
        enum nl_table_id side = nl_detail_table(kind);
        check.details[kind] = side == NL_TABLE_COUNT ? 0 : nl_trace_rows(trace, side);
    }
    if (!lanes_fit(trace, what))
        return false;
    nl_parallel(threads, nl_column_count + check.parts, run_task, &check);
    size_t failed = check.failed;
    if (!failed)
        return tables_fit(trace, what);
    if (failed > nl_column_count)
        return say_problem(what, "a slice has impossible times, parents, depths or details");
    return say_column(what, &nl_columns[failed - 1]);
}
