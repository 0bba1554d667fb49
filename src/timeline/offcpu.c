/* offcpu — see offcpu.h. A thread's switches are one run of slices without
 * overlap: a binary search. */
#include "timeline/offcpu.h"

#include "base/mem.h"
#include "base/search.h"

static const char *const waiting_calls[] = {
#define NL_BLOCKING_CALL(name) name,
#include "timeline/blockingcalls.def"
#undef NL_BLOCKING_CALL
};

/* Slices of the lane's outermost depth: its rows are ordered by depth, then time. */
static struct nl_offcpu_run outermost(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    return (struct nl_offcpu_run){first, NL_FIRST(i, first, last, trace->slice.depth[i] != 0)};
}

void nl_offcpu_init(struct nl_offcpu *off, const struct nl_trace *trace)
{
    *off = (struct nl_offcpu){.trace = trace};
    off->runs = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *off->runs);
    off->waits = nl_zalloc((size_t)trace->names.count + 1);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.kind[lane] == NL_LANE_SCHED && !trace->lane.sub[lane] &&
            trace->lane.thread[lane] != NL_NULL_ROW && trace->lane.count[lane])
            off->runs[trace->lane.thread[lane]] = outermost(trace, lane);
}

void nl_offcpu_release(struct nl_offcpu *off)
{
    nl_free(off->runs);
    nl_free(off->waits);
    *off = (struct nl_offcpu){0};
}

static void shorten(int64_t *until, int64_t moment)
{
    if (moment < *until)
        *until = moment;
}

/* How the thread was left off by the run that ended. */
static enum nl_cpu_state state_after(const struct nl_trace *trace, uint32_t run)
{
    uint8_t flags = trace->slice.flags[run];
    if (flags & NL_SLICE_WAITS)
        return NL_CPU_WAITING;
    return flags & NL_SLICE_READY ? NL_CPU_READY : NL_CPU_OFF;
}

enum nl_cpu_state nl_offcpu_at(const struct nl_offcpu *off, uint32_t thread, int64_t ts,
                               int64_t *until)
{
    const struct nl_trace *trace = off->trace;
    if (thread >= trace->thread.rows || off->runs[thread].first == off->runs[thread].last)
        return NL_CPU_UNKNOWN;
    uint32_t first = off->runs[thread].first, last = off->runs[thread].last;
    uint32_t low = NL_FIRST(i, first, last, trace->slice.ts[i] > ts);
    if (low < last)
        shorten(until, trace->slice.ts[low]);
    if (low == first)
        return NL_CPU_UNKNOWN;
    if (nl_slice_end(trace, low - 1) > ts) {
        shorten(until, nl_slice_end(trace, low - 1));
        return NL_CPU_ON;
    }
    return low < last ? state_after(trace, low - 1) : NL_CPU_UNKNOWN;
}

bool nl_offcpu_is_wait(struct nl_offcpu *off, uint32_t slice)
{
    if (slice == NL_NULL_ROW || off->trace->slice.kind[slice] != NL_KIND_OSRT)
        return false;
    uint32_t name = off->trace->slice.name[slice];
    if (!off->waits[name]) {
        struct nl_str text = nl_trace_name(off->trace, name);
        off->waits[name] = 1;
        for (size_t i = 0; i < sizeof waiting_calls / sizeof waiting_calls[0]; i++)
            if (nl_str_is(text, waiting_calls[i]))
                off->waits[name] = 2;
    }
    return off->waits[name] == 2;
}
