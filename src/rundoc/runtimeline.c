/* The timeline: processes and lanes, then the events chosen, a line each. What only some kinds have
 * is in a separate object, null for the others. */
#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"
#include "rundoc/runparts.h"

/* Rows of a table by the slice they are about, for tables that several kinds of slices share. */
struct by_slice {
    struct nl_keyed *items;
    size_t count;
};

static struct by_slice index_slices(const uint32_t *slices, uint32_t rows)
{
    struct by_slice index = {.items = nl_alloc(((size_t)rows + 1) * 2 * sizeof *index.items)};
    for (uint32_t row = 0; row < rows; row++)
        if (slices[row] != NL_NULL_ROW)
            index.items[index.count++] = (struct nl_keyed){slices[row], row};
    nl_sort_keyed(index.items, index.items + rows + 1, index.count);
    return index;
}

/* Place of a slice's first row, or count. */
static size_t find_slice(const struct by_slice *index, uint32_t slice)
{
    size_t low = NL_FIRST(i, 0, index->count, index->items[i].key >= slice);
    return low < index->count && index->items[low].key == slice ? low : index->count;
}

static uint32_t row_of(const struct by_slice *index, uint32_t slice)
{
    size_t at = find_slice(index, slice);
    return at < index->count ? index->items[at].row : NL_NULL_ROW;
}

struct timeline {
    struct run_parts *parts;
    struct by_slice collectives, nodes, metrics;
};

/* Row in the side table of a kind, when the slice is of that kind. */
static uint32_t detail_of(const struct nl_trace *trace, uint32_t slice, enum nl_kind kind,
                          const uint32_t *owners, uint32_t rows)
{
    uint32_t row = trace->slice.detail[slice];
    if (trace->slice.kind[slice] != kind || row >= rows || owners[row] != slice)
        return NL_NULL_ROW;
    return row;
}
#define DETAIL(trace, slice, kind, table)                                                          \
    detail_of(trace, slice, kind, (trace)->table.slice, (trace)->table.rows)

/* Opens an object under the key, or writes null when there is no row. */
static bool open_or_null(struct run_parts *parts, const char *key, uint32_t row)
{
    nl_json_key(&parts->json, key);
    if (row == NL_NULL_ROW) {
        nl_json_null(&parts->json);
        return false;
    }
    nl_json_open(&parts->json, '{');
    return true;
}

/* ---- what kinds have ---- */

static void write_three(struct run_parts *parts, const char *key, const uint32_t *sizes)
{
    run_open(parts, key, '[');
    for (size_t i = 0; i < 3; i++)
        if (sizes[i] == NL_NULL_U32)
            nl_json_null(&parts->json);
        else
            nl_json_u64(&parts->json, sizes[i]);
    run_close(parts, ']');
}

static void write_counters(struct timeline *timeline, uint32_t slice)
{
    struct run_parts *parts = timeline->parts;
    const struct nl_metric_table *metric = &parts->trace->metric;
    run_open(parts, "counters", '[');
    for (size_t i = find_slice(&timeline->metrics, slice);
         i < timeline->metrics.count && timeline->metrics.items[i].key == slice; i++) {
        uint32_t row = timeline->metrics.items[i].row;
        if (run_metric_is_joined(parts->trace, row))
            continue;
        nl_json_open(&parts->json, '{');
        run_name(parts, "name", metric->name[row]);
        run_f64(parts, "value", metric->value[row]);
        run_name(parts, "unit", metric->unit[row]);
        run_name(parts, "text", metric->text[row]);
        nl_json_close(&parts->json, '}');
    }
    run_close(parts, ']');
}

