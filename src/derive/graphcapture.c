/* graphcapture — see graphcapture.h. Calls of a process are walked in order of time, whatever
 * threads made them: a capture takes what all of them put on its stream. */
#include "derive/graphcapture.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"

enum call { CALL_UNKNOWN, CALL_OTHER, CALL_BEGIN, CALL_END, CALL_WAIT, CALL_LAUNCH, CALL_CHANGE };

struct event {
    int64_t ts;
    uint32_t process, slice, name; /* name: of the kernel, an id of the trace with the call */
    uint8_t call;
    bool failed; /* it returned an error */
};

struct events {
    struct event *items;
    size_t count, cap;
};

/* Whether anything was captured, without a walk over all calls. */
static bool any_capture(const struct nl_trace *trace)
{
    static const char *const begins[] = {
        "cudaStreamBeginCapture",        "cudaStreamBeginCapture_ptsz",
        "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture",
        "cuStreamBeginCapture_ptsz",     "cuStreamBeginCapture_v2",
        "cuStreamBeginCapture_v2_ptsz",  "cuStreamBeginCaptureToGraph",
        "hipStreamBeginCapture",         "hipStreamBeginCapture_spt",
        "hipStreamBeginCaptureToGraph"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (nl_dict_find(&trace->names, nl_str(begins[i])) < trace->names.count)
            return true;
    return false;
}

static enum call call_of(struct nl_str name)
{
    if (nl_str_contains(name, "StreamBeginCapture"))
        return CALL_BEGIN;
    if (nl_str_contains(name, "StreamEndCapture"))
        return CALL_END;
    if (nl_str_contains(name, "StreamWaitEvent"))
        return CALL_WAIT;
    if (nl_str_contains(name, "KernelNodeSetParams") || nl_str_contains(name, "GraphAdd"))
        return CALL_CHANGE;
    bool launch =
        nl_str_contains(name, "LaunchKernel") || nl_str_contains(name, "LaunchCooperativeKernel");
    return launch ? CALL_LAUNCH : CALL_OTHER;
}

/* A driver's call inside a runtime's is the same launch. */
static bool is_inner(const struct nl_trace *trace, uint32_t slice, const uint8_t *calls)
{
    uint32_t parent = trace->slice.parent[slice];
    return parent != NL_NULL_ROW && trace->slice.kind[parent] == NL_KIND_API &&
           calls[trace->slice.name[parent]] == CALL_LAUNCH;
}

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

static struct events list_events(const struct nl_trace *trace)
{
    struct events events = {0};
    uint8_t *calls = nl_zalloc(trace->names.count + (size_t)1);
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        uint32_t name = slice == NL_NULL_ROW ? NL_NO_NAME : trace->slice.name[slice];
        if (slice == NL_NULL_ROW)
            continue;
        if (calls[name] == CALL_UNKNOWN)
            calls[name] = (uint8_t)call_of(nl_trace_name(trace, name));
        bool launch = calls[name] == CALL_LAUNCH || trace->api.kernel[row];
        if (calls[name] == CALL_OTHER && !launch)
            continue;
        if (launch && trace->slice.link[slice] != NL_NULL_ROW)
            continue; /* it ran at once */
        if (launch && is_inner(trace, slice, calls))
            continue;
        nl_grow(&events.items, &events.cap, events.count + 1);
        events.items[events.count++] =
            (struct event){trace->slice.ts[slice],
                           nl_slice_process(trace, slice),
                           slice,
                           trace->api.kernel[row],
                           (uint8_t)(launch ? CALL_LAUNCH : calls[name]),
                           trace->api.result[row] != NL_NULL_I64 && trace->api.result[row] != 0};
    }
    nl_free(calls);
    if (events.count)
        qsort(events.items, events.count, sizeof *events.items, by_time);
    return events;
}

static void add_launch(struct nl_graph_captures *captures, struct nl_capture *capture,
                       const struct event *event, const struct nl_trace *of)
{
    uint32_t name = event->name && of != captures->trace
                        ? nl_dict_find(&of->names, nl_trace_name(captures->trace, event->name))
                        : event->name;
    capture->usable &= event->name != NL_NO_NAME;
    nl_grow(&captures->launches, &captures->launch_cap, captures->launch_count + 1);
    captures->launches[captures->launch_count++] = (struct nl_captured_launch){
        event->slice, name == NL_NO_NAME || name >= of->names.count ? NL_NULL_U32 : name};
    capture->count++;
}

static void sign(const struct nl_graph_captures *captures, struct nl_capture *capture)
{
    for (uint32_t i = 0; i < capture->count; i++) {
        uint32_t name = captures->launches[capture->first + i].name;
        capture->in_order = nl_capture_next(capture->in_order, name);
        capture->as_set += nl_hash_number(name);
    }
}

static void add_capture(struct nl_graph_captures *captures, const struct nl_capture *capture)
{
    nl_grow(&captures->items, &captures->cap, captures->count + 1);
    captures->items[captures->count] = *capture;
    sign(captures, &captures->items[captures->count++]);
}

/* Something that was captured, or changed in a graph, is not known: what of the process a
 * replay is of is not certain. */
static void keep_unknown(struct nl_graph_captures *captures, uint32_t process)
{
    add_capture(captures, &(struct nl_capture){.process = process,
                                               .first = (uint32_t)captures->launch_count});
}

/* Captures on the way through the calls of one process. */
struct open {
    struct nl_capture capture;
    unsigned depth; /* begun and not ended */
};

static void begin_capture(struct nl_graph_captures *captures, struct open *open, uint32_t process)
{
    if (open->depth++ == 0)
        open->capture = (struct nl_capture){
            .process = process, .first = (uint32_t)captures->launch_count, .usable = true};
    else
        open->capture.usable = false; /* what belongs to which is not known */
}

