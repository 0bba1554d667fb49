/*
 * streams — how busy each stream is, against the time its device had work at all.
 */
#include "tables/answer.h"
#include "tables/places.h"
#include "tables/scope.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},    {"device", NULL, NL_MEANS_INTEGER},
    {"process", NULL, NL_MEANS_INTEGER}, {"context", NULL, NL_MEANS_INTEGER},
    {"stream", NULL, NL_MEANS_INTEGER},  {"name", NULL, NL_MEANS_TEXT},
    {"kernels", NULL, NL_MEANS_COUNT},   {"copies", NULL, NL_MEANS_COUNT},
    {"memsets", NULL, NL_MEANS_COUNT},   {"start_ns", "first", NL_MEANS_NS},
    {"end_ns", "last", NL_MEANS_NS},     {"busy_ns", "busy", NL_MEANS_NS},
    {"share", NULL, NL_MEANS_SHARE},
};

#define WORK_KINDS                                                                                 \
    (1u << NL_KIND_KERNEL | 1u << NL_KIND_MEMCPY | 1u << NL_KIND_MEMSET | 1u << NL_KIND_GRAPH |    \
     1u << NL_KIND_DEVICE_OTHER)

struct tally {
    uint64_t kinds[NL_KIND_COUNT];
    struct nl_intervals busy;
};

struct span {
    int64_t start, end;
};

static void collect_lane(struct tally *tally, const struct nl_scope *scope, uint32_t lane)
{
    const struct nl_trace *trace = scope->trace;
    uint32_t first = trace->lane.first[lane];
    for (uint32_t slice = first; slice < first + trace->lane.count[lane]; slice++) {
        int64_t start, end;
        unsigned kind = trace->slice.kind[slice];
        if (!(WORK_KINDS >> kind & 1u))
            continue;
        tally->kinds[kind] += nl_scope_length(scope, slice) >= 0;
        if (nl_scope_slice(scope, slice, &start, &end))
            nl_intervals_add(&tally->busy, start, end);
    }
}

static void add_row(struct nl_result *result, const struct nl_trace *trace,
                    const struct nl_places *places, const struct nl_stream_place *stream,
                    const struct tally *tally, const struct span *device)
{
    const struct nl_place *place = &places->items[stream->place];
    int64_t busy = nl_intervals_length(&tally->busy);
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(place->rank);
    cells[1] = nl_cell_i64(place->ordinal);
    if (stream->process != NL_NULL_ROW)
        cells[2] = nl_cell_i64(trace->process.pid[stream->process]);
    cells[3] = nl_cell_i64(stream->context);
    cells[4] = nl_cell_i64(stream->stream);
    cells[5] = nl_answer_name(result, trace, trace->lane.name[stream->lane]);
    cells[6] = nl_answer_count(tally->kinds[NL_KIND_KERNEL]);
    cells[7] = nl_answer_count(tally->kinds[NL_KIND_MEMCPY]);
    cells[8] = nl_answer_count(tally->kinds[NL_KIND_MEMSET]);
    if (tally->busy.count) {
        cells[9] = nl_cell_i64(tally->busy.items[0].start - trace->first_ts);
        cells[10] = nl_cell_i64(tally->busy.items[tally->busy.count - 1].end - trace->first_ts);
    }
    cells[11] = nl_cell_i64(busy);
    cells[12] =
        nl_answer_share(busy, device->end > device->start ? device->end - device->start : 0);
}

/* First start and last end of the work of every place. */
static struct span *device_spans(const struct nl_places *places, const struct tally *tallies)
{
    struct span *spans = nl_alloc((places->count + 1) * sizeof *spans);
    for (size_t i = 0; i < places->count; i++)
        spans[i] = (struct span){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < places->stream_count; i++) {
        const struct nl_intervals *busy = &tallies[i].busy;
        struct span *span = &spans[places->streams[i].place];
        if (busy->count && busy->items[0].start < span->start)
            span->start = busy->items[0].start;
        if (busy->count && busy->items[busy->count - 1].end > span->end)
            span->end = busy->items[busy->count - 1].end;
    }
    return spans;
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct tally *tallies = nl_zalloc((places.stream_count + 1) * sizeof *tallies);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (places.lane_stream[lane] != NL_NULL_ROW && nl_scope_lane(&scope, lane))
            collect_lane(&tallies[places.lane_stream[lane]], &scope, lane);
    for (size_t i = 0; i < places.stream_count; i++)
        nl_intervals_normalise(&tallies[i].busy);
    struct span *spans = device_spans(&places, tallies);
    struct nl_result *result = NL_ANSWER_NEW("streams", NULL, columns);
    for (size_t i = 0; i < places.stream_count; i++) {
        const struct nl_stream_place *stream = &places.streams[i];
        if (tallies[i].busy.count)
            add_row(result, trace, &places, stream, &tallies[i], &spans[stream->place]);
        nl_intervals_release(&tallies[i].busy);
    }
    nl_free(spans);
    nl_free(tallies);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_streams = {
    .name = "streams",
    .key = "streams",
    .title = "Streams",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per stream: kernels, copies, memsets, first start, last end, and busy (union of its "
           "work); share = busy / wall of its device.",
};
