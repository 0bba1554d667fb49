/*
 * The merge used by every breakdown. Most devices have one busy lane and some quiet ones, so the
 * run on top of the heap is read on for as long as it stays ahead of the second. Up to eight runs
 * are no heap but a list.
 */
#include "timeline/worksweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/search.h"

#define FEW_RUNS 8

/* Kinds that are not named are no work. */
static const unsigned char kind_class[UINT8_MAX + 1] = {
    [NL_KIND_KERNEL] = NL_IS_COMPUTE, /* or what the kernel's class says */
    [NL_KIND_GRAPH] = NL_IS_COMPUTE,
    [NL_KIND_MEMCPY] = NL_IS_COPY,
    [NL_KIND_MEMSET] = NL_IS_COPY,
};

static const unsigned char kernel_class[UINT8_MAX + 1] = {
    [NL_CLASS_UNKNOWN] = NL_IS_COMPUTE,    [NL_CLASS_COMPUTE] = NL_IS_COMPUTE,
    [NL_CLASS_COMMUNICATION] = NL_IS_COMM, [NL_CLASS_COPY] = NL_IS_COPY,
    [NL_CLASS_MEMSET] = NL_IS_COPY,        [NL_CLASS_WAIT] = NL_IS_NO_WORK,
};

static inline enum nl_work_class work_class(const struct nl_trace *trace, uint32_t row,
                                            uint8_t kind)
{
    uint32_t detail = trace->slice.detail[row];
    if (kind == NL_KIND_KERNEL && detail < trace->kernel.rows)
        return (enum nl_work_class)kernel_class[trace->kernel.class[detail]];
    return (enum nl_work_class)kind_class[kind];
}

static bool lane_has_work(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t count = trace->lane.count[lane];
    if (!count)
        return false;
    const uint8_t *kinds = trace->slice.kind + trace->lane.first[lane];
    if (kind_class[kinds[0]] != NL_IS_NO_WORK)
        return true;
    for (int kind = 0; kind <= UINT8_MAX; kind++)
        if (kind_class[kind] != NL_IS_NO_WORK && memchr(kinds, kind, count))
            return true;
    return false;
}

static bool lane_wanted(const struct nl_trace *trace, const struct nl_window *window,
                        const struct nl_work_lane *lane)
{
    if (window && window->has_rank && lane->rank != window->rank)
        return false;
    if (!window || !window->has_device)
        return true;
    return lane->device != NL_NULL_ROW && trace->device.ordinal[lane->device] == window->device;
}

/* Devices are distinguished by their row; without one, by the process. */
static uint64_t device_key(const struct nl_work_lane *lane)
{
    if (lane->device != NL_NULL_ROW)
        return lane->device;
    return (uint64_t)1 << 32 | lane->process;
}

size_t nl_work_device_lanes(const struct nl_work_lane *lanes, size_t count)
{
    size_t same = 1;
    while (same < count && device_key(&lanes[same]) == device_key(&lanes[0]))
        same++;
    return same;
}

size_t nl_work_slices(const struct nl_trace *trace, const struct nl_work_lane *lanes, size_t count)
{
    size_t slices = 0;
    for (size_t i = 0; i < count; i++)
        slices += trace->lane.count[lanes[i].lane];
    return slices;
}

struct nl_work_device nl_work_device(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                                     size_t count)
{
    uint32_t row = lanes[0].device;
    struct nl_work_device device = {row, lanes[0].process, lanes[0].rank,
                                    row == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[row]};
    for (size_t i = 1; i < count; i++) {
        if (lanes[i].process != device.process)
            device.process = NL_NULL_ROW;
        if (lanes[i].rank != device.rank)
            device.rank = NL_NULL_I64;
    }
    return device;
}

