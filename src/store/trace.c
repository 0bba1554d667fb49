/* What everybody asks of a finished trace. */
#include "store/trace.h"

#include <sys/mman.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/spill.h"

void *nl_trace_cells(const struct nl_trace *trace, size_t bytes)
{
    void *cells = nl_spill_take(trace->spill, bytes);
    return cells ? cells : nl_pages(bytes);
}

void nl_trace_cells_free(const struct nl_trace *trace, void *cells, size_t bytes)
{
    if (!nl_spill_free(trace->spill, cells))
        nl_pages_free(cells, bytes);
}

void nl_trace_free(struct nl_trace *trace)
{
    if (!trace)
        return;
    if (trace->map) {
        nl_spill_leave(trace->spill, (void *)(uintptr_t)trace->map);
        munmap((void *)(uintptr_t)trace->map, trace->map_size);
    } else {
        for (unsigned i = 0; i < nl_column_count; i++) {
            const struct nl_column_def *column = &nl_columns[i];
            if (column->hop != NL_HOP_NONE)
                continue;
            void *cells = (void *)(uintptr_t)nl_trace_column(trace, column);
            nl_trace_cells_free(trace, cells,
                                (size_t)nl_trace_rows(trace, column->table) * column->size);
        }
        nl_dict_release(&trace->names);
        nl_filled_release(&trace->filled);
    }
    nl_free(trace->roofs);
    nl_free(trace);
}

void nl_trace_set_roofs(struct nl_trace *trace, struct nl_host_roofs *roofs)
{
    nl_free(trace->roofs);
    trace->roofs = roofs;
}

uint64_t nl_trace_bytes(const struct nl_trace *trace)
{
    uint64_t bytes = trace->names.offsets[trace->names.count] + 8u * trace->names.count;
    if (trace->filled.count)
        bytes += trace->filled.offsets[trace->filled.count] + 8u * trace->filled.count;
    for (unsigned i = 0; i < nl_column_count; i++)
        if (nl_columns[i].hop == NL_HOP_NONE)
            bytes += (uint64_t)nl_trace_rows(trace, nl_columns[i].table) * nl_columns[i].size;
    return bytes;
}

struct nl_str nl_trace_text(const struct nl_trace *trace, uint32_t id, struct nl_buf *room)
{
    uint32_t number = id & ~NL_FILLED;
    if (!(id & NL_FILLED))
        return nl_trace_name(trace, id);
    nl_buf_clear(room);
    if (number < trace->filled.count)
        nl_filled_write(room, nl_trace_name(trace, nl_filled_pattern(&trace->filled, number)),
                        nl_filled_packed(&trace->filled, number));
    return (struct nl_str){room->len ? room->ptr : "", room->len};
}

const struct nl_column_def *nl_table_column(enum nl_table_id table, const char *name)
{
    const struct nl_table_def *def = &nl_tables[table];
    for (unsigned i = def->first; i < def->first + def->count; i++)
        if (nl_str_is(nl_str(nl_columns[i].name), name))
            return &nl_columns[i];
    return NULL;
}

bool nl_trace_is_cut(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++) {
        struct nl_str item = nl_trace_name(trace, trace->coverage.item[row]);
        if (nl_str_starts(item, "truncated") || nl_str_contains(item, "cut short"))
            return true;
    }
    return false;
}

int64_t nl_slice_rank(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t process = nl_slice_process(trace, slice);
    return process == NL_NULL_ROW ? NL_NULL_I64 : trace->process.rank[process];
}

int64_t nl_lane_rank(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t process = trace->lane.process[lane], device = trace->lane.device[lane];
    if (process != NL_NULL_ROW && trace->process.rank[process] != NL_NULL_I64)
        return trace->process.rank[process];
    return device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.rank[device];
}

bool nl_lane_shows_threads(const struct nl_trace *trace, uint32_t lane)
{
    switch (trace->lane.kind[lane]) {
    case NL_LANE_THREAD:
    case NL_LANE_ANNOTATION:
    case NL_LANE_PYTHON:
    case NL_LANE_NVTX:
    case NL_LANE_PROCESS:
    case NL_LANE_GENERIC: return trace->lane.device[lane] == NL_NULL_ROW;
    default: return false;
    }
}

bool nl_has_device_work(const struct nl_trace *trace)
{
    return trace->kernel.rows || trace->copy.rows || trace->memset.rows || trace->graph.rows;
}

const char *nl_device_word(const struct nl_trace *trace, uint32_t device)
{
    bool google = device < trace->device.rows &&
                  nl_str_is(nl_trace_name(trace, trace->device.vendor[device]), "google");
    return google ? "TPU" : "GPU";
}

/* First row in [low, high) whose depth exceeds `depth`. */
static uint32_t after_depth(const struct nl_trace *t, uint32_t low, uint32_t high, unsigned depth)
{
    return NL_FIRST(i, low, high, t->slice.depth[i] > depth);
}

/* Number of rows of [low, high) that start at or before ts, searched from `near`: a few steps when
 * the answer is close, a binary search at worst. */
static uint32_t count_started(const int64_t *starts, uint32_t low, uint32_t high, uint32_t near,
                              int64_t ts)
{
    uint32_t step = 1;
    if (near < high && starts[near] <= ts) {
        low = near + 1;
        while (high - low > step && starts[low + step] <= ts) {
            low += step + 1;
            step *= 2;
        }
        if (high - low > step)
            high = low + step;
    } else {
        high = near < high ? near : high;
        while (high - low > step && starts[high - step] > ts) {
            high -= step;
            step *= 2;
        }
        if (high - low > step)
            low = high - step;
    }
    return NL_FIRST(i, low, high, starts[i] > ts);
}

static void enter_lane(const struct nl_trace *t, struct nl_lane_cursor *cursor, uint32_t lane)
{
    uint32_t row = t->lane.first[lane], end = row + t->lane.count[lane];
    cursor->lane = lane;
    cursor->depths = 0;
    while (row < end && cursor->depths < NL_CURSOR_DEPTHS) {
        cursor->first[cursor->depths] = cursor->at[cursor->depths] = row;
        row = after_depth(t, row, end, cursor->depths);
        cursor->first[++cursor->depths] = row;
    }
}

uint32_t nl_lane_slice_at(const struct nl_trace *t, struct nl_lane_cursor *cursor, uint32_t lane,
                          int64_t ts)
{
    if (cursor->lane != lane || !cursor->depths)
        enter_lane(t, cursor, lane);
    uint32_t found = NL_NULL_ROW;
    for (unsigned depth = 0; depth < cursor->depths; depth++) {
        uint32_t first = cursor->first[depth], end = cursor->first[depth + 1];
        uint32_t after = count_started(t->slice.ts, first, end, cursor->at[depth], ts);
        if (after == first)
            break;
        cursor->at[depth] = after - 1;
        if (nl_slice_end(t, after - 1) <= ts && t->slice.ts[after - 1] != ts)
            break;
        found = after - 1;
    }
    return found;
}
