/*
 * bandwidth — bytes copied over time: the span of each device's work in 100 equal parts, per
 * direction. A copy's bytes are spread evenly over its length, whole bytes lost to rounding going
 * to its last part, so that the parts add up to what was copied.
 */
#include "tables/resultcells.h"
#include "base/search.h"
#include "base/sum.h"
#include "tables/places.h"
#include "tables/scope.h"

#define PARTS 100

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(kind, NULL, TEXT)                                                                            \
    C(part, NULL, INTEGER)                                                                         \
    C(start_ns, "start", NS)                                                                       \
    C(dur_ns, "duration", NS)                                                                      \
    C(bytes, NULL, BYTES)                                                                          \
    C(rate, NULL, RATE)
NL_COLUMNS(COLUMNS);

struct span {
    int64_t start, end;
    uint64_t bytes[NL_COPY_COUNT][PARTS];
    bool used[NL_COPY_COUNT];
};

static void widen(struct span *spans, const struct nl_scope *scope, const struct nl_places *places,
                  const uint32_t *slices, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        int64_t start, end;
        uint32_t place = places->lane_place[scope->trace->slice.lane[slices[row]]];
        if (place == NL_NULL_ROW || !nl_scope_slice(scope, slices[row], &start, &end))
            continue;
        struct span *span = &spans[place];
        span->start = start < span->start ? start : span->start;
        span->end = end > span->end ? end : span->end;
    }
}

/* First moment of a part. */
static int64_t part_start(const struct span *span, int64_t part)
{
    int64_t length = span->end - span->start;
    return span->start + length / PARTS * part + length % PARTS * part / PARTS;
}

static int64_t part_of(const struct span *span, int64_t ts)
{
    return NL_FIRST(i, 1, PARTS, part_start(span, i) > ts) - 1;
}

static void spread(struct span *span, unsigned kind, int64_t start, int64_t end, uint64_t bytes)
{
    uint64_t left = bytes;
    int64_t last = end > start ? part_of(span, end - 1) : part_of(span, start);
    span->used[kind] = true;
    for (int64_t part = part_of(span, start); part < last; part++) {
        int64_t from = part_start(span, part), to = part_start(span, part + 1);
        int64_t covered = (to < end ? to : end) - (from > start ? from : start);
        uint64_t share = nl_whole_u64((double)bytes * (double)covered / (double)(end - start));
        share = share < left ? share : left;
        span->bytes[kind][part] += share;
        left -= share;
    }
    span->bytes[kind][last] += left;
}

static void bandwidth_add_rows(struct nl_result *result, const struct nl_trace *trace,
                               const struct nl_place *place, const struct span *span)
{
    for (unsigned kind = 0; kind < NL_COPY_COUNT; kind++)
        for (int64_t part = 0; span->used[kind] && part < PARTS; part++) {
            int64_t start = part_start(span, part), dur = part_start(span, part + 1) - start;
            uint64_t bytes = span->bytes[kind][part];
            struct nl_cell *cells = nl_result_row(result);
            cells[AT_rank] = nl_cell_i64(place->rank);
            cells[AT_device] = nl_cell_i64(place->ordinal);
            cells[AT_kind] = nl_cell_enum(NL_ENUM_copykind, kind);
            cells[AT_part] = nl_cell_i64(part);
            cells[AT_start_ns] = nl_cell_i64(start - trace->first_ts);
            cells[AT_dur_ns] = nl_cell_i64(dur);
            cells[AT_bytes] = nl_cell_count(bytes);
            if (dur > 0)
                cells[AT_rate] = nl_cell_f64((double)bytes * 1e9 / (double)dur);
        }
}

static void collect_copies(struct span *spans, const struct nl_scope *scope,
                           const struct nl_places *places)
{
    const struct nl_trace *trace = scope->trace;
    widen(spans, scope, places, trace->kernel.slice, trace->kernel.rows);
    widen(spans, scope, places, trace->copy.slice, trace->copy.rows);
    widen(spans, scope, places, trace->memset.slice, trace->memset.rows);
    widen(spans, scope, places, trace->graph.slice, trace->graph.rows);
    for (uint32_t row = 0; row < trace->copy.rows; row++) {
        uint32_t slice = trace->copy.slice[row];
        uint32_t place = places->lane_place[trace->slice.lane[slice]];
        uint64_t bytes = trace->copy.bytes[row];
        int64_t start = trace->slice.ts[slice], end = nl_slice_end(trace, slice);
        if (place == NL_NULL_ROW || bytes == NL_NULL_U64 || nl_scope_length(scope, slice) < 0 ||
            spans[place].end <= spans[place].start)
            continue;
        end = end < spans[place].end ? end : spans[place].end;
        spread(&spans[place], trace->copy.kind[row], start, end, bytes);
    }
}

static struct nl_result *bandwidth_run(const struct nl_trace *trace,
                                       const struct nl_analyze_options *options, struct nl_job *job,
                                       struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct span *spans = nl_zalloc((places.count + 1) * sizeof *spans);
    for (size_t i = 0; i < places.count; i++) {
        spans[i].start = INT64_MAX;
        spans[i].end = INT64_MIN;
    }
    collect_copies(spans, &scope, &places);
    struct nl_result *result = NL_ANSWER_NEW("bandwidth", NULL, columns);
    for (size_t i = 0; i < places.count; i++)
        bandwidth_add_rows(result, trace, &places.items[i], &spans[i]);
    nl_free(spans);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_bandwidth = {
    .name = "bandwidth",
    .key = "bandwidth",
    .title = "Copied bytes over time",
    .needs = {{NL_T_copy, "bytes"}},
    .need_count = 1,
    .run = bandwidth_run,
    .doc =
        "Per rank, device and direction: bytes copied and their rate in each of 100 equal parts of "
        "the device's wall time. A copy's bytes are spread evenly over its duration; the parts add "
        "up "
        "to all bytes of copies that start in the window.",
};
