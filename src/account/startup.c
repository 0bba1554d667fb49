/* startup — see startup.h. */
#include "account/startup.h"

#include <stdlib.h>

#include "base/mem.h"
#include "timeline/coldlaunch.h"
#include "timeline/worksweep.h"

#define MIN_LOADING_SHARE    0.3 /* of the time since the first work */
#define MIN_GAP_SHARE        0.1 /* one long gap, of the time from the first to the last work */
#define MIN_GAPS_SHARE       0.8 /* all long gaps, of the time so far */
#define MIN_GAPS_WHOLE_SHARE 0.5 /* all long gaps, of the time from the first to the last work */

static struct nl_startup *add_span(struct nl_startup *spans, size_t *count, int64_t rank)
{
    for (size_t i = 0; i < *count; i++)
        if (spans[i].rank == rank)
            return &spans[i];
    spans[*count] = (struct nl_startup){rank, INT64_MAX, INT64_MAX, INT64_MIN};
    return &spans[(*count)++];
}

static int by_span_rank(const void *left, const void *right)
{
    const struct nl_startup *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Ranks of lanes, with the span of their device work; nl_free it. */
static struct nl_startup *spans_of_ranks(const struct nl_trace *trace, size_t *count)
{
    struct nl_startup *spans = nl_alloc(((size_t)trace->lane.rows + 2) * sizeof *spans);
    *count = 0;
    add_span(spans, count, NL_NULL_I64);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        add_span(spans, count, nl_lane_rank(trace, lane));
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, NULL, &lanes);
    for (size_t i = 0; i < lane_count; i++) {
        struct nl_startup *span = add_span(spans, count, lanes[i].rank);
        uint32_t first = trace->lane.first[lanes[i].lane];
        uint32_t last = first + trace->lane.count[lanes[i].lane];
        if (trace->slice.ts[first] < span->start)
            span->start = trace->slice.ts[first];
        for (uint32_t row = first; row < last; row++) {
            uint8_t kind = trace->slice.kind[row];
            if ((kind == NL_KIND_KERNEL || kind == NL_KIND_GRAPH) &&
                trace->slice.ts[row] < span->steady)
                span->steady = trace->slice.ts[row];
            if (nl_slice_end(trace, row) > span->end)
                span->end = nl_slice_end(trace, row);
        }
    }
    for (size_t i = 0; i < *count; i++)
        if (spans[i].steady == INT64_MAX)
            spans[i].steady = spans[i].start;
    nl_free(lanes);
    if (*count)
        qsort(spans, *count, sizeof *spans, by_span_rank);
    return spans;
}

struct load {
    int64_t rank, start, end;
};

struct loads {
    struct load *items;
    size_t count, cap;
};

static bool loads_code(const struct nl_trace *trace, const struct nl_api_roles *roles,
                       uint32_t slice)
{
    switch (nl_api_slice_role(roles, trace, slice)) {
    case NL_API_MODULE:
    case NL_API_GRAPH_BUILD: return true;
    case NL_API_LAUNCH: return nl_is_cold_launch(trace, slice);
    default: return false;
    }
}

static void add_stretch(struct loads *loads, int64_t rank, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    nl_grow(&loads->items, &loads->cap, loads->count + 1);
    loads->items[loads->count++] = (struct load){rank, start, end};
}

/* From the call that begins a capture to the one of the same thread that ends it: kernels are
 * recorded there, not run. Both names hold "StreamBeginCapture" and "StreamEndCapture". */
static void add_capture(struct loads *loads, const struct nl_trace *trace, int64_t *begun,
                        uint32_t slice)
{
    uint32_t thread = trace->lane.thread[trace->slice.lane[slice]];
    struct nl_str name = nl_trace_name(trace, trace->slice.name[slice]);
    if (thread == NL_NULL_ROW)
        return;
    if (nl_str_contains(name, "StreamBeginCapture")) {
        begun[thread] = trace->slice.ts[slice];
    } else if (nl_str_contains(name, "StreamEndCapture") && begun[thread] != NL_NULL_I64) {
        add_stretch(loads, nl_lane_rank(trace, trace->slice.lane[slice]), begun[thread],
                    nl_slice_end(trace, slice));
        begun[thread] = NL_NULL_I64;
    }
}

