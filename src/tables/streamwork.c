/* streamwork — see streamwork.h. */
#include "tables/streamwork.h"

#include <stdlib.h>

#include "base/mem.h"

static void add_table(struct nl_streamwork *work, const struct nl_places *places,
                      const struct nl_scope *scope, const uint32_t *slices, uint32_t rows)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t stream = places->lane_stream[trace->slice.lane[slices[row]]];
        int64_t start, end;
        if (stream == NL_NULL_ROW || !nl_scope_slice(scope, slices[row], &start, &end))
            continue;
        nl_grow(&work->items, &work->cap, work->count + 1);
        work->items[work->count++] = (struct nl_streamwork_item){start, end, stream, slices[row]};
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_items(const void *left, const void *right)
{
    const struct nl_streamwork_item *a = left, *b = right;
    int order = compare_numbers(a->stream, b->stream);
    if (!order)
        order = compare_numbers(a->start, b->start);
    if (!order)
        order = compare_numbers(a->end, b->end);
    return order ? order : compare_numbers(a->slice, b->slice);
}

void nl_streamwork_init(struct nl_streamwork *work, const struct nl_places *places,
                        const struct nl_scope *scope)
{
    const struct nl_trace *trace = scope->trace;
    *work = (struct nl_streamwork){0};
    add_table(work, places, scope, trace->kernel.slice, trace->kernel.rows);
    add_table(work, places, scope, trace->copy.slice, trace->copy.rows);
    add_table(work, places, scope, trace->memset.slice, trace->memset.rows);
    add_table(work, places, scope, trace->graph.slice, trace->graph.rows);
    if (work->count)
        qsort(work->items, work->count, sizeof *work->items, compare_items);
    work->first = nl_zalloc((places->stream_count + 1) * sizeof *work->first);
    size_t at = 0;
    for (size_t stream = 0; stream <= places->stream_count; stream++) {
        while (at < work->count && work->items[at].stream < stream)
            at++;
        work->first[stream] = at;
    }
}

void nl_streamwork_release(struct nl_streamwork *work)
{
    nl_free(work->items);
    nl_free(work->first);
    *work = (struct nl_streamwork){0};
}
