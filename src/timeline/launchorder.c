/*
 * Lanes are a few ascending runs each, one per depth, so what is in order is found first, and then
 * merged through a heap: besides the result, nothing of the size of the launches is kept.
 */
#include "timeline/launchorder.h"

#include "base/heap.h"

/* Rows in which kernels and graphs ascend; `row` is one of those. */
struct launch_run {
    int64_t start, end; /* of `row` */
    uint32_t row, last, place;
};

struct runs {
    struct launch_run *items;
    size_t count, cap;
};

static inline bool is_launch(const struct nl_trace *trace, uint32_t row)
{
    return trace->slice.kind[row] == NL_KIND_KERNEL || trace->slice.kind[row] == NL_KIND_GRAPH;
}

static bool is_wanted(const struct nl_trace *trace, uint32_t lane, int64_t rank, uint32_t device)
{
    return trace->lane.device[lane] == device && trace->lane.kind[lane] == NL_LANE_STREAM &&
           nl_lane_rank(trace, lane) == rank;
}

static void add_run(struct runs *runs, uint32_t row, int64_t start, int64_t end)
{
    nl_grow(&runs->items, &runs->cap, runs->count + 1);
    runs->items[runs->count] = (struct launch_run){
        .start = start, .end = end, .row = row, .last = row + 1, .place = (uint32_t)runs->count};
    runs->count++;
}

/* Runs of a lane; numbers its names. `numbers`: per name, + 1; 0 = none yet. */
static void add_lane(struct nl_launch_order *order, const struct nl_trace *trace, uint32_t lane,
                     uint32_t *numbers, struct runs *runs)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    int64_t start = INT64_MAX, end = INT64_MAX;
    for (uint32_t row = first; row < last; row++) {
        if (!is_launch(trace, row))
            continue;
        uint32_t name = trace->slice.name[row];
        if (!numbers[name]) {
            order->name_ids[order->name_count] = name;
            numbers[name] = ++order->name_count;
        }
        int64_t ts = trace->slice.ts[row], to = nl_slice_end(trace, row);
        if (ts < start || (ts == start && to < end))
            add_run(runs, row, ts, to);
        else
            runs->items[runs->count - 1].last = row + 1;
        start = ts;
        end = to;
        order->count++;
    }
}

static inline bool comes_first(const struct launch_run *a, const struct launch_run *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    return a->end != b->end ? a->end < b->end : a->place < b->place;
}

/* To the next launch of the first run; drops it at its end. */
static void advance(struct runs *runs, const struct nl_trace *trace)
{
    struct launch_run *run = &runs->items[0];
    do
        run->row++;
    while (run->row < run->last && !is_launch(trace, run->row));
    if (run->row < run->last) {
        run->start = trace->slice.ts[run->row];
        run->end = nl_slice_end(trace, run->row);
    } else {
        *run = runs->items[--runs->count];
    }
    if (runs->count > 1)
        NL_HEAP_SINK(runs->items, runs->count, a, b, comes_first(a, b));
}

static void merge_runs(struct nl_launch_order *order, const struct nl_trace *trace,
                       const uint32_t *numbers, struct runs *all)
{
    struct runs runs = {.items = all->items}; /* the heap grows over those that it takes */
    int64_t busy_until = INT64_MIN;
    for (size_t i = 0; i < all->count; i++) {
        struct launch_run run = all->items[i];
        NL_HEAP_ADD(runs.items, runs.count, run, a, b, comes_first(a, b));
    }
    for (size_t i = 0; i < order->count; i++) {
        const struct launch_run *run = &runs.items[0];
        uint32_t number = numbers[trace->slice.name[run->row]] - 1;
        order->slices[i] = run->row;
        order->names[i] = number;
        if (busy_until != INT64_MIN && run->start > busy_until)
            order->idle[number] += (double)(run->start - busy_until);
        busy_until = run->end > busy_until ? run->end : busy_until;
        advance(&runs, trace);
    }
}

void nl_launch_order_init(struct nl_launch_order *order, const struct nl_trace *trace, int64_t rank,
                          uint32_t device)
{
    uint32_t *numbers = nl_zalloc(trace->names.count * sizeof *numbers);
    struct runs runs = {0};
    *order = (struct nl_launch_order){0};
    order->name_ids = nl_alloc((trace->names.count + (size_t)1) * sizeof *order->name_ids);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (is_wanted(trace, lane, rank, device))
            add_lane(order, trace, lane, numbers, &runs);
    order->idle = nl_zalloc((order->name_count + (size_t)1) * sizeof *order->idle);
    order->slice_room = nl_bigarray_take((order->count + 1) * sizeof *order->slices);
    order->name_room = nl_bigarray_take((order->count + 1) * sizeof *order->names);
    order->slices = order->slice_room.memory;
    order->names = order->name_room.memory;
    merge_runs(order, trace, numbers, &runs);
    nl_free(runs.items);
    nl_free(numbers);
}

void nl_launch_order_release(struct nl_launch_order *order)
{
    nl_bigarray_free(&order->slice_room);
    nl_bigarray_free(&order->name_room);
    nl_free(order->name_ids);
    nl_free(order->idle);
    *order = (struct nl_launch_order){0};
}