static int by_start(const void *left, const void *right)
{
    const struct load *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Of all ranks, by rank and start. */
static struct loads list_loads(const struct nl_trace *trace, const struct nl_api_roles *roles)
{
    struct loads loads = {0};
    int64_t *begun = nl_alloc(((size_t)trace->thread.rows + 1) * sizeof *begun);
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        begun[thread] = NL_NULL_I64;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (slice == NL_NULL_ROW || !loads_code(trace, roles, slice))
            continue;
        add_stretch(&loads, nl_lane_rank(trace, trace->slice.lane[slice]), trace->slice.ts[slice],
                    nl_slice_end(trace, slice));
        if (nl_api_slice_role(roles, trace, slice) == NL_API_GRAPH_BUILD)
            add_capture(&loads, trace, begun, slice);
    }
    nl_free(begun);
    if (loads.count)
        qsort(loads.items, loads.count, sizeof *loads.items, by_start);
    return loads;
}

/* Start-up goes on while loading takes its share of the time since `start`. */
static int64_t startup_end(const struct loads *loads, const struct nl_startup *span)
{
    int64_t start = span->start, last = span->end;
    int64_t end = span->steady, covered = start, loading = 0;
    for (size_t i = 0; i < loads->count; i++) {
        if (loads->items[i].rank != span->rank)
            continue;
        int64_t from = loads->items[i].start > covered ? loads->items[i].start : covered;
        int64_t to = loads->items[i].end < last ? loads->items[i].end : last;
        if (to <= from)
            continue;
        loading += to - from;
        covered = to;
        if ((double)loading >= MIN_LOADING_SHARE * (double)(to - start))
            end = to;
    }
    return end;
}

/* ---- Long gaps ---- */

struct long_gaps {
    int64_t span_start, least, end; /* end: of the work so far */
    int64_t sum, steady;
};

/* A gap ended: does start-up last until here? */
static void take_gap(struct long_gaps *gaps, int64_t start, int64_t end)
{
    if (end - start < gaps->least)
        return;
    gaps->sum += end - start;
    if ((double)gaps->sum >= MIN_GAPS_SHARE * (double)(end - gaps->span_start))
        gaps->steady = end;
}

/* Of the rank's devices taken together. */
static void pass_long_gaps(const struct nl_trace *trace, struct nl_startup *span)
{
    struct nl_window window = {.has_rank = true, .rank = span->rank};
    struct nl_work_lane *lanes;
    size_t count = nl_work_lanes(trace, &window, &lanes);
    int64_t length = span->end - span->start;
    struct long_gaps gaps = {span->start, (int64_t)(MIN_GAP_SHARE * (double)length), INT64_MIN, 0,
                             0};
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    nl_sweep_open(&sweep, trace, &window, lanes, count);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            if (gaps.end != INT64_MIN && batch[i].start > gaps.end)
                take_gap(&gaps, gaps.end, batch[i].start);
            gaps.end = batch[i].end > gaps.end ? batch[i].end : gaps.end;
        }
    nl_sweep_close(&sweep);
    nl_free(lanes);
    if ((double)gaps.sum >= MIN_GAPS_WHOLE_SHARE * (double)length && gaps.steady > span->steady)
        span->steady = gaps.steady;
}

struct nl_startup *nl_startups(const struct nl_trace *trace, const struct nl_api_roles *roles,
                               size_t *count)
{
    struct nl_startup *spans = spans_of_ranks(trace, count);
    struct loads loads = list_loads(trace, roles);
    for (size_t i = 0; i < *count; i++) {
        if (spans[i].start >= spans[i].end)
            continue;
        spans[i].steady = startup_end(&loads, &spans[i]);
        pass_long_gaps(trace, &spans[i]);
    }
    nl_free(loads.items);
    return spans;
}
