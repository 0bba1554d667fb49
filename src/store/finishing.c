/*
 * Staged rows → columns. Slices first (they need sorting and nesting, slices.c), then every other
 * table in unit order (columns.c, instances.c). The pages of staged rows serve the columns that
 * come next (base/pagepool), so the peak stays near one copy of the result.
 */
#define _GNU_SOURCE
#include "store/finishing.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"

static int by_unit(const void *x, const void *y)
{
    const struct nl_unit *a = *(struct nl_unit *const *)x, *b = *(struct nl_unit *const *)y;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Rows of table stack per unit, so that references to them can be made global. */
static void count_stacks(struct nl_builder *b)
{
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next) {
        const struct nl_staged *staged = &stage->tables[NL_T_stack];
        for (size_t i = 0; i < staged->count; i++)
            staged->segments[i].unit->stacks += staged->segments[i].count;
    }
}

/* Units in order of (source, sequence), with the number of their first slice. */
static bool order_units(struct nl_finish *f, struct nl_err *err)
{
    struct nl_builder *b = f->b;
    f->units = nl_alloc(b->unit_count * sizeof *f->units);
    uint32_t count = 0;
    for (struct nl_unit *unit = b->units; unit; unit = unit->next)
        f->units[count++] = unit;
    if (count)
        qsort(f->units, count, sizeof *f->units, by_unit);
    uint64_t slices = 0;
    uint32_t stacks = 0;
    count_stacks(b);
    for (uint32_t i = 0; i < count; i++) {
        f->units[i]->order = i;
        f->units[i]->stack_base = stacks;
        stacks += f->units[i]->stacks;
        f->units[i]->slice_base = (uint32_t)slices;
        slices += f->units[i]->slices;
        if (slices >= UINT32_MAX - 1)
            return nl_fail(err, NL_LIMIT, "more than 2^32 slices; split the input by rank or time");
    }
    f->slices = (uint32_t)slices;
    return true;
}

static void inherit_ranks(struct nl_builder *b)
{
    for (uint32_t p = 0; p < b->process_keys.count; p++)
        if (b->processes[p].rank == NL_NULL_I64)
            b->processes[p].rank = b->sources[b->processes[p].source].rank;
}

static void report_trace_count(struct nl_finish *f, const char *item, uint64_t count,
                               const char *detail)
{
    if (count)
        nl_builder_coverage(f->b, NL_NULL_ROW, item, (int64_t)count, detail);
}

/* In the order in which they are built. The names of `args` are made with its column. */
static const enum nl_table_id staged_tables[] = {
    NL_T_kernel, NL_T_copy,   NL_T_memset, NL_T_sync,   NL_T_api,     NL_T_op,        NL_T_layer,
    NL_T_nvtx,   NL_T_python, NL_T_graph,  NL_T_memory, NL_T_counter, NL_T_flow,      NL_T_step,
    NL_T_sample, NL_T_stack,  NL_T_arg,    NL_T_call,   NL_T_node,    NL_T_slicestack};

void nl_number_ahead(struct nl_finish *f)
{
    const struct nl_builder *b = f->b;
    const uint32_t *sequence = f->sequence[NL_T_lane];
    for (uint32_t l = 0; l < b->lane_keys.count; l++)
        (void)nl_settled_name(f->trace, b->own, b->lanes[sequence[l]].name);
    for (uint32_t l = 0; l < b->lane_keys.count; l++)
        (void)nl_settled_name(f->trace, b->own, b->lanes[sequence[l]].domain);
    for (size_t i = 0; staged_tables[i] != NL_T_arg; i++)
        nl_number_names(f, staged_tables[i]);
}

