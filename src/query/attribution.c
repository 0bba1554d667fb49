/*
 * Self time is one walk over the rows. Launch ranges are a sweep per thread over the starts of
 * ranges and launches, with the open ranges on a stack.
 */
#include "query/attribution.h"

#include "base/mem.h"
#include "base/sort.h"

int64_t *nl_self_times(const struct nl_trace *trace, uint32_t first, uint32_t last)
{
    int64_t *self = nl_alloc(((size_t)(last - first) + 1) * sizeof *self);
    const int64_t *dur = trace->slice.dur, *ts = trace->slice.ts;
    for (uint32_t row = first; row < last; row++)
        self[row - first] = dur[row];
    for (uint32_t row = first; row < last; row++) {
        uint32_t parent = trace->slice.parent[row];
        if (parent == NL_NULL_ROW || parent < first || parent >= last || dur[parent] == NL_NULL_I64)
            continue;
        int64_t start = ts[row] > ts[parent] ? ts[row] : ts[parent];
        int64_t end = nl_slice_end(trace, row), stop = nl_slice_end(trace, parent);
        int64_t covered = (end < stop ? end : stop) - start;
        if (covered > 0)
            self[parent - first] -= covered;
    }
    for (uint32_t row = first; row < last; row++)
        if (dur[row] != NL_NULL_I64 && self[row - first] < 0)
            self[row - first] = 0;
    return self;
}

/* A range that opens, or a launch (of the device work in row `work` of the answer). */
struct event {
    uint32_t slice, thread;
    size_t work;
};
#define IS_RANGE SIZE_MAX

struct events {
    struct event *items;
    size_t count, cap;
};

static void add_event(const struct nl_trace *trace, struct events *events, uint32_t slice,
                      size_t work)
{
    uint32_t thread = trace->lane.thread[trace->slice.lane[slice]];
    if (thread == NL_NULL_ROW)
        return;
    nl_grow(&events->items, &events->cap, events->count + 1);
    events->items[events->count++] = (struct event){slice, thread, work};
}

static bool is_device_work(unsigned kind)
{
    return kind == NL_KIND_KERNEL || kind == NL_KIND_MEMCPY || kind == NL_KIND_MEMSET ||
           kind == NL_KIND_GRAPH;
}

/* By thread, then by start; ranges first and outer ones before inner ones, because rows of a lane
 * are in order of depth and both sorts are stable. */
static struct nl_keyed *sort_events(const struct nl_trace *trace, const struct events *events)
{
    struct nl_keyed *order = nl_alloc((2 * events->count + 1) * sizeof *order);
    for (size_t i = 0; i < events->count; i++)
        order[i] =
            (struct nl_keyed){nl_sort_key(trace->slice.ts[events->items[i].slice]), (uint32_t)i};
    nl_sort_keyed(order, order + events->count, events->count);
    for (size_t i = 0; i < events->count; i++)
        order[i].key = events->items[order[i].row].thread;
    nl_sort_keyed(order, order + events->count, events->count);
    return order;
}

static void sweep(const struct nl_trace *trace, const struct events *events,
                  struct nl_launch_range *answer)
{
    struct nl_keyed *order = sort_events(trace, events);
    uint32_t *open = nl_alloc((events->count + 1) * sizeof *open);
    size_t depth = 0;
    uint32_t thread = NL_NULL_ROW;
    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->items[order[i].row];
        if (event->thread != thread) {
            thread = event->thread;
            depth = 0;
        }
        if (event->work == IS_RANGE) {
            open[depth++] = event->slice;
            continue;
        }
        while (depth && nl_slice_end(trace, open[depth - 1]) <= trace->slice.ts[event->slice])
            depth--;
        if (depth)
            answer[event->work].range = open[depth - 1];
    }
    nl_free(open);
    nl_free(order);
}

struct nl_launch_range *nl_launch_ranges(const struct nl_trace *trace, unsigned kind, size_t *count)
{
    struct nl_launch_range *answer = NULL;
    struct events events = {0};
    size_t cap = 0, rows = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (trace->slice.kind[row] == kind)
            add_event(trace, &events, row, IS_RANGE);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        if (!is_device_work(trace->slice.kind[row]))
            continue;
        nl_grow(&answer, &cap, rows + 1);
        answer[rows] = (struct nl_launch_range){row, NL_NULL_ROW};
        uint32_t launch = trace->slice.link[row];
        if (launch != NL_NULL_ROW)
            add_event(trace, &events, launch, rows);
        rows++;
    }
    sweep(trace, &events, answer);
    nl_free(events.items);
    *count = rows;
    return answer;
}
