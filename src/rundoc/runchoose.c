/*
 * Which events the timeline lists. All of them if the limit allows; else the earliest of device
 * work, operators and layers, and what room is left goes to the earliest of the others. So the
 * limit cuts the timeline at one place per class and nothing is picked by its length.
 */
#include "base/heap.h"
#include "base/mem.h"
#include "base/sort.h"
#include "rundoc/runparts.h"

#define DEFAULT_EVENTS 20000

/* The `room` least of (time, row) seen so far: a heap with the greatest on top. */
struct earliest {
    struct nl_keyed *items;
    size_t count, room;
};

static bool later(struct nl_keyed a, struct nl_keyed b)
{
    return a.key != b.key ? a.key > b.key : a.row > b.row;
}

static void offer(struct earliest *heap, struct nl_keyed item)
{
    if (heap->count < heap->room) {
        NL_HEAP_ADD(heap->items, heap->count, item, a, b, later(*a, *b));
    } else if (heap->room && later(heap->items[0], item)) {
        heap->items[0] = item;
        NL_HEAP_SINK(heap->items, heap->count, a, b, later(*a, *b));
    }
}

static bool is_first_class(uint8_t kind)
{
    return kind == NL_KIND_KERNEL || kind == NL_KIND_MEMCPY || kind == NL_KIND_MEMSET ||
           kind == NL_KIND_GRAPH || kind == NL_KIND_DEVICE_OTHER || kind == NL_KIND_COLLECTIVE ||
           kind == NL_KIND_OP || kind == NL_KIND_LAYER;
}

static size_t take_class(const struct nl_trace *trace, bool first_class, struct nl_keyed *items,
                         size_t room)
{
    struct earliest heap = {.items = items, .room = room};
    for (uint32_t row = 0; room && row < nl_trace_timed(trace); row++)
        if (is_first_class(trace->slice.kind[row]) == first_class)
            offer(&heap, (struct nl_keyed){nl_sort_key(trace->slice.ts[row]), row});
    return heap.count;
}

void run_choose_events(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    uint64_t limit = parts->options->event_limit ? parts->options->event_limit : DEFAULT_EVENTS;
    uint32_t slices = nl_trace_timed(trace);
    size_t room = limit < slices ? (size_t)limit : slices, count = room;
    struct nl_keyed *items = nl_alloc((room + 1) * 2 * sizeof *items);
    if (room == slices) {
        for (uint32_t row = 0; row < room; row++)
            items[row] = (struct nl_keyed){nl_sort_key(trace->slice.ts[row]), row};
    } else {
        count = take_class(trace, true, items, room);
        count += take_class(trace, false, items + count, room - count);
        for (size_t i = 0; i < count; i++) /* rows in order, so that equal times are too */
            items[i] = (struct nl_keyed){items[i].row, items[i].row};
        nl_sort_keyed(items, items + room + 1, count);
        for (size_t i = 0; i < count; i++)
            items[i].key = nl_sort_key(trace->slice.ts[items[i].row]);
    }
    nl_sort_keyed(items, items + room + 1, count);
    parts->listed = nl_alloc((count + 1) * sizeof *parts->listed);
    parts->listed_count = count;
    for (size_t i = 0; i < count; i++)
        parts->listed[i] = items[i].row;
    nl_free(items);
}