int nl_work_device_order(struct nl_work_device a, struct nl_work_device b)
{
    if (a.rank != b.rank)
        return a.rank < b.rank ? -1 : 1;
    if (a.ordinal != b.ordinal)
        return a.ordinal < b.ordinal ? -1 : 1;
    if (a.device != b.device)
        return a.device < b.device ? -1 : 1;
    return a.process < b.process ? -1 : a.process > b.process;
}

static int by_device(const void *left, const void *right)
{
    const struct nl_work_lane *a = left, *b = right;
    uint64_t x = device_key(a), y = device_key(b);
    if (x != y)
        return x < y ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

size_t nl_work_lanes(const struct nl_trace *trace, const struct nl_window *window,
                     struct nl_work_lane **lanes)
{
    size_t count = 0;
    struct nl_work_lane *found = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *found);
    for (uint32_t i = 0; i < trace->lane.rows; i++) {
        struct nl_work_lane lane = {trace->lane.device[i], trace->lane.process[i], i,
                                    nl_lane_rank(trace, i)};
        if (lane_wanted(trace, window, &lane) && lane_has_work(trace, i))
            found[count++] = lane;
    }
    qsort(found, count, sizeof *found, by_device);
    *lanes = found;
    return count;
}

static int by_start(const void *left, const void *right)
{
    const struct nl_sweep_run *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* First row of [low, high) whose depth is over `depth`. */
static uint32_t depth_end(const struct nl_trace *trace, uint32_t low, uint32_t high, uint16_t depth)
{
    return NL_FIRST(i, low, high, trace->slice.depth[i] > depth);
}

static void add_runs(struct nl_sweep *sweep, uint32_t lane)
{
    const struct nl_trace *trace = sweep->trace;
    uint32_t row = trace->lane.first[lane], last = row + trace->lane.count[lane];
    while (row < last) {
        uint32_t end = depth_end(trace, row, last, trace->slice.depth[row]);
        nl_grow(&sweep->runs, &sweep->run_cap, sweep->run_count + 1);
        sweep->runs[sweep->run_count++] = (struct nl_sweep_run){trace->slice.ts[row], row, end};
        row = end;
    }
}

/* First row of [low, high), all of one depth, that begins at or after `ts`. */
static uint32_t first_from(const struct nl_trace *trace, uint32_t low, uint32_t high, int64_t ts)
{
    return NL_FIRST(i, low, high, trace->slice.ts[i] >= ts);
}

static bool is_timed_work(const struct nl_trace *trace, uint32_t row)
{
    return work_class(trace, row, trace->slice.kind[row]) != NL_IS_NO_WORK &&
           trace->slice.dur[row] != NL_NULL_I64;
}

void nl_work_beyond(const struct nl_trace *trace, const struct nl_window *window,
                    const struct nl_work_lane *lanes, size_t count, uint32_t *before,
                    uint32_t *after)
{
    *before = *after = NL_NULL_ROW;
    bool some = window && window->has_time && window->start < window->end;
    for (size_t i = 0; some && i < count; i++) {
        uint32_t first = trace->lane.first[lanes[i].lane];
        uint32_t last = first + trace->lane.count[lanes[i].lane];
        last = depth_end(trace, first, last, trace->slice.depth[first]);
        uint32_t row = first_from(trace, first, last, window->start);
        while (row > first && !is_timed_work(trace, row - 1))
            row--;
        if (row-- > first &&
            (*before == NL_NULL_ROW || nl_slice_end(trace, row) > nl_slice_end(trace, *before)))
            *before = row;
        row = first_from(trace, first, last, window->end);
        while (row < last && !is_timed_work(trace, row))
            row++;
        if (row < last && (*after == NL_NULL_ROW || trace->slice.ts[row] < trace->slice.ts[*after]))
            *after = row;
    }
}

void nl_sweep_open(struct nl_sweep *sweep, const struct nl_trace *trace,
                   const struct nl_window *window, const struct nl_work_lane *lanes, size_t count)
{
    *sweep = (struct nl_sweep){.trace = trace, .window_start = INT64_MIN, .window_end = INT64_MAX};
    if (window && window->has_time) {
        sweep->window_start = window->start;
        sweep->window_end = window->end;
    }
    for (size_t i = 0; i < count; i++)
        add_runs(sweep, lanes[i].lane);
    if (sweep->run_count) /* ascending order is a heap */
        qsort(sweep->runs, sweep->run_count, sizeof *sweep->runs, by_start);
}

void nl_sweep_close(struct nl_sweep *sweep)
{
    nl_free(sweep->runs);
}

/* Puts one slice into *work; false if it is not work or is outside the window. */
static inline bool read_work(struct nl_sweep *sweep, uint32_t row, struct nl_work *work)
{
    const struct nl_trace *trace = sweep->trace;
    uint8_t kind = trace->slice.kind[row];
    enum nl_work_class class = work_class(trace, row, kind);
    if (class == NL_IS_NO_WORK)
        return false;
    int64_t start = trace->slice.ts[row], dur = trace->slice.dur[row], end = start;
    if (dur != NL_NULL_I64 && dur > 0)
        end += dur;
    bool before = end <= sweep->window_start && !(start == end && start == sweep->window_start);
    if (before || start >= sweep->window_end)
        return false;
    sweep->seen[kind]++;
    if (dur == NL_NULL_I64)
        return false;
    work->start = start < sweep->window_start ? sweep->window_start : start;
    work->end = end > sweep->window_end ? sweep->window_end : end;
    work->class = class;
    work->slice = row;
    return true;
}

/* With few runs the earliest is found by comparing all, without a branch to mispredict. */
static struct nl_sweep_run *earliest_of_few(const struct nl_sweep *sweep)
{
    size_t best = 0;
    int64_t least = sweep->runs[0].start;
    for (size_t i = 1; i < sweep->run_count; i++) {
        int64_t start = sweep->runs[i].start;
        best = start < least ? i : best;
        least = start < least ? start : least;
    }
    return &sweep->runs[best];
}

/* Moves a run on to `row`; drops it at its end. */
static void advance(struct nl_sweep *sweep, struct nl_sweep_run *run, uint32_t row)
{
    run->row = row;
    if (row < run->last && sweep->trace->slice.ts[row] < sweep->window_end)
        run->start = sweep->trace->slice.ts[row];
    else
        *run = sweep->runs[--sweep->run_count];
}

static size_t next_of_few(struct nl_sweep *sweep, struct nl_work *batch, size_t room)
{
    size_t count = 0;
    while (count < room && sweep->run_count) {
        struct nl_sweep_run *run = earliest_of_few(sweep);
        count += read_work(sweep, run->row, &batch[count]);
        advance(sweep, run, run->row + 1);
    }
    return count;
}

static size_t next_of_many(struct nl_sweep *sweep, struct nl_work *batch, size_t room)
{
    size_t count = 0;
    const int64_t *ts = sweep->trace->slice.ts;
    while (count < room && sweep->run_count) {
        struct nl_sweep_run *run = &sweep->runs[0];
        int64_t second = INT64_MAX;
        for (size_t i = 1; i < 3 && i < sweep->run_count; i++)
            if (sweep->runs[i].start < second)
                second = sweep->runs[i].start;
        uint32_t row = run->row;
        do {
            count += read_work(sweep, row, &batch[count]);
            row++;
        } while (count < room && row < run->last && ts[row] <= second);
        advance(sweep, run, row);
        NL_HEAP_SINK(sweep->runs, sweep->run_count, a, b, a->start < b->start);
    }
    return count;
}

size_t nl_sweep_next(struct nl_sweep *sweep, struct nl_work *batch, size_t room)
{
    if (sweep->run_count <= FEW_RUNS && sweep->run_count > 1)
        return next_of_few(sweep, batch, room);
    return next_of_many(sweep, batch, room);
}
