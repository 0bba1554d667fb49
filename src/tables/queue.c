/*
 * queue — how much launched work waits in front of each stream, over time.
 *
 * The line is that of waiting.h (HTA's queue length). Mean, percentile and shares are weighted by
 * time from the first launch to the last start: a burst of launches must not outweigh a second of
 * waiting. A queue of at most 1 means that the device is about to wait for the CPU; 1,000 is about
 * where launch calls begin to block.
 */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"
#include "tables/waiting.h"
#include "base/sum.h"

#define SHORT_QUEUE 1
#define FULL_QUEUE  1000

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(stream, NULL, INTEGER)                                                                       \
    C(context, NULL, INTEGER)                                                                      \
    C(launched, NULL, COUNT)                                                                       \
    C(span_ns, "span", NS)                                                                         \
    C(mean, NULL, NUMBER)                                                                          \
    C(p50, NULL, COUNT)                                                                            \
    C(p95, NULL, COUNT)                                                                            \
    C(max, NULL, COUNT)                                                                            \
    C(short_share, "at most 1", SHARE)                                                             \
    C(full_share, "1,000 and more", SHARE)
NL_COLUMNS(COLUMNS);

/* Time spent at each length. */
struct lengths {
    int64_t *ns;
    size_t count, cap;
    int64_t span;
};

struct lines {
    const struct nl_trace *trace;
    struct nl_waiting *streams;
};

static void wait_for(void *context, uint32_t stream, uint32_t slice, int64_t length)
{
    struct lines *lines = context;
    uint32_t launch = lines->trace->slice.link[slice];
    (void)length;
    if (launch != NL_NULL_ROW && lines->trace->slice.kind[launch] == NL_KIND_API)
        nl_waiting_add(&lines->streams[stream], lines->trace, slice, launch);
}

static void stay(struct lengths *lengths, size_t length, int64_t ns)
{
    if (length >= lengths->count) {
        nl_grow(&lengths->ns, &lengths->cap, length + 1);
        while (lengths->count <= length)
            lengths->ns[lengths->count++] = 0;
    }
    nl_sum_add(&lengths->ns[length], ns);
    nl_sum_add(&lengths->span, ns);
}

/* The length that is not exceeded for `percent` of the time. */
static int64_t percentile(const struct lengths *lengths, unsigned percent)
{
    int64_t sum = 0;
    for (size_t i = 0; i < lengths->count; i++) {
        nl_sum_add(&sum, lengths->ns[i]);
        if ((double)sum >= (double)percent / 100 * (double)lengths->span)
            return (int64_t)i;
    }
    return lengths->count ? (int64_t)lengths->count - 1 : 0;
}

static int64_t time_between(const struct lengths *lengths, size_t first, size_t last)
{
    int64_t sum = 0;
    for (size_t i = first; i <= last && i < lengths->count; i++)
        nl_sum_add(&sum, lengths->ns[i]);
    return sum;
}

static void queue_add_row(struct nl_result *result, const struct nl_places *places,
                          const struct nl_stream_place *stream, struct nl_waiting *line)
{
    struct lengths lengths = {0};
    struct nl_waiting_walk walk;
    nl_waiting_begin(line, &walk);
    while (nl_waiting_next(line, &walk))
        stay(&lengths, walk.length, walk.ns);
    double area = 0;
    size_t most = 0;
    for (size_t i = 0; i < lengths.count; i++) {
        area += (double)i * (double)lengths.ns[i];
        most = lengths.ns[i] ? i : most;
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(places->items[stream->place].rank);
    cells[AT_device] = nl_cell_i64(places->items[stream->place].ordinal);
    cells[AT_stream] = nl_cell_i64(stream->stream);
    cells[AT_context] = nl_cell_i64(stream->context);
    cells[AT_launched] = nl_cell_count(line->count);
    cells[AT_span_ns] = nl_cell_i64(lengths.span);
    if (lengths.span > 0) {
        cells[AT_mean] = nl_cell_f64(area / (double)lengths.span);
        cells[AT_p50] = nl_cell_i64(percentile(&lengths, 50));
        cells[AT_p95] = nl_cell_i64(percentile(&lengths, 95));
        cells[AT_max] = nl_cell_i64((int64_t)most);
        cells[AT_short_share] = nl_cell_share(time_between(&lengths, 0, SHORT_QUEUE), lengths.span);
        cells[AT_full_share] =
            nl_cell_share(time_between(&lengths, FULL_QUEUE, SIZE_MAX), lengths.span);
    }
    nl_free(lengths.ns);
}

static struct nl_result *queue_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct lines lines = {trace, nl_zalloc((places.stream_count + 1) * sizeof *lines.streams)};
    nl_places_work(&places, &scope, wait_for, &lines);
    struct nl_result *result = NL_ANSWER_NEW("queue", NULL, columns);
    for (size_t i = 0; i < places.stream_count; i++) {
        if (lines.streams[i].count)
            queue_add_row(result, &places, &places.streams[i], &lines.streams[i]);
        nl_waiting_release(&lines.streams[i]);
    }
    nl_free(lines.streams);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_queue = {
    .name = "queue",
    .key = "queue",
    .title = "Work waiting in front of each stream",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .run = queue_run,
    .doc = "Per stream: launched but not started work over time (+1 at the launch call, -1 at the "
           "start on the device): mean, median, p95 and maximum weighted by time; the share of "
           "time with at most 1 waiting (the device is about to wait for the CPU), and with at "
           "least 1,000 (launch calls begin to block).",
};
