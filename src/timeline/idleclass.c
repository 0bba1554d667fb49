/* idleclass — see idleclass.h. */
#include "timeline/idleclass.h"

#include "base/mem.h"
#include "base/search.h"
#include "timeline/idletime.h"

#define WAIT_STEPS 64 /* recorded waits looked back at, from a launch */

/* When the work that comes before `slice` on its stream was launched; INT64_MIN when unknown. */
static int64_t launched_before(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t lane = trace->slice.lane[slice];
    if (slice == trace->lane.first[lane] ||
        trace->slice.depth[slice - 1] != trace->slice.depth[slice])
        return INT64_MIN;
    uint32_t launch = trace->slice.link[slice - 1];
    return nl_is_call(trace, launch) ? trace->slice.ts[launch] : INT64_MIN;
}

/* Whether the stream had to wait after `since` and not after `launched`. */
static bool stream_waits(const struct nl_trace *trace, uint32_t lane, int64_t since,
                         int64_t launched)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t low = NL_FIRST(i, first, last, trace->slice.depth[i] || trace->slice.ts[i] > launched);
    for (unsigned step = 0; low-- > first && step < WAIT_STEPS; step++) {
        if (trace->slice.ts[low] <= since)
            return false;
        uint32_t row = trace->slice.detail[low];
        if (trace->slice.kind[low] == NL_KIND_SYNC && row < trace->sync.rows &&
            trace->sync.kind[row] == NL_SYNC_STREAM_WAIT_EVENT)
            return true;
    }
    return false;
}

/* Without recorded waits: a cudaStreamWaitEvent since the thread's last launch. Which stream it
 * was for is not known, so only calls right before the launch count. */
static bool thread_waits(const struct nl_idle_rule *rule, uint32_t launch)
{
    const struct nl_trace *trace = rule->trace;
    uint32_t first = trace->lane.first[trace->slice.lane[launch]];
    for (unsigned step = 0; launch-- > first && step < WAIT_STEPS; step++) {
        if (trace->slice.depth[launch] != trace->slice.depth[launch + 1] ||
            !nl_is_call(trace, launch))
            continue;
        if (trace->slice.link[launch] != NL_NULL_ROW)
            return false;
        if (nl_api_slice_role(rule->roles, trace, launch) == NL_API_STREAM_WAIT)
            return true;
    }
    return false;
}

uint8_t nl_idle_classify(const struct nl_idle_rule *rule, const struct nl_idle_gap *gap)
{
    const struct nl_trace *trace = rule->trace;
    if (gap->launch == NL_NULL_ROW)
        return NL_IDLE_UNKNOWN;
    int64_t launched = trace->slice.ts[gap->launch];
    if (launched >= gap->start)
        return NL_IDLE_HOST_LATE;
    uint32_t lane = rule->sync_lane[trace->slice.lane[gap->after]];
    bool waits = rule->has_waits
                     ? lane != NL_NULL_ROW &&
                           stream_waits(trace, lane, launched_before(trace, gap->after), launched)
                     : thread_waits(rule, gap->launch);
    if (waits)
        return NL_IDLE_DEPENDENCY;
    return gap->end - gap->start > NL_IDLE_LATENCY_NS ? NL_IDLE_QUEUED : NL_IDLE_LAUNCH_LATENCY;
}

static bool same_stream(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    return trace->lane.process[a] == trace->lane.process[b] &&
           trace->lane.device[a] == trace->lane.device[b] &&
           trace->lane.context[a] == trace->lane.context[b] &&
           trace->lane.stream[a] == trace->lane.stream[b];
}

static void find_sync_lanes(struct nl_idle_rule *rule)
{
    const struct nl_trace *trace = rule->trace;
    rule->sync_lane = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *rule->sync_lane);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        rule->sync_lane[lane] = NL_NULL_ROW;
    for (uint32_t row = 0; row < trace->sync.rows && !rule->has_waits; row++)
        rule->has_waits = trace->sync.kind[row] == NL_SYNC_STREAM_WAIT_EVENT;
    if (!rule->has_waits)
        return;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.kind[lane] != NL_LANE_SYNC || trace->lane.sub[lane])
            continue;
        for (uint32_t other = 0; other < trace->lane.rows; other++)
            if (trace->lane.kind[other] == NL_LANE_STREAM && same_stream(trace, lane, other))
                rule->sync_lane[other] = lane;
    }
}

void nl_idle_rule_init(struct nl_idle_rule *rule, const struct nl_trace *trace,
                       const struct nl_api_roles *roles)
{
    *rule = (struct nl_idle_rule){.trace = trace, .roles = roles};
    find_sync_lanes(rule);
}

void nl_idle_rule_release(struct nl_idle_rule *rule)
{
    nl_free(rule->sync_lane);
    rule->sync_lane = NULL;
}
