/* The events of the timeline: a slice each, and the row of its kind. */
#include "ingest/rundoc/runjson.h"

#define UNIT_EVENTS 65536 /* of a unit of work */

/* An event with all that it may carry. */
struct event {
    uint8_t kind;
    uint32_t name;
    int64_t lane, start, dur;
    bool clamped, instant;
    uint64_t correlation;
    int64_t external;
    struct runjson_object kernel, copy, memset, sync, collective, op, range, node;
};

#define MEMBER(key, type, table, column) RUNJSON_MEMBER(key, type, nl_##table##_row, column)
#define CHOICE(key, table, column, enumeration)                                                    \
    {                                                                                              \
        key, RUNJSON_ENUM, offsetof(struct nl_##table##_row, column), NL_ENUM_##enumeration, NULL  \
    }
static const struct runjson_member kernel_members[] = {
    CHOICE("class", kernel, class, class),
    CHOICE("category", kernel, category, category),
    MEMBER("dtype", NAME, kernel, dtype),
    MEMBER("grid", THREE, kernel, grid_x),
    MEMBER("block", THREE, kernel, block_x),
    MEMBER("registers_per_thread", U32, kernel, registers),
    MEMBER("static_shared_bytes", U32, kernel, static_shared_bytes),
    MEMBER("dynamic_shared_bytes", U32, kernel, dynamic_shared_bytes),
    MEMBER("occupancy_share", F64, kernel, occupancy),
    MEMBER("graph", U64, kernel, graph),
    MEMBER("graph_node", U64, kernel, graph_node),
    MEMBER("measurement", MEASUREMENT, kernel, measurement),
    {"counters", RUNJSON_COUNTERS, 0, 0, NULL},
    RUNJSON_END,
};

static const struct runjson_member copy_members[] = {
    CHOICE("kind", copy, kind, copykind),
    MEMBER("bytes", U64, copy, bytes),
    CHOICE("src_memory", copy, src_memory, memory),
    CHOICE("dst_memory", copy, dst_memory, memory),
    MEMBER("src_ordinal", I64, copy, src_device),
    MEMBER("dst_ordinal", I64, copy, dst_device),
    RUNJSON_END,
};

static const struct runjson_member memset_members[] = {
    MEMBER("bytes", U64, memset, bytes),
    MEMBER("value", I64, memset, value),
    CHOICE("memory", memset, memory, memory),
    RUNJSON_END,
};

static const struct runjson_member sync_members[] = {
    CHOICE("kind", sync, kind, synckind),
    MEMBER("event_id", I64, sync, event_id),
    MEMBER("wait_stream", I64, sync, wait_stream),
    RUNJSON_END,
};

static const struct runjson_member collective_members[] = {
    MEMBER("operation", NAME, collective, operation),
    MEMBER("bytes", U64, collective, bytes),
    MEMBER("dtype", NAME, collective, dtype),
    MEMBER("rank_count", U32, collective, ranks),
    MEMBER("in_elements", U64, collective, in_elements),
    MEMBER("out_elements", U64, collective, out_elements),
    MEMBER("group_name", NAME, collective, group_name),
    MEMBER("group_ranks", NAME, collective, group_ranks),
    MEMBER("sequence", I64, collective, sequence),
    MEMBER("peer", I64, collective, peer),
    RUNJSON_END,
};

static const struct runjson_member op_members[] = {
    MEMBER("shapes", NAME, op, shapes),    MEMBER("dtypes", NAME, op, dtypes),
    MEMBER("flops", U64, op, flops),       MEMBER("bytes", U64, op, bytes),
    MEMBER("sequence", I64, op, sequence), RUNJSON_END,
};

static const struct runjson_member range_members[] = {
    CHOICE("style", nvtx, style, rangestyle),
    MEMBER("domain", NAME, nvtx, domain),
    MEMBER("category", NAME, nvtx, category),
    MEMBER("payload", NAME, nvtx, payload),
    RUNJSON_END,
};

static const struct runjson_member node_members[] = {
    MEMBER("name", NAME, node, name),
    MEMBER("type", NAME, node, type),
    MEMBER("provider", NAME, node, provider),
    MEMBER("precision", NAME, node, precision),
    MEMBER("tactic", NAME, node, tactic),
    MEMBER("input_shapes", NAME, node, input_shapes),
    MEMBER("input_types", NAME, node, input_types),
    MEMBER("output_shapes", NAME, node, output_shapes),
    MEMBER("output_types", NAME, node, output_types),
    MEMBER("parameter_bytes", U64, node, parameter_bytes),
    MEMBER("activation_bytes", U64, node, activation_bytes),
    MEMBER("output_bytes", U64, node, output_bytes),
    RUNJSON_END,
};

#define PLAIN(key, type, field)                                                                    \
    {                                                                                              \
        key, RUNJSON_##type, offsetof(struct event, field), NL_ENUM_kind, NULL                     \
    }
#define INNER(table)                                                                               \
    {                                                                                              \
#table, RUNJSON_OBJECT, offsetof(struct event, table), 0, table##_members                  \
    }

static const struct runjson_member event_members[] = {
    PLAIN("kind", ENUM, kind),
    PLAIN("name", NAME, name),
    PLAIN("lane", I64, lane),
    PLAIN("start_ns", I64, start),
    PLAIN("dur_ns", I64, dur),
    PLAIN("clamped", BOOL, clamped),
    PLAIN("instant", BOOL, instant),
    PLAIN("correlation", U64, correlation),
    PLAIN("external_id", I64, external),
    INNER(kernel),
    INNER(copy),
    INNER(memset),
    INNER(sync),
    INNER(collective),
    INNER(op),
    INNER(range),
    INNER(node),
    RUNJSON_END,
};

/* The rows that an event's objects are read into. */
struct rows {
    struct nl_kernel_row kernel;
    struct nl_copy_row copy;
    struct nl_memset_row memset;
    struct nl_sync_row sync;
    struct nl_collective_row collective;
    struct nl_op_row op;
    struct nl_nvtx_row range;
    struct nl_node_row node;
};

static struct event empty_event(struct rows *rows)
{
    *rows = (struct rows){nl_kernel_row(),     nl_copy_row(), nl_memset_row(), nl_sync_row(),
                          nl_collective_row(), nl_op_row(),   nl_nvtx_row(),   nl_node_row()};
    return (struct event){.lane = NL_NULL_I64,
                          .start = NL_NULL_I64,
                          .dur = NL_NULL_I64,
                          .correlation = NL_NULL_U64,
                          .external = NL_NULL_I64,
                          .kernel.row = &rows->kernel,
                          .copy.row = &rows->copy,
                          .memset.row = &rows->memset,
                          .sync.row = &rows->sync,
                          .collective.row = &rows->collective,
                          .op.row = &rows->op,
                          .range.row = &rows->range,
                          .node.row = &rows->node};
}

/* The row of the event's kind: it is there even if the document says nothing more. */
static void stage_kind(struct runjson *load, const struct event *event, struct rows *rows,
                       uint32_t slice)
{
    struct nl_stage *stage = load->stage;
    switch (event->kind) {
    case NL_KIND_KERNEL:
        rows->kernel.slice = slice;
        rows->kernel.correlation = event->correlation;
        rows->kernel.external_id = event->external;
        nl_stage_kernel(stage, &rows->kernel);
        break;
    case NL_KIND_MEMCPY:
        rows->copy.slice = slice;
        rows->copy.correlation = event->correlation;
        rows->copy.external_id = event->external;
        nl_stage_copy(stage, &rows->copy);
        break;
    case NL_KIND_MEMSET:
        rows->memset.slice = slice;
        rows->memset.correlation = event->correlation;
        rows->memset.external_id = event->external;
        nl_stage_memset(stage, &rows->memset);
        break;
    case NL_KIND_SYNC:
        rows->sync.slice = slice;
        rows->sync.correlation = event->correlation;
        nl_stage_sync(stage, &rows->sync);
        break;
    case NL_KIND_OP:
        rows->op.slice = slice;
        rows->op.external_id = event->external;
        nl_stage_op(stage, &rows->op);
        break;
    case NL_KIND_NVTX:
        rows->range.slice = slice;
        nl_stage_nvtx(stage, &rows->range);
        break;
    default: break;
    }
}

/* Kinds whose rows the document does not have. */
static void stage_plain(struct runjson *load, const struct event *event, uint32_t slice)
{
    struct nl_stage *stage = load->stage;
    if (event->kind == NL_KIND_API) {
        struct nl_api_row row = nl_api_row();
        row.slice = slice;
        row.correlation = event->correlation;
        row.external_id = event->external;
        nl_stage_api(stage, &row);
    } else if (event->kind == NL_KIND_GRAPH) {
        struct nl_graph_row row = nl_graph_row();
        row.slice = slice;
        row.correlation = event->correlation;
        nl_stage_graph(stage, &row);
    } else if (event->kind == NL_KIND_LAYER) {
        struct nl_layer_row row = nl_layer_row();
        row.slice = slice;
        nl_stage_layer(stage, &row);
    } else if (event->kind == NL_KIND_PYTHON) {
        struct nl_python_row row = nl_python_row();
        row.slice = slice;
        nl_stage_python(stage, &row);
    }
}

static void stage_event(struct runjson *load, const struct event *event, struct rows *rows)
{
    struct nl_slice_row row = nl_slice_row();
    row.lane = runjson_row(&load->lanes, event->lane);
    bool length = event->dur == NL_NULL_I64 || (event->dur >= 0 && event->dur < RUNJSON_MAX_TIME);
    bool timed = length && event->start != NL_NULL_I64 &&
                 !__builtin_add_overflow(event->start, load->origin, &row.ts) &&
                 row.ts > -RUNJSON_MAX_TIME && row.ts < RUNJSON_MAX_TIME;
    if (!timed || row.lane == NL_NULL_ROW) {
        load->skipped++;
        return;
    }
    row.dur = event->dur;
    row.name = event->name;
    row.kind = event->kind;
    row.flags = (uint8_t)((event->clamped ? NL_SLICE_CLAMPED : 0) |
                          (event->instant ? NL_SLICE_INSTANT : 0));
    uint32_t slice = nl_stage_slice(load->stage, &row);
    stage_kind(load, event, rows, slice);
    stage_plain(load, event, slice);
    if (event->collective.there) {
        rows->collective.slice = slice;
        nl_stage_collective(load->stage, &rows->collective);
    }
    if (event->node.there) {
        rows->node.slice = slice;
        rows->node.source = load->source;
        nl_stage_node(load->stage, &rows->node);
    }
    for (size_t i = 0; i < load->metric_count; i++) {
        load->metrics[i].slice = slice;
        nl_stage_metric(load->stage, &load->metrics[i]);
    }
}

void runjson_read_events(struct runjson *load)
{
    struct jsonpull reader;
    struct nl_str text = load->parts[RUNJSON_EVENTS];
    uint64_t events = 0;
    if (!text.ptr)
        return;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_ARRAY)
        while (!runjson_stopped(load) && jsonpull_item(&reader)) {
            if (reader.type != JSONPULL_OBJECT) {
                load->skipped++;
                jsonpull_skip(&reader);
                continue;
            }
            struct rows rows;
            struct event event = empty_event(&rows);
            if (events++ % UNIT_EVENTS == 0)
                nl_stage_begin(load->stage, load->source, 1 + events / UNIT_EVENTS);
            load->metric_count = 0;
            runjson_read_row(load, &reader, event_members, &event);
            if (!reader.problem)
                stage_event(load, &event, &rows);
            nl_job_add(load->job, 1);
        }
    jsonpull_release(&reader);
}
