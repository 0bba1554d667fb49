/*
 * streams — how busy each stream is, against the time its device had work at all.
 */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(process, NULL, INTEGER)                                                                      \
    C(context, NULL, INTEGER)                                                                      \
    C(stream, NULL, INTEGER)                                                                       \
    C(name, NULL, TEXT)                                                                            \
    C(kernels, NULL, COUNT)                                                                        \
    C(copies, NULL, COUNT)                                                                         \
    C(memsets, NULL, COUNT)                                                                        \
    C(start_ns, "first", NS)                                                                       \
    C(end_ns, "last", NS)                                                                          \
    C(busy_ns, "busy", NS)                                                                         \
    C(share, NULL, SHARE)
NL_COLUMNS(COLUMNS);

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

static void streams_add_row(struct nl_result *result, const struct nl_trace *trace,
                            const struct nl_places *places, const struct nl_stream_place *stream,
                            const struct tally *tally, const struct span *device)
{
    const struct nl_place *place = &places->items[stream->place];
    int64_t busy = nl_intervals_length(&tally->busy);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(place->rank);
    cells[AT_device] = nl_cell_i64(place->ordinal);
    if (stream->process != NL_NULL_ROW)
        cells[AT_process] = nl_cell_i64(trace->process.pid[stream->process]);
    cells[AT_context] = nl_cell_i64(stream->context);
    cells[AT_stream] = nl_cell_i64(stream->stream);
    cells[AT_name] = nl_cell_name(result, trace, trace->lane.name[stream->lane]);
    cells[AT_kernels] = nl_cell_count(tally->kinds[NL_KIND_KERNEL]);
    cells[AT_copies] = nl_cell_count(tally->kinds[NL_KIND_MEMCPY]);
    cells[AT_memsets] = nl_cell_count(tally->kinds[NL_KIND_MEMSET]);
    if (tally->busy.count) {
        cells[AT_start_ns] = nl_cell_i64(tally->busy.items[0].start - trace->first_ts);
        cells[AT_end_ns] =
            nl_cell_i64(tally->busy.items[tally->busy.count - 1].end - trace->first_ts);
    }
    cells[AT_busy_ns] = nl_cell_i64(busy);
    cells[AT_share] =
        nl_cell_share(busy, device->end > device->start ? device->end - device->start : 0);
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

static struct nl_result *streams_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
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
            streams_add_row(result, trace, &places, stream, &tallies[i], &spans[stream->place]);
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
    .run = streams_run,
    .doc = "Per stream: kernels, copies, memsets, first start, last end, and busy (union of its "
           "work); share = busy / wall of its device.",
};