static void write_kernel(struct timeline *timeline, uint32_t slice)
{
    struct run_parts *parts = timeline->parts;
    const struct nl_kernel_table *kernel = &parts->trace->kernel;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_KERNEL, kernel);
    if (!open_or_null(parts, "kernel", row))
        return;
    run_enum(parts, "class", NL_ENUM_class, kernel->class[row]);
    run_enum(parts, "category", NL_ENUM_category, kernel->category[row]);
    run_name(parts, "dtype", kernel->dtype[row]);
    write_three(parts, "grid",
                (uint32_t[]){kernel->grid_x[row], kernel->grid_y[row], kernel->grid_z[row]});
    write_three(parts, "block",
                (uint32_t[]){kernel->block_x[row], kernel->block_y[row], kernel->block_z[row]});
    run_u32(parts, "registers_per_thread", kernel->registers[row]);
    run_u32(parts, "static_shared_bytes", kernel->static_shared_bytes[row]);
    run_u32(parts, "dynamic_shared_bytes", kernel->dynamic_shared_bytes[row]);
    double occupancy = kernel->occupancy[row];
    run_f64(parts, "occupancy_share", occupancy >= 0 ? occupancy : NL_NULL_F64);
    run_u64(parts, "graph", kernel->graph[row]);
    run_u64(parts, "graph_node", kernel->graph_node[row]);
    run_u32(parts, "measurement", kernel->measurement[row]);
    write_counters(timeline, slice);
    run_close(parts, '}');
}

static void write_copy(struct run_parts *parts, uint32_t slice)
{
    const struct nl_copy_table *copy = &parts->trace->copy;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_MEMCPY, copy);
    if (!open_or_null(parts, "copy", row))
        return;
    run_enum(parts, "kind", NL_ENUM_copykind, copy->kind[row]);
    run_u64(parts, "bytes", copy->bytes[row]);
    run_enum(parts, "src_memory", NL_ENUM_memory, copy->src_memory[row]);
    run_enum(parts, "dst_memory", NL_ENUM_memory, copy->dst_memory[row]);
    run_i64(parts, "src_ordinal", copy->src_device[row]);
    run_i64(parts, "dst_ordinal", copy->dst_device[row]);
    run_close(parts, '}');
}

static void write_memset(struct run_parts *parts, uint32_t slice)
{
    const struct nl_memset_table *set = &parts->trace->memset;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_MEMSET, memset);
    if (!open_or_null(parts, "memset", row))
        return;
    run_u64(parts, "bytes", set->bytes[row]);
    run_i64(parts, "value", set->value[row]);
    run_enum(parts, "memory", NL_ENUM_memory, set->memory[row]);
    run_close(parts, '}');
}

static void write_sync(struct run_parts *parts, uint32_t slice)
{
    const struct nl_sync_table *sync = &parts->trace->sync;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_SYNC, sync);
    if (!open_or_null(parts, "sync", row))
        return;
    run_enum(parts, "kind", NL_ENUM_synckind, sync->kind[row]);
    run_i64(parts, "event_id", sync->event_id[row]);
    run_i64(parts, "wait_stream", sync->wait_stream[row]);
    run_close(parts, '}');
}

static void write_collective(struct timeline *timeline, uint32_t slice)
{
    struct run_parts *parts = timeline->parts;
    const struct nl_collective_table *collective = &parts->trace->collective;
    uint32_t row = row_of(&timeline->collectives, slice);
    if (!open_or_null(parts, "collective", row))
        return;
    run_name(parts, "operation", collective->operation[row]);
    run_u64(parts, "bytes", collective->bytes[row]);
    run_name(parts, "dtype", collective->dtype[row]);
    run_u32(parts, "rank_count", collective->ranks[row]);
    run_u64(parts, "in_elements", collective->in_elements[row]);
    run_u64(parts, "out_elements", collective->out_elements[row]);
    run_name(parts, "group_name", collective->group_name[row]);
    run_name(parts, "group_ranks", collective->group_ranks[row]);
    run_i64(parts, "sequence", collective->sequence[row]);
    run_i64(parts, "peer", collective->peer[row]);
    run_close(parts, '}');
}

