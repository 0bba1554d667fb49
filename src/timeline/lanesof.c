/* Counting sort of lanes by process. */
#include "timeline/lanesof.h"

#include "base/mem.h"

static bool is_host(const struct nl_trace *trace, uint32_t lane)
{
    switch (trace->lane.kind[lane]) {
    case NL_LANE_STREAM:
    case NL_LANE_SYNC:
    case NL_LANE_GPU_ANNOTATION:
    case NL_LANE_DEVICE: return false;
    default: return trace->lane.process[lane] != NL_NULL_ROW;
    }
}

void nl_lanes_of_init(struct nl_lanes_of *lanes, const struct nl_trace *trace)
{
    const uint32_t *process = trace->lane.process;
    lanes->first = nl_zalloc(((size_t)trace->process.rows + 2) * sizeof *lanes->first);
    lanes->items = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *lanes->items);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (is_host(trace, lane))
            lanes->first[process[lane] + 2]++;
    for (uint32_t row = 0; row < trace->process.rows; row++)
        lanes->first[row + 2] += lanes->first[row + 1];
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (is_host(trace, lane))
            lanes->items[lanes->first[process[lane] + 1]++] = lane;
}

void nl_lanes_of_release(struct nl_lanes_of *lanes)
{
    nl_free(lanes->items);
    nl_free(lanes->first);
    *lanes = (struct nl_lanes_of){0};
}
