/* nowork — see nowork.h. */
#include "timeline/nowork.h"

#include "base/mem.h"
#include "timeline/offnames.h"
#include "timeline/waitname.h"

/* A thread has several lanes where its slices overlap; a lane of no known
 * thread stands for itself. */
static size_t owner_of(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t thread = trace->lane.thread[lane];
    return thread == NL_NULL_ROW ? (size_t)trace->thread.rows + lane : thread;
}

static bool is_of_nobody(const struct nl_trace *trace, uint32_t lane)
{
    return trace->lane.kind[lane] == NL_LANE_ASYNC || trace->lane.kind[lane] == NL_LANE_PROCESS;
}

/* The thread with most slices, in which most happens: what waits on others only is no work of the
 * program. SIZE_MAX: none. */
static size_t busiest_owner(const struct nl_trace *trace)
{
    uint64_t *slices =
        nl_zalloc(((size_t)trace->thread.rows + trace->lane.rows + 1) * sizeof *slices);
    size_t best = SIZE_MAX;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (!is_of_nobody(trace, lane))
            slices[owner_of(trace, lane)] += trace->lane.count[lane];
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (!is_of_nobody(trace, lane) &&
            (best == SIZE_MAX || slices[owner_of(trace, lane)] > slices[best]))
            best = owner_of(trace, lane);
    nl_free(slices);
    return best;
}

enum { SEEN_ASYNC = 1, SEEN_ELSEWHERE = 2, SEEN_BUSIEST = 4 };

uint8_t *nl_names_without_work(const struct nl_trace *trace)
{
    size_t busiest = busiest_owner(trace);
    uint8_t *seen = nl_zalloc((size_t)trace->names.count + 1);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint8_t mark = is_of_nobody(trace, lane)          ? SEEN_ASYNC
                       : owner_of(trace, lane) == busiest ? SEEN_BUSIEST
                                                          : SEEN_ELSEWHERE;
        uint32_t end = trace->lane.first[lane] + trace->lane.count[lane];
        for (uint32_t row = trace->lane.first[lane]; row < end; row++)
            seen[trace->slice.name[row]] |= mark;
    }
    seen[0] = 0;
    for (uint32_t name = 1; name < trace->names.count; name++) {
        bool helper = seen[name] && !(seen[name] & SEEN_BUSIEST) &&
                      nl_is_wait_name(nl_trace_name(trace, name));
        seen[name] = seen[name] == SEEN_ASYNC || helper ? NL_NOBODY_WORKS : 0;
    }
    nl_mark_off_names(trace, seen, NL_OFF_CPU);
    return seen;
}