static void end(struct nl_graph_captures *captures, struct open *open, const struct event *event)
{
    if (open->depth == 0) {
        keep_unknown(captures, event->process);
    } else if (--open->depth == 0 && open->capture.count && !event->failed) {
        open->capture.end = nl_slice_end(captures->trace, event->slice);
        add_capture(captures, &open->capture);
    }
}

/* A call that failed did nothing: only of an end that failed, a capture is
 * over, and there is no graph. */
static bool call_counts(const struct event *event)
{
    return !event->failed || event->call == CALL_END;
}

static void walk(struct nl_graph_captures *captures, const struct events *events,
                 const struct nl_trace *of)
{
    struct open open = {0};
    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->items[i];
        switch (call_counts(event) ? (enum call)event->call : CALL_OTHER) {
        case CALL_BEGIN: begin_capture(captures, &open, event->process); break;
        case CALL_END: end(captures, &open, event); break;
        case CALL_CHANGE: keep_unknown(captures, event->process); break;
        case CALL_WAIT: open.capture.forked = true; break;
        case CALL_LAUNCH:
            if (open.depth)
                add_launch(captures, &open.capture, event, of);
            break;
        case CALL_UNKNOWN:
        case CALL_OTHER: break;
        }
        if (open.depth && (i + 1 == events->count || event[1].process != event->process)) {
            keep_unknown(captures, event->process); /* it never ended */
            open.depth = 0;
        }
    }
}

void nl_graph_captures_find(struct nl_graph_captures *captures, const struct nl_trace *trace,
                            const struct nl_trace *of)
{
    *captures = (struct nl_graph_captures){.trace = trace};
    if (!any_capture(trace))
        return;
    struct events events = list_events(trace);
    walk(captures, &events, of);
    nl_free(events.items);
}

void nl_graph_captures_release(struct nl_graph_captures *captures)
{
    nl_free(captures->items);
    nl_free(captures->launches);
    *captures = (struct nl_graph_captures){0};
}

/* ---- The ranges around a launch. ---- */

static bool is_range(const struct nl_trace *trace, uint32_t slice)
{
    uint8_t kind = trace->slice.kind[slice];
    return kind == NL_KIND_OP || kind == NL_KIND_LAYER || kind == NL_KIND_PYTHON;
}

static bool begins_before(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    if (trace->slice.ts[a] != trace->slice.ts[b])
        return trace->slice.ts[a] < trace->slice.ts[b];
    if (trace->slice.dur[a] != trace->slice.dur[b])
        return trace->slice.dur[a] > trace->slice.dur[b];
    return trace->slice.depth[a] != trace->slice.depth[b]
               ? trace->slice.depth[a] < trace->slice.depth[b]
               : a < b;
}

/* The slice and those around it on its lane, put among those of other lanes by when they began:
 * both are in order, so they are merged from the innermost on. */
static void add_lane(struct nl_chain *chain, uint32_t slice)
{
    const struct nl_trace *trace = chain->trace;
    size_t old = chain->count;
    for (uint32_t at = slice; at != NL_NULL_ROW; at = trace->slice.parent[at])
        chain->count += is_range(trace, at);
    nl_grow(&chain->items, &chain->cap, chain->count + 1);
    for (size_t at = chain->count; slice != NL_NULL_ROW; slice = trace->slice.parent[slice]) {
        if (!is_range(trace, slice))
            continue;
        while (old > 0 && begins_before(trace, slice, chain->items[old - 1]))
            chain->items[--at] = chain->items[--old];
        chain->items[--at] = slice;
    }
}

/* Innermost slice of a lane that is open at `ts`, at any depth; NL_NULL_ROW if none. */
static uint32_t open_at(const struct nl_trace *trace, uint32_t lane, int64_t ts)
{
    const struct nl_slice_table *slice = &trace->slice;
    uint32_t first = trace->lane.first[lane], end = first + trace->lane.count[lane];
    uint32_t found = NL_NULL_ROW;
    while (first < end) {
        uint32_t below = NL_FIRST(i, first, end, slice->depth[i] > slice->depth[first]);
        uint32_t after = NL_FIRST(i, first, below, slice->ts[i] > ts);
        if (after == first || nl_slice_end(trace, after - 1) <= ts)
            break;
        found = after - 1;
        first = below;
    }
    return found;
}

/* Lanes of the thread other than the call's. */
static void list_lanes(struct nl_chain *chain, uint32_t thread)
{
    chain->thread = thread;
    chain->lane_count = 0;
    for (uint32_t lane = 0; lane < chain->trace->lane.rows; lane++) {
        if (chain->trace->lane.thread[lane] != thread || !chain->trace->lane.count[lane])
            continue;
        nl_grow(&chain->lanes, &chain->lane_cap, chain->lane_count + 1);
        chain->lanes[chain->lane_count++] = lane;
    }
}

void nl_chain_find(struct nl_chain *chain, const struct nl_trace *trace, uint32_t call)
{
    uint32_t own = trace->slice.lane[call], thread = trace->lane.thread[own];
    if (chain->trace != trace)
        chain->thread = NL_NULL_ROW;
    chain->trace = trace;
    chain->count = 0;
    add_lane(chain, trace->slice.parent[call]);
    if (thread == NL_NULL_ROW)
        return;
    if (chain->thread != thread || !chain->lane_count)
        list_lanes(chain, thread);
    for (size_t i = 0; i < chain->lane_count; i++)
        if (chain->lanes[i] != own)
            add_lane(chain, open_at(trace, chain->lanes[i], trace->slice.ts[call]));
}

void nl_chain_release(struct nl_chain *chain)
{
    nl_free(chain->items);
    nl_free(chain->lanes);
    *chain = (struct nl_chain){0};
}