static void write_op(struct run_parts *parts, uint32_t slice)
{
    const struct nl_op_table *op = &parts->trace->op;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_OP, op);
    if (!open_or_null(parts, "op", row))
        return;
    run_name(parts, "shapes", op->shapes[row]);
    run_name(parts, "dtypes", op->dtypes[row]);
    run_u64(parts, "flops", op->flops[row]);
    run_u64(parts, "bytes", op->bytes[row]);
    run_i64(parts, "sequence", op->sequence[row]);
    run_close(parts, '}');
}

static void write_range(struct run_parts *parts, uint32_t slice)
{
    const struct nl_nvtx_table *nvtx = &parts->trace->nvtx;
    uint32_t row = DETAIL(parts->trace, slice, NL_KIND_NVTX, nvtx);
    if (!open_or_null(parts, "range", row))
        return;
    run_enum(parts, "style", NL_ENUM_rangestyle, nvtx->style[row]);
    run_name(parts, "domain", nvtx->domain[row]);
    run_name(parts, "category", nvtx->category[row]);
    run_name(parts, "payload", nvtx->payload[row]);
    run_close(parts, '}');
}

static void write_node(struct timeline *timeline, uint32_t slice)
{
    struct run_parts *parts = timeline->parts;
    const struct nl_node_table *node = &parts->trace->node;
    uint32_t row = row_of(&timeline->nodes, slice);
    if (!open_or_null(parts, "node", row))
        return;
    run_name(parts, "name", node->name[row]);
    run_name(parts, "type", node->type[row]);
    run_name(parts, "provider", node->provider[row]);
    run_name(parts, "precision", node->precision[row]);
    run_name(parts, "tactic", node->tactic[row]);
    run_name(parts, "input_shapes", node->input_shapes[row]);
    run_name(parts, "input_types", node->input_types[row]);
    run_name(parts, "output_shapes", node->output_shapes[row]);
    run_name(parts, "output_types", node->output_types[row]);
    run_u64(parts, "parameter_bytes", node->parameter_bytes[row]);
    run_u64(parts, "activation_bytes", node->activation_bytes[row]);
    run_u64(parts, "output_bytes", node->output_bytes[row]);
    run_close(parts, '}');
}

/* ---- events ---- */

struct ids {
    uint64_t correlation;
    int64_t external;
};

#define TAKE_IDS(trace, row, table)                                                                \
    ((row) == NL_NULL_ROW                                                                          \
         ? (struct ids){NL_NULL_U64, NL_NULL_I64}                                                  \
         : (struct ids){(trace)->table.correlation[row], (trace)->table.external_id[row]})

static struct ids ids_of(const struct nl_trace *t, uint32_t slice)
{
    struct ids none = {NL_NULL_U64, NL_NULL_I64};
    uint32_t row = t->slice.detail[slice];
    switch (t->slice.kind[slice]) {
    case NL_KIND_KERNEL: return TAKE_IDS(t, DETAIL(t, slice, NL_KIND_KERNEL, kernel), kernel);
    case NL_KIND_MEMCPY: return TAKE_IDS(t, DETAIL(t, slice, NL_KIND_MEMCPY, copy), copy);
    case NL_KIND_MEMSET: return TAKE_IDS(t, DETAIL(t, slice, NL_KIND_MEMSET, memset), memset);
    case NL_KIND_API: return TAKE_IDS(t, DETAIL(t, slice, NL_KIND_API, api), api);
    case NL_KIND_SYNC:
        row = DETAIL(t, slice, NL_KIND_SYNC, sync);
        return row == NL_NULL_ROW ? none : (struct ids){t->sync.correlation[row], NL_NULL_I64};
    case NL_KIND_GRAPH:
        row = DETAIL(t, slice, NL_KIND_GRAPH, graph);
        return row == NL_NULL_ROW ? none : (struct ids){t->graph.correlation[row], NL_NULL_I64};
    case NL_KIND_OP:
        row = DETAIL(t, slice, NL_KIND_OP, op);
        return row == NL_NULL_ROW ? none : (struct ids){NL_NULL_U64, t->op.external_id[row]};
    default: return none;
    }
}

