/*
 * Links: device work → the API call that launched it, by correlation id within a file or a process;
 * one call may have launched many (graphs). Flows → the slices they start and end in.
 *
 * The join is one open-addressing table of (scope, correlation) → API slice. When several calls
 * carry one id (a runtime call and the driver call below it) the first in slice order, the outer
 * one, is kept and the others are counted.
 */
#include "base/mem.h"
#include "store/build.h"

struct call {
    uint64_t correlation;
    uint32_t scope, slice;
};

struct call_table {
    struct call *slots;
    uint64_t mask;
};

static uint64_t call_hash(uint64_t correlation, uint32_t scope)
{
    uint64_t hash = (correlation + ((uint64_t)scope << 40)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

/* Where a correlation id is unique: the source, or the process (numbers do not collide: processes
 * are offset by 2^31). */
static uint32_t scope_of(const struct nl_trace *t, const bool *per_process, uint32_t slice)
{
    uint32_t process = nl_slice_process(t, slice);
    if (process == NL_NULL_ROW)
        return NL_NULL_ROW;
    uint32_t source = t->process.source[process];
    if (source == NL_NULL_ROW)
        return NL_NULL_ROW;
    return per_process[source] ? process | 0x80000000u : source;
}

static struct call *find(const struct call_table *table, uint64_t correlation, uint32_t scope)
{
    uint64_t at = call_hash(correlation, scope) & table->mask;
    while (table->slots[at].slice != NL_NULL_ROW &&
           !(table->slots[at].correlation == correlation && table->slots[at].scope == scope))
        at = (at + 1) & table->mask;
    return &table->slots[at];
}

static void index_calls(const struct nl_trace *t, const bool *per_process, struct call_table *table,
                        uint64_t *duplicates)
{
    uint64_t size = 16;
    while (size < (uint64_t)t->api.rows * 2)
        size *= 2;
    table->mask = size - 1;
    table->slots = nl_pages(size * sizeof *table->slots);
    for (uint64_t i = 0; i < size; i++)
        table->slots[i].slice = NL_NULL_ROW;
    for (uint32_t i = 0; i < t->api.rows; i++) {
        uint64_t correlation = t->api.correlation[i];
        if (correlation == NL_NULL_U64 || correlation == 0 || t->api.slice[i] == NL_NULL_ROW)
            continue;
        uint32_t slice = t->api.slice[i], scope = scope_of(t, per_process, slice);
        struct call *call = find(table, correlation, scope);
        if (call->slice == NL_NULL_ROW) {
            *call = (struct call){correlation, scope, slice};
            continue;
        }
        (*duplicates)++;
        if (t->slice.ts[slice] < t->slice.ts[call->slice])
            call->slice = slice;
    }
}

/* Links the rows of one device table; counts work whose launch is not in the file. */
static uint64_t link_rows(struct nl_trace *t, const bool *per_process,
                          const struct call_table *table, const uint32_t *slices,
                          const uint64_t *correlations, uint32_t rows)
{
    uint64_t unlinked = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t slice = slices[i];
        if (slice == NL_NULL_ROW)
            continue;
        uint64_t correlation = correlations[i];
        struct call *call = NULL;
        if (correlation != NL_NULL_U64 && correlation != 0)
            call = find(table, correlation, scope_of(t, per_process, slice));
        if (!call || call->slice == NL_NULL_ROW) {
            unlinked++;
            continue;
        }
        t->slice.link[slice] = call->slice;
        uint32_t *first = &t->slice.link[call->slice];
        if (*first == NL_NULL_ROW || t->slice.ts[slice] < t->slice.ts[*first])
            *first = slice;
    }
    return unlinked;
}

static void link_flows(struct nl_trace *t)
{
    for (uint32_t i = 0; i < t->flow.rows; i++) {
        uint32_t src = t->flow.src_lane[i], dst = t->flow.dst_lane[i];
        if (src != NL_NULL_ROW && t->flow.src_ts[i] != NL_NULL_I64)
            t->flow.src[i] = nl_lane_slice_at(t, src, t->flow.src_ts[i]);
        if (dst != NL_NULL_ROW && t->flow.dst_ts[i] != NL_NULL_I64)
            t->flow.dst[i] = nl_lane_slice_at(t, dst, t->flow.dst_ts[i]);
    }
}

void nl_link(struct nl_trace *t, const bool *per_process, uint64_t *unlinked, uint64_t *duplicates)
{
    struct call_table table;
    *duplicates = 0;
    index_calls(t, per_process, &table, duplicates);
    *unlinked =
        link_rows(t, per_process, &table, t->kernel.slice, t->kernel.correlation, t->kernel.rows);
    *unlinked +=
        link_rows(t, per_process, &table, t->copy.slice, t->copy.correlation, t->copy.rows);
    *unlinked +=
        link_rows(t, per_process, &table, t->memset.slice, t->memset.correlation, t->memset.rows);
    *unlinked +=
        link_rows(t, per_process, &table, t->graph.slice, t->graph.correlation, t->graph.rows);
    /* Waits have a call, but a wait without one is nothing to report. */
    (void)link_rows(t, per_process, &table, t->sync.slice, t->sync.correlation, t->sync.rows);
    nl_pages_free(table.slots, (table.mask + 1) * sizeof *table.slots);
    link_flows(t);
}

void nl_forget_external_ids(struct nl_trace *trace, const bool *forget)
{
    const struct {
        const uint32_t *slices;
        int64_t *ids;
        uint32_t rows;
    } tables[] = {{trace->kernel.slice, trace->kernel.external_id, trace->kernel.rows},
                  {trace->copy.slice, trace->copy.external_id, trace->copy.rows},
                  {trace->memset.slice, trace->memset.external_id, trace->memset.rows},
                  {trace->api.slice, trace->api.external_id, trace->api.rows}};
    bool any = false;
    for (uint32_t s = 0; s < trace->source.rows; s++)
        any |= forget[s];
    for (size_t t = 0; any && t < sizeof tables / sizeof tables[0]; t++)
        for (uint32_t i = 0; i < tables[t].rows; i++) {
            uint32_t slice = tables[t].slices[i];
            uint32_t process = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_process(trace, slice);
            uint32_t source = process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
            if (source != NL_NULL_ROW && forget[source])
                tables[t].ids[i] = NL_NULL_I64;
        }
}
