/* All columns and parts of the slices as tasks of one pool; the first complaint in their order wins, so that
 * the message does not depend on threads. */
#include "store/tracecheck.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/pool.h"
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
        wrong |= ((uint32_t)(times[i] > NL_TIME_MAX) | (uint32_t)(times[i] < -NL_TIME_MAX)) &
                 (uint32_t)(times[i] != NL_NULL_I64);
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
    case NL_TYPE_ENUM: return all_below_u8(cells, rows, nl_enum_count(column->enumeration));
    default: return true;
    }
}

/* Times within bounds, parents before their children. */
NL_WIDE static bool settled(const struct nl_slice_table *slice, uint32_t from, uint32_t to)
{
    const int64_t *ts = slice->ts, *dur = slice->dur;
    const uint32_t *parent = slice->parent;
    uint32_t wrong = 0;
    for (uint32_t i = from; i < to; i++)
        wrong |= (uint32_t)(dur[i] < 0) | (uint32_t)(ts[i] > NL_TIME_MAX) |
                 (uint32_t)(dur[i] > 2 * NL_TIME_MAX) | (uint32_t)(ts[i] < -NL_TIME_MAX) |
                 /* their sum is at most 2^62 here, or one of them was wrong */
                 (uint32_t)((int64_t)((uint64_t)ts[i] + (uint64_t)dur[i]) > NL_TIME_MAX) |
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
    return settled(slice, from, to) && details_fit(check, from, to);
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

static bool say(char what[NL_TRACECHECK_TEXT], const char *text)
{
    (void)snprintf(what, NL_TRACECHECK_TEXT, "%s", text);
    return false;
}

/* What is left are small tables: lanes hold runs of slices, callers come before what they call. */
static bool tables_fit(const struct nl_trace *t, char what[NL_TRACECHECK_TEXT])
{
    if (t->first_ts > t->last_ts || t->first_ts < -NL_TIME_MAX || t->last_ts > NL_TIME_MAX)
        return say(what, "it begins or ends at impossible times");
    for (uint32_t l = 0; l < t->lane.rows; l++)
        if (t->lane.first[l] > t->slice.rows || t->lane.count[l] > t->slice.rows - t->lane.first[l])
            return say(what, "a lane points outside the slices");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < t->stack.rows; i++)
        wrong |=
            (uint32_t)(t->stack.parent[i] >= i) & (uint32_t)(t->stack.parent[i] != NL_NULL_ROW);
    return !wrong || say(what, "a frame of a call stack comes before its caller");
}

bool nl_tracecheck(const struct nl_trace *trace, unsigned threads, char what[NL_TRACECHECK_TEXT])
{
    struct check check = {.trace = trace, .parts = (trace->slice.rows + PART - 1) / PART};
    for (unsigned kind = 0; kind < nl_enum_count(NL_ENUM_kind); kind++) {
        enum nl_table_id side = nl_detail_table(kind);
        check.details[kind] = side == NL_TABLE_COUNT ? 0 : nl_trace_rows(trace, side);
    }
    nl_parallel(threads, nl_column_count + check.parts, run_task, &check);
    size_t failed = check.failed;
    if (!failed)
        return tables_fit(trace, what);
    if (failed > nl_column_count)
        return say(what, "a slice has impossible times, parents or details");
    const struct nl_column_def *column = &nl_columns[failed - 1];
    (void)snprintf(what, NL_TRACECHECK_TEXT, "%s.%s refers to what is not there",
                   nl_tables[column->table].sql, column->name);
    return false;
}