static void write_event(struct timeline *timeline, uint32_t slice)
{
    struct run_parts *parts = timeline->parts;
    const struct nl_slice_table *table = &parts->trace->slice;
    struct ids ids = ids_of(parts->trace, slice);
    run_row(parts);
    run_enum(parts, "kind", NL_ENUM_kind, table->kind[slice]);
    run_name(parts, "name", table->name[slice]);
    run_u64(parts, "lane", table->lane[slice]);
    run_i64(parts, "start_ns", table->ts[slice] - parts->trace->first_ts);
    run_i64(parts, "dur_ns", table->dur[slice]);
    run_bool(parts, "clamped", table->flags[slice] & NL_SLICE_CLAMPED);
    run_bool(parts, "instant", table->flags[slice] & NL_SLICE_INSTANT);
    run_u64(parts, "correlation", ids.correlation);
    run_i64(parts, "external_id", ids.external);
    write_kernel(timeline, slice);
    write_copy(parts, slice);
    write_memset(parts, slice);
    write_sync(parts, slice);
    write_collective(timeline, slice);
    write_op(parts, slice);
    write_range(parts, slice);
    write_node(timeline, slice);
    run_row_end(parts);
}

static void write_processes(struct run_parts *parts)
{
    const struct nl_process_table *process = &parts->trace->process;
    run_open(parts, "processes", '[');
    for (uint32_t row = 0; row < process->rows; row++) {
        run_row(parts);
        run_i64(parts, "rank", process->rank[row]);
        run_i64(parts, "pid", process->pid[row]);
        run_name(parts, "name", process->name[row]);
        run_name(parts, "label", process->label[row]);
        run_u32(parts, "source", process->source[row]);
        run_row_end(parts);
    }
    run_close(parts, ']');
}

static void write_lanes(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    const struct nl_lane_table *lane = &trace->lane;
    run_open(parts, "lanes", '[');
    for (uint32_t row = 0; row < lane->rows; row++) {
        uint32_t thread = lane->thread[row];
        bool known = thread != NL_NULL_ROW;
        if (lane->kind[row] == NL_LANE_CAPTURED) /* the last ones: no event is there */
            break;
        run_row(parts);
        run_enum(parts, "kind", NL_ENUM_lanekind, lane->kind[row]);
        run_name(parts, "name", lane->name[row]);
        run_u32(parts, "process", lane->process[row]);
        run_i64(parts, "tid", known ? trace->thread.tid[thread] : NL_NULL_I64);
        run_name(parts, "thread_name", known ? trace->thread.name[thread] : NL_NO_NAME);
        run_u32(parts, "device", lane->device[row]);
        run_i64(parts, "context", lane->context[row]);
        run_i64(parts, "stream", lane->stream[row]);
        run_name(parts, "domain", lane->domain[row]);
        run_row_end(parts);
    }
    run_close(parts, ']');
}

void run_write_timeline(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    struct timeline timeline = {.parts = parts,
                                .collectives =
                                    index_slices(trace->collective.slice, trace->collective.rows),
                                .nodes = index_slices(trace->node.slice, trace->node.rows),
                                .metrics = index_slices(trace->metric.slice, trace->metric.rows)};
    nl_json_open(&parts->json, '{');
    /* Summaries have no events, and nothing of them has a time. */
    bool timed = trace->slice.rows > 0 || trace->first_ts != 0 || trace->last_ts != 0;
    run_i64(parts, "origin_ns", timed ? trace->first_ts : NL_NULL_I64);
    run_i64(parts, "duration_ns", timed ? trace->last_ts - trace->first_ts : NL_NULL_I64);
    write_processes(parts);
    write_lanes(parts);
    run_open(parts, "events", '[');
    for (size_t i = 0; i < parts->listed_count && !nl_job_cancelled(parts->job); i++)
        write_event(&timeline, parts->listed[i]);
    run_close(parts, ']');
    nl_json_close(&parts->json, '}');
    nl_free(timeline.collectives.items);
    nl_free(timeline.nodes.items);
    nl_free(timeline.metrics.items);
}
