/* devicesteps — see devicesteps.h. A stream runs its work in the order of launches, so per stream and step
 * one search by the time of the launch finds the step's first work and the one before it. */
#include "account/devicesteps.h"

#include "base/mem.h"
#include "base/search.h"
#include "timeline/worksweep.h"

#define MOST_UNKNOWN 256 /* works without a known launch that are skipped at a time */

/* Row of [row, last) whose launch is known, the first within reach; `last` when there is none. */
static uint32_t next_known(const struct nl_trace *trace, uint32_t row, uint32_t last)
{
    uint32_t stop = last - row > MOST_UNKNOWN ? row + MOST_UNKNOWN : last;
    for (; row < stop; row++) {
        uint32_t launch = trace->slice.link[row];
        if (launch != NL_NULL_ROW && trace->slice.kind[launch] == NL_KIND_API)
            return row;
    }
    return last;
}

static bool launched_before(const struct nl_trace *trace, uint32_t row, int64_t ts)
{
    return trace->slice.ts[trace->slice.link[row]] < ts;
}

/* First row of the run [low, last) that was launched at or after `ts`, as far as is known. Not NL_FIRST:
 * where a launch is unknown, the next that is known speaks for the rows between. */
static uint32_t first_launched(const struct nl_trace *trace, uint32_t low, uint32_t last,
                               int64_t ts)
{
    uint32_t high = last;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t known = next_known(trace, middle, high);
        if (known < high && launched_before(trace, known, ts))
            low = known + 1;
        else
            high = middle;
    }
    return low;
}

/* End of the outermost run of a lane. */
static uint32_t run_end(const struct nl_trace *trace, uint32_t first, uint32_t last)
{
    return NL_FIRST(i, first, last, trace->slice.depth[i] != 0);
}

struct boundary {
    int64_t first,
        before; /* start of the first work launched at or after it; end of the one before */
};

static struct boundary boundary_at(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                                   size_t count, int64_t ts)
{
    struct boundary at = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        uint32_t first = trace->lane.first[lanes[i].lane];
        uint32_t last = run_end(trace, first, first + trace->lane.count[lanes[i].lane]);
        if (next_known(trace, first, last) == last)
            continue;
        uint32_t row = first_launched(trace, first, last, ts);
        if (row < last && trace->slice.ts[row] < at.first)
            at.first = trace->slice.ts[row];
        if (row > first && nl_slice_end(trace, row - 1) > at.before)
            at.before = nl_slice_end(trace, row - 1);
    }
    return at;
}

static int64_t moved(const struct boundary *at, int64_t ts)
{
    if (at->before <= ts)
        return ts;
    int64_t to = at->first < at->before ? at->first : at->before;
    return to > ts ? to : ts;
}

bool nl_steps_move(const struct nl_trace *trace, int64_t rank, struct nl_found_step *steps,
                   size_t count)
{
    struct nl_window window = {.has_rank = true, .rank = rank};
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, &window, &lanes);
    bool any = false;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < count && lane_count; i++) {
        struct boundary at = boundary_at(trace, lanes, lane_count, steps[i].start);
        int64_t start = moved(&at, steps[i].start);
        start = start > last ? start : last;
        at = boundary_at(trace, lanes, lane_count, steps[i].end);
        int64_t end = moved(&at, steps[i].end);
        end = end > start ? end : start;
        any |= start != steps[i].start || end != steps[i].end;
        last = steps[i].start = start;
        steps[i].end = end;
    }
    for (size_t i = 0; i + 1 < count && any; i++)
        if (steps[i].end > steps[i + 1].start)
            steps[i].end = steps[i + 1].start;
    nl_free(lanes);
    return any;
}
