/*
 * Events of a run. The call and what it launched carry the same stack id; that is the correlation
 * id, unique within a process.
 */
#include "ingest/amd/rocpd.h"

#include <stdio.h>

/* ---- Dispatches ---- */

enum {
    K_SYMBOL = ROCPD_OWN,
    K_SHARED,
    K_BLOCK_X,
    K_BLOCK_Y,
    K_BLOCK_Z,
    K_GRID_X,
    K_GRID_Y,
    K_GRID_Z,
    K_GRAPH,
    K_NODE
};
static const char *const dispatch_columns[] = {ROCPD_PLACE,
                                               [K_SYMBOL] = "kernel_id",
                                               [K_SHARED] = "group_segment_size",
                                               [K_BLOCK_X] = "workgroup_size_x",
                                               [K_BLOCK_Y] = "workgroup_size_y",
                                               [K_BLOCK_Z] = "workgroup_size_z",
                                               [K_GRID_X] = "grid_size_x",
                                               [K_GRID_Y] = "grid_size_y",
                                               [K_GRID_Z] = "grid_size_z",
                                               [K_GRAPH] = "graph_exec_id",
                                               [K_NODE] = "graph_node_id",
                                               NULL};

static uint32_t stream_lane(struct rocpd *load, const struct rocpd_track *on, int64_t agent)
{
    return gpurows_stream(&load->db.rows, on->pid, agent, NL_NULL_I64,
                          on->stream == NL_NULL_I64 ? on->queue : on->stream);
}

/* 0 is "outside graphs". */
static uint64_t graph_id(dbfile_cells cell)
{
    return cell->type == SQLITEPAGES_INTEGER && cell->integer ? (uint64_t)cell->integer
                                                              : NL_NULL_U64;
}

/* Counters refer to dispatches by the event. The first dispatch of an event counts. */
static void keep_slice(struct rocpd *load, dbfile_cells id, uint32_t slice)
{
    struct rocpd_event *event = rocpd_event(load, id);
    if (event && event->slice == NL_NULL_ROW)
        event->slice = slice;
    if (!event && id->type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->dispatches, (uint64_t)id->integer, slice, NULL);
}

static uint32_t slice_of(struct rocpd *load, dbfile_cells id)
{
    const struct rocpd_event *event = rocpd_event(load, id);
    const uint64_t *slice = event || id->type != SQLITEPAGES_INTEGER
                                ? NULL
                                : gpurows_map_find(&load->dispatches, (uint64_t)id->integer);
    return event ? event->slice : slice ? (uint32_t)*slice : NL_NULL_ROW;
}

static void dispatch_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_kernel_row kernel = nl_kernel_row();
    struct rocpd_place at = rocpd_place(load, cells);
    if (!gpurows_times(rows, at.start, at.end, &slice))
        return;
    const uint64_t *place =
        cells[K_SYMBOL].type == SQLITEPAGES_INTEGER
            ? gpurows_map_find(&load->symbols, (uint64_t)cells[K_SYMBOL].integer)
            : NULL;
    load->unknown_kernels += !place;
    slice.kind = NL_KIND_KERNEL;
    slice.name = place ? load->symbol[*place].name : NL_NO_NAME;
    slice.lane = stream_lane(load, &at.on, at.on.agent);
    kernel.slice = nl_stage_slice(rows->stage, &slice);
    kernel.correlation = at.event.stack;
    kernel.graph = graph_id(&cells[K_GRAPH]);
    kernel.graph_node = graph_id(&cells[K_NODE]);
    kernel.registers = place ? load->symbol[*place].registers : NL_NULL_U32;
    kernel.static_shared_bytes = dbcell_u32(&cells[K_SHARED]);
    gpurows_work_items(&kernel,
                       (uint32_t[]){dbcell_u32(&cells[K_GRID_X]), dbcell_u32(&cells[K_GRID_Y]),
                                    dbcell_u32(&cells[K_GRID_Z])},
                       (uint32_t[]){dbcell_u32(&cells[K_BLOCK_X]), dbcell_u32(&cells[K_BLOCK_Y]),
                                    dbcell_u32(&cells[K_BLOCK_Z])});
    nl_stage_kernel(rows->stage, &kernel);
    keep_slice(load, &cells[ROCPD_EVENT], kernel.slice);
}

enum { V_EVENT, V_COUNTER, V_VALUE, V_SAMPLE };
static const char *const pmc_columns[] = {[V_EVENT] = "event_id",
                                          [V_COUNTER] = "pmc_id",
                                          [V_VALUE] = "value",
                                          [V_SAMPLE] = "sample_id",
                                          NULL};

