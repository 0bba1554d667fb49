/* capturewindow — see capturewindow.h. Captures of one device stand next to each other when spans
 * are sorted by device and start, so each is looked at with the one before it. */
#include "timeline/capturewindow.h"

#include <stdlib.h>

#include "base/mem.h"

struct nl_device_span *nl_device_spans(const struct nl_trace *trace)
{
    struct nl_device_span *spans = nl_alloc(((size_t)trace->device.rows + 1) * sizeof *spans);
    for (uint32_t i = 0; i <= trace->device.rows; i++)
        spans[i] = (struct nl_device_span){INT64_MAX, INT64_MIN, NL_NULL_I64, i};
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t device = trace->lane.device[lane], row = trace->lane.first[lane];
        uint32_t end = row + trace->lane.count[lane];
        if (device == NL_NULL_ROW || trace->lane.kind[lane] != NL_LANE_STREAM || row == end)
            continue;
        struct nl_device_span *span = &spans[device];
        span->start = trace->slice.ts[row] < span->start ? trace->slice.ts[row] : span->start;
        span->rank = nl_lane_rank(trace, lane);
        for (; row < end && !trace->slice.depth[row]; row++) {
            int64_t stop = nl_slice_end(trace, row);
            span->end = stop > span->end ? stop : span->end;
        }
    }
    return spans;
}

bool nl_is_same_device(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    const struct nl_device_table *table = &trace->device;
    return table->source[a] != table->source[b] && table->ordinal[a] == table->ordinal[b] &&
           table->name[a] == table->name[b] && table->uuid[a] == table->uuid[b];
}

struct sorted {
    struct nl_device_span span;
    int64_t key[4]; /* rank, ordinal, name, uuid */
};

static int by_device(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    for (size_t i = 0; i < 4; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    if (a->span.start != b->span.start)
        return a->span.start < b->span.start ? -1 : 1;
    return a->span.device < b->span.device ? -1 : a->span.device > b->span.device;
}

/* Devices with work, by what they are and then by time; nl_free it. */
static struct sorted *sort_spans(const struct nl_trace *trace, size_t *count)
{
    struct nl_device_span *spans = nl_device_spans(trace);
    struct sorted *sorted = nl_alloc(((size_t)trace->device.rows + 1) * sizeof *sorted);
    *count = 0;
    for (uint32_t i = 0; i < trace->device.rows; i++)
        if (spans[i].start <= spans[i].end)
            sorted[(*count)++] = (struct sorted){spans[i],
                                                 {spans[i].rank, trace->device.ordinal[i],
                                                  trace->device.name[i], trace->device.uuid[i]}};
    qsort(sorted, *count, sizeof *sorted, by_device);
    nl_free(spans);
    return sorted;
}

static bool follows(const struct nl_trace *trace, const struct nl_device_span *before,
                    const struct nl_device_span *after)
{
    return before->rank == after->rank && after->start >= before->end &&
           nl_is_same_device(trace, before->device, after->device);
}

struct nl_capture_window *nl_capture_windows(const struct nl_trace *trace)
{
    size_t count;
    bool any = false;
    if (trace->device.rows < 2 || trace->source.rows < 2)
        return NULL;
    struct sorted *sorted = sort_spans(trace, &count);
    struct nl_capture_window *windows = nl_alloc(trace->device.rows * sizeof *windows);
    for (uint32_t i = 0; i < trace->device.rows; i++)
        windows[i] = (struct nl_capture_window){INT64_MIN, INT64_MAX};
    for (size_t i = 1; i < count; i++) {
        const struct nl_device_span *a = &sorted[i - 1].span, *b = &sorted[i].span;
        if (!follows(trace, a, b))
            continue;
        any = true;
        windows[a->device].end = windows[b->device].start = a->end + (b->start - a->end) / 2;
    }
    nl_free(sorted);
    if (any)
        return windows;
    nl_free(windows);
    return NULL;
}

bool nl_capture_holds(const struct nl_capture_window *windows, uint32_t device,
                      const struct nl_found_step *step)
{
    if (!windows || device == NL_NULL_ROW)
        return true;
    int64_t middle = step->start + (step->end - step->start) / 2;
    return middle >= windows[device].start && middle < windows[device].end;
}