static bool build_staged_tables(struct nl_finish *f, struct nl_err *err)
{
    for (size_t i = 0; i < sizeof staged_tables / sizeof staged_tables[0]; i++) {
        if (nl_job_cancelled(f->b->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (!nl_build_table(f, staged_tables[i], 0, err))
            return false;
    }
    return nl_build_instances(f, err);
}

/* Slices that a side table describes. */
struct side {
    struct nl_trace *trace;
    enum nl_table_id table;
    const uint32_t *slices;
    uint32_t rows;
};

/* A slice is of one kind, so of one table: tables do not meet. */
static void point_from(void *context, size_t index, unsigned worker)
{
    (void)worker;
    const struct side *side = &((const struct side *)context)[index];
    const struct nl_slice_table *slice = &side->trace->slice;
    for (uint32_t i = 0; i < side->rows; i++) {
        uint32_t row = side->slices[i];
        if (row != NL_NULL_ROW && nl_detail_table(slice->kind[row]) == side->table)
            slice->detail[row] = i;
    }
}

/* slice.detail of every slice that the side table of its kind describes. */
static void point_to_details(struct nl_trace *t, unsigned threads)
{
    struct side sides[] = {{t, NL_T_kernel, t->kernel.slice, t->kernel.rows},
                           {t, NL_T_copy, t->copy.slice, t->copy.rows},
                           {t, NL_T_memset, t->memset.slice, t->memset.rows},
                           {t, NL_T_sync, t->sync.slice, t->sync.rows},
                           {t, NL_T_api, t->api.slice, t->api.rows},
                           {t, NL_T_op, t->op.slice, t->op.rows},
                           {t, NL_T_layer, t->layer.slice, t->layer.rows},
                           {t, NL_T_nvtx, t->nvtx.slice, t->nvtx.rows},
                           {t, NL_T_python, t->python.slice, t->python.rows},
                           {t, NL_T_graph, t->graph.slice, t->graph.rows}};
    nl_parallel(t->slice.rows < NL_FEW_ROWS ? 1 : threads, sizeof sides / sizeof sides[0],
                point_from, sides);
}

/* The first start and the last end of a part of the slices. */
struct extent {
    const struct nl_slice_table *slice;
    uint32_t from, to;
    int64_t first, last;
};

static void extent_of_part(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct extent *part = &((struct extent *)context)[index];
    const int64_t *ts = part->slice->ts, *dur = part->slice->dur;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = part->from; i < part->to; i++) {
        first = ts[i] < first ? ts[i] : first;
        last = ts[i] + dur[i] > last ? ts[i] + dur[i] : last;
    }
    part->first = first;
    part->last = last;
}

#define EXTENT_PARTS 16u

/* Of all slices; INT64_MAX and INT64_MIN without any. */
static struct extent extent_of_slices(const struct nl_trace *t, unsigned threads)
{
    struct extent parts[EXTENT_PARTS], all = {.first = INT64_MAX, .last = INT64_MIN};
    for (uint32_t p = 0; p < EXTENT_PARTS; p++)
        parts[p] =
            (struct extent){.slice = &t->slice,
                            .from = (uint32_t)((uint64_t)t->slice.rows * p / EXTENT_PARTS),
                            .to = (uint32_t)((uint64_t)t->slice.rows * (p + 1) / EXTENT_PARTS)};
    nl_parallel(t->slice.rows < NL_FEW_ROWS ? 1 : threads, EXTENT_PARTS, extent_of_part, parts);
    for (uint32_t p = 0; p < EXTENT_PARTS; p++) {
        all.first = parts[p].first < all.first ? parts[p].first : all.first;
        all.last = parts[p].last > all.last ? parts[p].last : all.last;
    }
    return all;
}

static void find_extent(struct nl_trace *t, unsigned threads)
{
    const struct extent slices = extent_of_slices(t, threads);
    int64_t first = slices.first, last = slices.last;
    for (uint32_t i = 0; t->slice.rows == 0 && i < t->counter.rows; i++) {
        first = t->counter.ts[i] < first ? t->counter.ts[i] : first;
        last = t->counter.ts[i] > last ? t->counter.ts[i] : last;
    }
    for (uint32_t i = 0; t->slice.rows == 0 && i < t->sample.rows; i++) {
        if (t->sample.ts[i] == NL_NULL_I64)
            continue;
        first = t->sample.ts[i] < first ? t->sample.ts[i] : first;
        last = t->sample.ts[i] > last ? t->sample.ts[i] : last;
    }
    t->first_ts = first == INT64_MAX ? 0 : first;
    t->last_ts = last == INT64_MIN ? 0 : last;
}

static int by_coverage(const void *x, const void *y, void *context)
{
    const struct nl_builder *b = context;
    const struct nl_coverage_row *a = x, *c = y;
    if (a->source != c->source)
        return a->source < c->source ? -1 : 1;
    struct nl_str p = nl_dict_text(&b->names, a->item & ~NL_SHARED_NAME);
    struct nl_str q = nl_dict_text(&b->names, c->item & ~NL_SHARED_NAME);
    size_t len = p.len < q.len ? p.len : q.len;
    int order = memcmp(p.ptr, q.ptr, len);
    return order ? order : (p.len > q.len) - (p.len < q.len);
}

static bool any_staged(const struct nl_builder *b, enum nl_table_id table)
{
    bool any = false;
    for (const struct nl_stage *stage = b->stages; stage; stage = stage->next)
        any |= stage->tables[table].count > 0;
    return any;
}

/* The names of all stages at most are those of the trace. */
static void begin_names(struct nl_finish *f)
{
    struct nl_builder *b = f->b;
    uint64_t texts = b->names.count;
    b->shared_remap = nl_zalloc(b->names.count * sizeof *b->shared_remap);
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next) {
        stage->remap = nl_zalloc(stage->names.count * sizeof *stage->remap);
        texts += stage->names.count;
    }
    nl_dict_init(&f->trace->names);
    nl_dict_reserve(&f->trace->names, texts < UINT32_MAX / 4 ? (uint32_t)texts : 0);
}