static void pmc_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    uint32_t slice = slice_of(load, &cells[V_EVENT]);
    const uint64_t *counter =
        cells[V_COUNTER].type == SQLITEPAGES_INTEGER
            ? gpurows_map_find(&load->counters, (uint64_t)cells[V_COUNTER].integer)
            : NULL;
    bool real = cells[V_VALUE].type == SQLITEPAGES_REAL;
    if (cells[V_SAMPLE].type == SQLITEPAGES_INTEGER) { /* of a sample, not of a dispatch */
        load->streamed++;
        return;
    }
    if (slice == NL_NULL_ROW || !counter || (!real && cells[V_VALUE].type != SQLITEPAGES_INTEGER)) {
        load->lost_counters++;
        return;
    }
    struct nl_metric_row metric = nl_metric_row();
    metric.slice = slice;
    metric.name = load->counter[*counter].name;
    metric.unit = load->counter[*counter].unit;
    metric.value = real ? cells[V_VALUE].real : (double)cells[V_VALUE].integer;
    nl_stage_metric(load->db.rows.stage, &metric);
}

/* ---- Copies and allocations ---- */

enum { C_NAME = ROCPD_OWN, C_TO, C_FROM, C_BYTES, C_NODE };
static const char *const copy_columns[] = {ROCPD_PLACE,
                                           [C_NAME] = "name_id",
                                           [C_TO] = "dst_agent_id",
                                           [C_FROM] = "src_agent_id",
                                           [C_BYTES] = "size",
                                           [C_NODE] = "graph_node_id",
                                           NULL};

static void copy_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_copy_row copy = nl_copy_row();
    struct rocpd_place at = rocpd_place(load, cells);
    if (!gpurows_times(rows, at.start, at.end, &slice))
        return;
    copy.kind = (uint8_t)(dbrows_tag(&load->strings, &cells[C_NAME]) >> 8);
    bool to_device = copy.kind == NL_COPY_HTOD;
    slice.kind = NL_KIND_MEMCPY;
    slice.name = dbrows_name(&load->strings, &cells[C_NAME]);
    slice.lane = stream_lane(load, &at.on, dbcell_i64(&cells[to_device ? C_TO : C_FROM]));
    copy.slice = nl_stage_slice(rows->stage, &slice);
    copy.bytes = dbcell_u64(&cells[C_BYTES]);
    copy.correlation = at.event.stack;
    copy.graph_node = graph_id(&cells[C_NODE]);
    if (copy.kind == NL_COPY_DTOD) {
        copy.src_device = gpurows_ordinal(rows, dbcell_i64(&cells[C_FROM]));
        copy.dst_device = gpurows_ordinal(rows, dbcell_i64(&cells[C_TO]));
    }
    nl_stage_copy(rows->stage, &copy);
}

enum { M_TYPE = ROCPD_OWN, M_LEVEL, M_ADDRESS, M_BYTES };
static const char *const allocate_columns[] = {ROCPD_PLACE,         [M_TYPE] = "type",
                                               [M_LEVEL] = "level", [M_ADDRESS] = "address",
                                               [M_BYTES] = "size",  NULL};

static void allocate_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row when = nl_slice_row();
    struct rocpd_place at = rocpd_place(load, cells);
    int64_t bytes = dbcell_i64(&cells[M_BYTES]);
    if (!gpurows_times(rows, at.start, at.start, &when))
        return;
    struct nl_memory_row row = nl_memory_row();
    row.ts = when.ts;
    row.lane = gpurows_thread(rows, NL_LANE_THREAD, at.on.pid, at.on.tid, 0);
    row.address = dbcell_u64(&cells[M_ADDRESS]);
    row.device = gpurows_ordinal(rows, at.on.agent);
    gpurows_allocation(rows, &row, bytes, nl_str_is(dbrows_text(&cells[M_TYPE]), "FREE"));
    row.kind = nl_stage_name(rows->stage, dbrows_text(&cells[M_LEVEL]));
    nl_stage_memory(rows->stage, &row);
}

/* ---- Calls, ranges, marks ---- */

static void stage_range(struct rocpd *load, struct nl_slice_row *slice,
                        const struct rocpd_track *on, enum nl_rangestyle style)
{
    struct gpurows *rows = &load->db.rows;
    struct nl_nvtx_row range = nl_nvtx_row();
    range.domain = nl_builder_name(rows->builder, nl_str("roctx"));
    range.style = (uint8_t)style;
    slice->kind = NL_KIND_NVTX;
    slice->flags |= style == NL_RANGE_MARK ? NL_SLICE_INSTANT : 0;
    slice->lane = gpurows_thread(rows, NL_LANE_NVTX, on->pid, on->tid, range.domain);
    range.slice = nl_stage_slice(rows->stage, slice);
    nl_stage_nvtx(rows->stage, &range);
}

enum { R_NAME = ROCPD_OWN };
static const char *const region_columns[] = {ROCPD_PLACE, [R_NAME] = "name_id", NULL};

