/* clockgap — see clockgap.h. */
#include "answer/clockgap.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"

#define MIN_NS     INT64_C(3600000000000) /* no real profile is empty for an hour */
#define TIMES_REST 100                    /* as long as all else, at least */

/* When a lane begins and ends; no events: count is 0. */
struct extent {
    int64_t start, end;
    uint64_t count;
};

static struct extent *extents_of(const struct nl_trace *trace)
{
    struct extent *lanes = nl_zalloc(((size_t)trace->lane.rows + 1) * sizeof *lanes);
    for (uint32_t row = 0; row < nl_trace_timed(trace); row++) {
        struct extent *lane = &lanes[trace->slice.lane[row]];
        int64_t start = trace->slice.ts[row], end = nl_slice_end(trace, row);
        lane->start = !lane->count || start < lane->start ? start : lane->start;
        lane->end = !lane->count || end > lane->end ? end : lane->end;
        lane->count++;
    }
    return lanes;
}

/* Lanes in order of their starts; the longest stretch between two in which none is. */
static struct nl_clock_gap widest(const struct extent *lanes, const struct nl_keyed *order,
                                  size_t count, uint64_t all)
{
    struct nl_clock_gap gap = {0};
    int64_t first = lanes[order[0].row].start, end = lanes[order[0].row].end, from = 0, to = 0;
    uint64_t before = 0, seen = 0;
    for (size_t i = 0; i < count; i++) {
        const struct extent *lane = &lanes[order[i].row];
        int64_t wide;
        if (lane->start > end && !__builtin_sub_overflow(lane->start, end, &wide) &&
            wide > gap.gap_ns) {
            gap.gap_ns = wide;
            from = end;
            to = lane->start;
            before = seen;
        }
        end = lane->end > end ? lane->end : end;
        seen += lane->count;
    }
    int64_t head = from - first, tail = end - to;
    bool main_is_first = before > all - before;
    gap.span_ns = main_is_first ? head : tail;
    gap.others = main_is_first ? all - before : before;
    if (gap.gap_ns < MIN_NS || gap.gap_ns / TIMES_REST < nl_sum(head, tail))
        gap.gap_ns = 0;
    return gap;
}

struct nl_clock_gap nl_clock_gap_of(const struct nl_trace *trace)
{
    int64_t span;
    if (__builtin_sub_overflow(trace->last_ts, trace->first_ts, &span) || span < MIN_NS)
        return (struct nl_clock_gap){0};
    struct extent *lanes = extents_of(trace);
    struct nl_keyed *order = nl_alloc(2 * ((size_t)trace->lane.rows + 1) * sizeof *order);
    size_t count = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (lanes[lane].count)
            order[count++] = (struct nl_keyed){nl_sort_key(lanes[lane].start), lane};
    struct nl_clock_gap gap = {0};
    if (count > 1) {
        nl_sort_keyed(order, order + count, count);
        gap = widest(lanes, order, count, nl_trace_timed(trace));
    }
    nl_free(order);
    nl_free(lanes);
    return gap;
}

void nl_clock_gap_tell(struct nl_judged *judged, const struct nl_clock_gap *gap)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Two clocks: ", (int64_t)gap->others, "event is", "events are");
    nl_tell_time(out, " ", gap->gap_ns);
    nl_buf_text(out,
                " away from the others, with nothing in between; that is not counted as time.");
    nl_tell_note(judged);
}