void nl_finishing_begin(struct nl_finish *f, struct nl_builder *b)
{
    *f = (struct nl_finish){.b = b};
    f->trace = nl_zalloc(sizeof *f->trace);
    f->trace->spill = b->pages.spill;
    nl_stages_pack(b);
    nl_give_back(); /* by the reader */
    begin_names(f);
}

bool nl_finishing_rows(struct nl_finish *f, struct nl_err *err)
{
    struct nl_builder *b = f->b;
    if (nl_builder_over_budget(b))
        return nl_budget_fail(b, err);
    if (!order_units(f, err))
        return false;
    nl_job_phase(b->job, "sorting", 0);
    nl_entities_order(b, &f->remaps, f->sequence);
    inherit_ranks(b);
    if (!nl_build_slices(f, err))
        return false;
    if (!build_staged_tables(f, err))
        return false;
    point_to_details(f->trace, nl_job_threads(b->job));
    nl_build_entities(f, NL_T_process, b->processes, b->process_keys.count);
    nl_build_entities(f, NL_T_thread, b->threads, b->thread_keys.count);
    nl_build_entities(f, NL_T_device, b->devices, b->device_keys.count);
    nl_build_entities(f, NL_T_series, b->series, b->series_keys.count);
    nl_build_entities(f, NL_T_source, b->sources, b->source_count);
    nl_build_entities(f, NL_T_meta, b->metas, b->meta_count);
    return true;
}

/* Where slices were staged matters to those who refer to them; nearly all
 * columns are made by now. */
void nl_finishing_give_back(struct nl_finish *f)
{
    if (any_staged(f->b, NL_T_metric) || any_staged(f->b, NL_T_measurement))
        return;
    nl_nesting_release(&f->nest);
    nl_pagepool_empty(&f->b->pages);
}

void nl_finishing_extent(struct nl_finish *f)
{
    find_extent(f->trace, nl_job_threads(f->b->job));
    report_trace_count(f, "slices without an end", f->unfinished,
                       "clamped to the end of the trace");
    report_trace_count(f, "negative durations", f->negative, "set to 0");
    report_trace_count(f, "times out of range", f->clamped_times, "clamped to +-73 years");
    report_trace_count(f, "names redacted", f->b->names_redacted,
                       "they contained what looks like a secret");
    report_trace_count(f, "slices left un-nested", f->nest.unnested,
                       "they overlap more than 64 others on one lane");
}

static void build_coverage(struct nl_finish *f)
{
    struct nl_builder *b = f->b;
    if (b->coverage_count)
        qsort_r(b->coverages, b->coverage_count, sizeof *b->coverages, by_coverage, b);
    nl_free(b->shared_remap);
    b->shared_remap = nl_zalloc(b->names.count * sizeof *b->shared_remap);
    nl_build_entities(f, NL_T_coverage, b->coverages, b->coverage_count);
}

struct nl_trace *nl_finishing_end(struct nl_finish *f, bool done)
{
    if (done)
        build_coverage(f);
    nl_nesting_release(&f->nest);
    for (int t = 0; t < NL_TABLE_COUNT; t++) {
        nl_free(f->remaps.map[t]);
        nl_free(f->sequence[t]);
    }
    nl_free(f->units);
    nl_builder_free(f->b);
    nl_dict_settle(&f->trace->names);
    if (!done) {
        nl_trace_free(f->trace);
        return NULL;
    }
    return f->trace;
}