static void region_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct rocpd_place at = rocpd_place(load, cells);
    if (!gpurows_times(rows, at.start, at.end, &slice))
        return;
    slice.name = at.event.message ? at.event.message : dbrows_name(&load->strings, &cells[R_NAME]);
    if ((at.event.category & 0xff) == ROCPD_MARKER) {
        stage_range(load, &slice, &at.on, NL_RANGE_PUSH_POP);
        return;
    }
    bool api = (at.event.category & 0xff) == ROCPD_API;
    slice.kind = api ? NL_KIND_API : NL_KIND_LIBRARY;
    slice.lane = gpurows_thread(rows, NL_LANE_THREAD, at.on.pid, at.on.tid, 0);
    uint32_t row = nl_stage_slice(rows->stage, &slice);
    if (!api)
        return;
    struct nl_api_row call = nl_api_row();
    call.slice = row;
    call.correlation = at.event.stack;
    nl_stage_api(rows->stage, &call);
    if (load->graph_launches && call.correlation != NL_NULL_U64)
        (void)gpurows_map_put(&load->calls, call.correlation, row, NULL);
}

/* ---- Launches of graphs ---- */

enum { G_EXEC = ROCPD_OWN, G_DISPATCHES };
static const char *const graph_columns[] = {
    ROCPD_PLACE, [G_EXEC] = "graph_exec_id", [G_DISPATCHES] = "kernel_dispatch_count", NULL};

/* A separate call, if HIP calls were not recorded. */
static uint32_t stage_graph_call(struct rocpd *load, const struct rocpd_place *at,
                                 struct nl_slice_row *slice)
{
    struct gpurows *rows = &load->db.rows;
    struct nl_api_row call = nl_api_row();
    slice->kind = NL_KIND_API;
    slice->name = nl_stage_name(rows->stage, nl_str("hipGraphLaunch"));
    slice->lane = gpurows_thread(rows, NL_LANE_THREAD, at->on.pid, at->on.tid, 0);
    call.slice = nl_stage_slice(rows->stage, slice);
    call.correlation = at->event.stack;
    nl_stage_api(rows->stage, &call);
    return call.slice;
}

/* One per hipGraphLaunch, with the times of the call. */
static void graph_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_arg_row arg = nl_arg_row();
    struct rocpd_place at = rocpd_place(load, cells);
    if (!gpurows_times(rows, at.start, at.end, &slice))
        return;
    const uint64_t *call =
        at.event.stack == NL_NULL_U64 ? NULL : gpurows_map_find(&load->calls, at.event.stack);
    arg.slice = call ? (uint32_t)*call : stage_graph_call(load, &at, &slice);
    char text[96];
    int len = snprintf(text, sizeof text, "{\"graph_exec_id\":%lld,\"kernel_dispatch_count\":%lld}",
                       (long long)dbcell_i64(&cells[G_EXEC]),
                       (long long)dbcell_i64(&cells[G_DISPATCHES]));
    if (cells[G_EXEC].type == SQLITEPAGES_INTEGER &&
        cells[G_DISPATCHES].type == SQLITEPAGES_INTEGER) {
        arg.text = nl_stage_name(rows->stage, (struct nl_str){text, (size_t)len});
        nl_stage_arg(rows->stage, &arg);
    }
}

static void sample_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct nl_slice_row slice = nl_slice_row();
    struct rocpd_place at = rocpd_place(load, cells);
    if ((at.event.category & 0xff) != ROCPD_MARKER || at.on.pid == NL_NULL_I64) {
        load->other_samples++;
        return;
    }
    if (!gpurows_times(&load->db.rows, at.start, at.start, &slice))
        return;
    slice.name = at.event.message ? at.event.message : dbrows_name(&load->strings, &cells[R_NAME]);
    stage_range(load, &slice, &at.on, NL_RANGE_MARK);
}

void rocpd_rows_load(struct rocpd *load)
{
    char graphs[256];
    (void)snprintf(graphs, sizeof graphs, "rocpd_graph_launch%s", load->suffix);
    load->graph_launches = dbrows_count(&load->db, graphs) > 0;
    (void)rocpd_each(load, "rocpd_region", region_columns, region_row);
    (void)rocpd_each(load, "rocpd_graph_launch", graph_columns, graph_row);
    (void)rocpd_each(load, "rocpd_sample", region_columns, sample_row);
    (void)rocpd_each(load, "rocpd_kernel_dispatch", dispatch_columns, dispatch_row);
    (void)rocpd_each(load, "rocpd_pmc_event", pmc_columns, pmc_row);
    (void)rocpd_each(load, "rocpd_memory_copy", copy_columns, copy_row);
    (void)rocpd_each(load, "rocpd_memory_allocate", allocate_columns, allocate_row);
}
