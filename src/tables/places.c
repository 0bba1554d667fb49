/*
 * places — see places.h. Traces have some thousands of lanes at most, so look-up is by binary
 * search in arrays that are sorted once.
 */
#include "tables/places.h"

#include <stdlib.h>

#include "tables/scope.h"
#include "base/mem.h"

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_places(const void *left, const void *right)
{
    const struct nl_place *a = left, *b = right;
    int order = compare_i64(a->rank, b->rank);
    if (!order)
        order = compare_i64(a->ordinal, b->ordinal);
    return order ? order : compare_i64(a->device, b->device);
}

static int compare_streams(const void *left, const void *right)
{
    const struct nl_stream_place *a = left, *b = right;
    int order = compare_i64(a->place, b->place);
    if (!order)
        order = compare_i64(a->process, b->process);
    if (!order)
        order = compare_i64(a->context, b->context);
    return order ? order : compare_i64(a->stream, b->stream);
}

/* Sorts and drops repetitions (the first of equals stays); returns the new count. */
static size_t sort_unique(void *items, size_t count, size_t size,
                          int (*compare)(const void *, const void *))
{
    char *bytes = items;
    if (!count)
        return 0;
    qsort(items, count, size, compare);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (compare(bytes + i * size, bytes + (kept - 1) * size) != 0)
            memmove(bytes + kept++ * size, bytes + i * size, size);
    return kept;
}

static bool is_device_lane(const struct nl_trace *trace, uint32_t lane)
{
    return trace->lane.device[lane] != NL_NULL_ROW || trace->lane.kind[lane] == NL_LANE_STREAM;
}

static struct nl_place place_of(const struct nl_trace *trace, uint32_t lane)
{
    return (struct nl_place){.rank = nl_lane_rank(trace, lane),
                             .ordinal = nl_lane_ordinal(trace, lane),
                             .device = trace->lane.device[lane]};
}

static struct nl_stream_place stream_of(const struct nl_places *places,
                                        const struct nl_trace *trace, uint32_t lane)
{
    return (struct nl_stream_place){.place = places->lane_place[lane],
                                    .process = trace->lane.process[lane],
                                    .lane = lane,
                                    .context = trace->lane.context[lane],
                                    .stream = trace->lane.stream[lane]};
}

static void find_places(struct nl_places *places, const struct nl_trace *trace)
{
    uint32_t lanes = trace->lane.rows;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!is_device_lane(trace, lane))
            continue;
        nl_grow(&places->items, &places->cap, places->count + 1);
        places->items[places->count++] = place_of(trace, lane);
    }
    places->count =
        sort_unique(places->items, places->count, sizeof *places->items, compare_places);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        places->lane_place[lane] = NL_NULL_ROW;
        if (!is_device_lane(trace, lane))
            continue;
        struct nl_place key = place_of(trace, lane);
        const struct nl_place *hit =
            bsearch(&key, places->items, places->count, sizeof key, compare_places);
        places->lane_place[lane] = (uint32_t)(hit - places->items);
    }
}

static void find_streams(struct nl_places *places, const struct nl_trace *trace)
{
    uint32_t lanes = trace->lane.rows;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (trace->lane.kind[lane] != NL_LANE_STREAM)
            continue;
        nl_grow(&places->streams, &places->stream_cap, places->stream_count + 1);
        places->streams[places->stream_count++] = stream_of(places, trace, lane);
    }
    places->stream_count = sort_unique(places->streams, places->stream_count,
                                       sizeof *places->streams, compare_streams);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        places->lane_stream[lane] = NL_NULL_ROW;
        if (trace->lane.kind[lane] != NL_LANE_STREAM)
            continue;
        struct nl_stream_place key = stream_of(places, trace, lane);
        const struct nl_stream_place *hit =
            bsearch(&key, places->streams, places->stream_count, sizeof key, compare_streams);
        places->lane_stream[lane] = (uint32_t)(hit - places->streams);
    }
}

void nl_places_init(struct nl_places *places, const struct nl_trace *trace)
{
    *places = (struct nl_places){0};
    places->lane_place = nl_alloc((trace->lane.rows + 1) * sizeof *places->lane_place);
    places->lane_stream = nl_alloc((trace->lane.rows + 1) * sizeof *places->lane_stream);
    find_places(places, trace);
    find_streams(places, trace);
}

void nl_places_release(struct nl_places *places)
{
    nl_free(places->items);
    nl_free(places->streams);
    nl_free(places->lane_place);
    nl_free(places->lane_stream);
    *places = (struct nl_places){0};
}

void nl_places_work(const struct nl_places *places, const struct nl_scope *scope,
                    void (*take)(void *context, uint32_t stream, uint32_t slice, int64_t length),
                    void *context)
{
    const struct nl_trace *trace = scope->trace;
    const struct {
        const uint32_t *slice;
        uint32_t rows;
    } tables[] = {{trace->kernel.slice, trace->kernel.rows},
                  {trace->copy.slice, trace->copy.rows},
                  {trace->memset.slice, trace->memset.rows},
                  {trace->graph.slice, trace->graph.rows}};
    for (size_t table = 0; table < sizeof tables / sizeof tables[0]; table++)
        for (uint32_t row = 0; row < tables[table].rows; row++) {
            uint32_t slice = tables[table].slice[row];
            uint32_t stream = places->lane_stream[trace->slice.lane[slice]];
            int64_t length = nl_scope_length(scope, slice);
            if (stream != NL_NULL_ROW && length >= 0)
                take(context, stream, slice, length);
        }
}
