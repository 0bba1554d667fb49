/*
 * launches — from the CPU's call to the start on the device, per stream.
 *
 * Definitions follow Holistic Trace Analysis (its launch statistics and queue length), with three
 * deliberate differences: every call that launched device work counts, not a list of names; only
 * the first operation of a call counts for the delay (the rest of a graph waits for the graph, not
 * for the launch); the mean queue length is weighted by time instead of averaging change points.
 *
 *   delay  = max(0, start on the device - end of the call)
 *   queue  = launched and not started yet: +1 at the call's start, -1 at the start on the device
 *   short  = device work shorter than the call that launched it
 */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"
#include "tables/waiting.h"
#include "base/sort.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(stream, NULL, INTEGER)                                                                       \
    C(context, NULL, INTEGER)                                                                      \
    C(events, NULL, COUNT)                                                                         \
    C(launches, NULL, COUNT)                                                                       \
    C(unlinked, "no launch", COUNT)                                                                \
    C(cpu_ns, "CPU", NS)                                                                           \
    C(gpu_ns, "device", NS)                                                                        \
    C(delay_mean_ns, "delay mean", NS)                                                             \
    C(delay_p50_ns, "p50", NS)                                                                     \
    C(delay_p99_ns, "p99", NS)                                                                     \
    C(short, NULL, COUNT)                                                                          \
    C(queue_mean, "queue", NUMBER)                                                                 \
    C(queue_max, "longest", COUNT)
NL_COLUMNS(COLUMNS);

struct stream_tally {
    uint64_t events, launches, unlinked, shorter;
    int64_t cpu_ns, gpu_ns;
    int64_t *delays;
    size_t delay_count, delay_cap;
    struct nl_waiting queue; /* of the linked events */
};

/* One device operation with a known launch. */
static void add_linked(struct stream_tally *tally, const struct nl_trace *trace, uint32_t slice,
                       uint32_t launch, int64_t length)
{
    int64_t call = trace->slice.dur[launch], called = trace->slice.ts[launch];
    nl_waiting_add(&tally->queue, trace, slice, launch);
    if (call == NL_NULL_I64)
        return;
    tally->shorter += length < call;
    if (trace->slice.link[launch] != slice)
        return; /* a later piece of the same launch */
    tally->launches++;
    nl_sum_add(&tally->cpu_ns, call);
    nl_grow(&tally->delays, &tally->delay_cap, tally->delay_count + 1);
    int64_t delay = trace->slice.ts[slice] - called - call;
    tally->delays[tally->delay_count++] = delay > 0 ? delay : 0;
}

struct tallies {
    const struct nl_trace *trace;
    struct stream_tally *streams;
};

static void add_work(void *context, uint32_t stream, uint32_t slice, int64_t length)
{
    struct tallies *tallies = context;
    const struct nl_trace *trace = tallies->trace;
    struct stream_tally *tally = &tallies->streams[stream];
    uint32_t launch = trace->slice.link[slice];
    tally->events++;
    nl_sum_add(&tally->gpu_ns, length);
    if (launch == NL_NULL_ROW || trace->slice.kind[launch] != NL_KIND_API)
        tally->unlinked++;
    else
        add_linked(tally, trace, slice, launch, length);
}

/* Time-weighted mean and maximum of the queue. */
static double queue_of(struct nl_waiting *queue, int64_t *max)
{
    struct nl_waiting_walk walk;
    double area = 0;
    int64_t span = 0;
    *max = 0;
    nl_waiting_begin(queue, &walk);
    while (nl_waiting_next(queue, &walk)) {
        area += (double)walk.length * (double)walk.ns;
        nl_sum_add(&span, walk.ns);
        if ((int64_t)walk.length > *max)
            *max = (int64_t)walk.length;
    }
    return span > 0 ? area / (double)span : 0;
}

static void launches_add_row(struct nl_result *result, const struct nl_places *places,
                             const struct nl_stream_place *stream, struct stream_tally *tally)
{
    const struct nl_place *place = &places->items[stream->place];
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(place->rank);
    cells[AT_device] = nl_cell_i64(place->ordinal);
    cells[AT_stream] = nl_cell_i64(stream->stream);
    cells[AT_context] = nl_cell_i64(stream->context);
    cells[AT_events] = nl_cell_count(tally->events);
    cells[AT_launches] = nl_cell_count(tally->launches);
    cells[AT_unlinked] = nl_cell_count(tally->unlinked);
    cells[AT_gpu_ns] = nl_cell_i64(tally->gpu_ns);
    if (tally->delay_count) {
        size_t count = tally->delay_count;
        nl_sort_i64(tally->delays, count);
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)tally->delays[i];
        cells[AT_cpu_ns] = nl_cell_i64(tally->cpu_ns);
        cells[AT_delay_mean_ns] = nl_cell_f64(sum / (double)count);
        cells[AT_delay_p50_ns] = nl_cell_percentile(tally->delays, count, 50);
        cells[AT_delay_p99_ns] = nl_cell_percentile(tally->delays, count, 99);
    }
    if (tally->queue.count) {
        int64_t max;
        cells[AT_short] = nl_cell_count(tally->shorter);
        cells[AT_queue_mean] = nl_cell_f64(queue_of(&tally->queue, &max));
        cells[AT_queue_max] = nl_cell_i64(max);
    }
}

static struct nl_result *launches_run(const struct nl_trace *trace,
                                      const struct nl_analyze_options *options, struct nl_job *job,
                                      struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct tallies tallies = {trace,
                              nl_zalloc((places.stream_count + 1) * sizeof *tallies.streams)};
    nl_places_work(&places, &scope, add_work, &tallies);
    struct nl_result *result = NL_ANSWER_NEW("launches", NULL, columns);
    for (size_t i = 0; i < places.stream_count; i++) {
        struct stream_tally *tally = &tallies.streams[i];
        if (tally->events)
            launches_add_row(result, &places, &places.streams[i], tally);
        nl_free(tally->delays);
        nl_waiting_release(&tally->queue);
    }
    nl_free(tallies.streams);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_launches = {
    .name = "launches",
    .key = "launches",
    .title = "Launches by stream",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .run = launches_run,
    .doc = "Per stream: device work, the calls that launched it, their CPU time, the delay from "
           "the end of the call to the start on the device (0 if it starts earlier), operations "
           "shorter than their launch call, and the queue of launched but not started work (mean "
           "over time, max).",
};
