/* How far an account reaches: everything that the device and the threads of
 * its processes recorded. */
#include "account/accountmake.h"

#include "base/search.h"

static bool is_host_lane(enum nl_lanekind kind)
{
    switch (kind) {
    case NL_LANE_THREAD:
    case NL_LANE_ANNOTATION:
    case NL_LANE_PYTHON:
    case NL_LANE_NVTX:
    case NL_LANE_OSRT:
    case NL_LANE_OVERHEAD: return true;
    default: return false;
    }
}

/* First row of [low, high) at depth 0 that begins at or after `ts`. */
static uint32_t first_from(const struct nl_trace *trace, uint32_t low, uint32_t high, int64_t ts)
{
    return NL_FIRST(i, low, high, trace->slice.depth[i] || trace->slice.ts[i] >= ts);
}

/* Widens the span by a lane's outermost slices, clipped to the window. They do not overlap, so the
 * first and the last inside it are enough. */
static void widen(const struct nl_account_maker *maker, uint32_t lane, int64_t *start, int64_t *end)
{
    const struct nl_trace *trace = maker->trace;
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    if (first == last)
        return;
    int64_t from = maker->window.has_time ? maker->window.start : INT64_MIN;
    int64_t to = maker->window.has_time ? maker->window.end : INT64_MAX;
    uint32_t high = last;
    if (to < INT64_MAX || trace->slice.depth[last - 1])
        high = first_from(trace, first, last, to);
    if (high == first)
        return;
    int64_t lane_end = nl_slice_end(trace, high - 1);
    uint32_t low = first;
    if (from > trace->slice.ts[first])
        low = first_from(trace, first, high, from);
    if (low > first && nl_slice_end(trace, low - 1) > from)
        low--;
    if (low == high)
        return;
    int64_t lane_start = trace->slice.ts[low] > from ? trace->slice.ts[low] : from;
    lane_end = lane_end < to ? lane_end : to;
    if (lane_start < *start)
        *start = lane_start;
    if (lane_end > *end)
        *end = lane_end;
}

bool nl_account_host_span(const struct nl_account_maker *maker, uint32_t process, int64_t *start,
                          int64_t *end)
{
    const struct nl_trace *trace = maker->trace;
    *start = INT64_MAX;
    *end = INT64_MIN;
    const struct nl_lanes_of *of = &maker->lanes_of;
    for (uint32_t i = of->first[process]; i < of->first[process + 1]; i++)
        if (is_host_lane((enum nl_lanekind)trace->lane.kind[of->items[i]]))
            widen(maker, of->items[i], start, end);
    return *start < *end;
}

static bool is_among(const struct nl_work_lane *lanes, size_t count, uint32_t process)
{
    for (size_t i = 0; i < count; i++)
        if (lanes[i].process == process)
            return true;
    return false;
}

void nl_account_span(const struct nl_account_maker *maker, const struct nl_work_lane *lanes,
                     size_t count, int64_t *start, int64_t *end)
{
    *start = INT64_MAX;
    *end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t from, to;
        if (lanes[i].process == NL_NULL_ROW || is_among(lanes, i, lanes[i].process) ||
            !nl_account_host_span(maker, lanes[i].process, &from, &to))
            continue;
        *start = from < *start ? from : *start;
        *end = to > *end ? to : *end;
    }
}
