/* hostbusy — see hostbusy.h. */
#include "timeline/hostbusy.h"

#include "base/sum.h"
#include "timeline/interval.h"

static bool is_work(unsigned kind)
{
    switch (kind) {
    case NL_KIND_OP:
    case NL_KIND_API:
    case NL_KIND_PYTHON:
    case NL_KIND_LAYER:
    case NL_KIND_COMPILE:
    case NL_KIND_GC: return true;
    default: return false;
    }
}

static int64_t clipped(const struct nl_trace *trace, uint32_t slice, int64_t start, int64_t end)
{
    int64_t from = trace->slice.ts[slice], to = nl_slice_end(trace, slice);
    from = from > start ? from : start;
    to = to < end ? to : end;
    return to > from ? to - from : 0;
}

/* Of a call, what it waits for the device. */
static int64_t waited(const struct nl_trace *trace, const struct nl_api_roles *roles,
                      uint32_t slice, int64_t start, int64_t end)
{
    int64_t ns = clipped(trace, slice, start, end);
    if (nl_api_slice_blocks(roles, trace, slice))
        return ns;
    if (nl_api_slice_role(roles, trace, slice) == NL_API_LAUNCH && ns > NL_BUSY_LAUNCH_NS)
        return ns - NL_BUSY_LAUNCH_NS;
    return 0;
}

/* Outermost slices that are work; where a range is outermost, what it holds. */
static void add_lane(const struct nl_trace *trace, uint32_t lane, int64_t start, int64_t end,
                     struct nl_intervals *work)
{
    uint32_t row = trace->lane.first[lane], stop = row + trace->lane.count[lane];
    for (; row < stop; row++) {
        uint32_t parent = trace->slice.parent[row];
        if (!is_work(trace->slice.kind[row]) ||
            (parent != NL_NULL_ROW && is_work(trace->slice.kind[parent])) ||
            !clipped(trace, row, start, end))
            continue;
        nl_intervals_add(work, trace->slice.ts[row] > start ? trace->slice.ts[row] : start,
                         nl_slice_end(trace, row) < end ? nl_slice_end(trace, row) : end);
    }
}

int64_t nl_host_busy(const struct nl_trace *trace, const struct nl_api_roles *roles,
                     uint32_t thread, int64_t start, int64_t end)
{
    struct nl_intervals work;
    int64_t waits = 0;
    if (thread == NL_NULL_ROW)
        return 0;
    nl_intervals_init(&work);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.thread[lane] == thread)
            add_lane(trace, lane, start, end, &work);
    nl_intervals_normalise(&work);
    int64_t covered = nl_intervals_length(&work);
    nl_intervals_release(&work);
    for (uint32_t i = 0; i < trace->api.rows; i++) {
        uint32_t slice = trace->api.slice[i];
        if (slice != NL_NULL_ROW && trace->lane.thread[trace->slice.lane[slice]] == thread)
            nl_sum_add(&waits, waited(trace, roles, slice, start, end));
    }
    return covered > waits ? covered - waits : 0;
}
