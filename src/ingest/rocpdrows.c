/*
 * Events of a run. The call and what it launched carry the same stack id; that is the correlation
 * id, unique within a process.
 */
#include "ingest/rocpd.h"

/* ---- Dispatches ---- */

enum {
    K_PID,
    K_AGENT,
    K_SYMBOL,
    K_QUEUE,
    K_STREAM,
    K_START,
    K_END,
    K_SHARED,
    K_BLOCK_X,
    K_BLOCK_Y,
    K_BLOCK_Z,
    K_GRID_X,
    K_GRID_Y,
    K_GRID_Z,
    K_EVENT
};
static const char *const dispatch_columns[] = {"pid",
                                               "agent_id",
                                               "kernel_id",
                                               "queue_id",
                                               "stream_id",
                                               "start",
                                               "end",
                                               "group_segment_size",
                                               "workgroup_size_x",
                                               "workgroup_size_y",
                                               "workgroup_size_z",
                                               "grid_size_x",
                                               "grid_size_y",
                                               "grid_size_z",
                                               "event_id",
                                               NULL};

static int64_t stream_of(nsys_cells stream, nsys_cells queue)
{
    int64_t number = nsys_i64(stream);
    return number == NL_NULL_I64 ? nsys_i64(queue) : number;
}

static void dispatch_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_kernel_row kernel = nl_kernel_row();
    if (!gpurows_times(rows, nsys_i64(&cells[K_START]), nsys_i64(&cells[K_END]), &slice))
        return;
    const uint64_t *place =
        cells[K_SYMBOL].type == SQLITEPAGES_INTEGER
            ? gpurows_map_find(&load->symbols, (uint64_t)cells[K_SYMBOL].integer)
            : NULL;
    load->unknown_kernels += !place;
    slice.kind = NL_KIND_KERNEL;
    slice.name = place ? load->symbol[*place].name : NL_NO_NAME;
    slice.lane = gpurows_stream(rows, rocpd_pid(load, &cells[K_PID]), nsys_i64(&cells[K_AGENT]),
                                NL_NULL_I64, stream_of(&cells[K_STREAM], &cells[K_QUEUE]));
    kernel.slice = nl_stage_slice(rows->stage, &slice);
    kernel.correlation = rocpd_event(load, &cells[K_EVENT]).stack;
    kernel.registers = place ? load->symbol[*place].registers : NL_NULL_U32;
    kernel.static_shared_bytes = nsys_u32(&cells[K_SHARED]);
    gpurows_work_items(&kernel,
                       (uint32_t[]){nsys_u32(&cells[K_GRID_X]), nsys_u32(&cells[K_GRID_Y]),
                                    nsys_u32(&cells[K_GRID_Z])},
                       (uint32_t[]){nsys_u32(&cells[K_BLOCK_X]), nsys_u32(&cells[K_BLOCK_Y]),
                                    nsys_u32(&cells[K_BLOCK_Z])});
    nl_stage_kernel(rows->stage, &kernel);
    if (cells[K_EVENT].type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->dispatches, (uint64_t)cells[K_EVENT].integer, kernel.slice,
                              NULL);
}

static void pmc_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    const uint64_t *slice = cells[0].type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&load->dispatches, (uint64_t)cells[0].integer)
                                : NULL;
    const uint64_t *counter = cells[1].type == SQLITEPAGES_INTEGER
                                  ? gpurows_map_find(&load->counters, (uint64_t)cells[1].integer)
                                  : NULL;
    bool real = cells[2].type == SQLITEPAGES_REAL;
    if (!slice || !counter || (!real && cells[2].type != SQLITEPAGES_INTEGER)) {
        load->lost_counters++;
        return;
    }
    struct nl_metric_row metric = nl_metric_row();
    metric.slice = (uint32_t)*slice;
    metric.name = load->counter[*counter].name;
    metric.unit = load->counter[*counter].unit;
    metric.value = real ? cells[2].real : (double)cells[2].integer;
    nl_stage_metric(load->db.rows.stage, &metric);
}

/* ---- Copies and allocations ---- */

enum { C_PID, C_START, C_END, C_NAME, C_TO, C_FROM, C_BYTES, C_QUEUE, C_STREAM, C_EVENT };
static const char *const copy_columns[] = {"pid",          "start",        "end",  "name_id",
                                           "dst_agent_id", "src_agent_id", "size", "queue_id",
                                           "stream_id",    "event_id",     NULL};

static void copy_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_copy_row copy = nl_copy_row();
    if (!gpurows_times(rows, nsys_i64(&cells[C_START]), nsys_i64(&cells[C_END]), &slice))
        return;
    copy.kind = (uint8_t)(dbrows_tag(&load->strings, &cells[C_NAME]) >> 8);
    bool to_device = copy.kind == NL_COPY_HTOD;
    slice.kind = NL_KIND_MEMCPY;
    slice.name = dbrows_name(&load->strings, &cells[C_NAME]);
    slice.lane = gpurows_stream(rows, rocpd_pid(load, &cells[C_PID]),
                                nsys_i64(&cells[to_device ? C_TO : C_FROM]), NL_NULL_I64,
                                stream_of(&cells[C_STREAM], &cells[C_QUEUE]));
    copy.slice = nl_stage_slice(rows->stage, &slice);
    copy.bytes = nsys_u64(&cells[C_BYTES]);
    copy.correlation = rocpd_event(load, &cells[C_EVENT]).stack;
    if (copy.kind == NL_COPY_DTOD) {
        copy.src_device = gpurows_ordinal(rows, nsys_i64(&cells[C_FROM]));
        copy.dst_device = gpurows_ordinal(rows, nsys_i64(&cells[C_TO]));
    }
    nl_stage_copy(rows->stage, &copy);
}

enum { M_PID, M_TID, M_AGENT, M_TYPE, M_LEVEL, M_START, M_ADDRESS, M_BYTES };
static const char *const allocate_columns[] = {"pid",   "tid",     "agent_id", "type", "level",
                                               "start", "address", "size",     NULL};

static void allocate_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row when = nl_slice_row();
    int64_t start = nsys_i64(&cells[M_START]), bytes = nsys_i64(&cells[M_BYTES]);
    if (!gpurows_times(rows, start, start, &when))
        return;
    struct nl_memory_row row = nl_memory_row();
    row.ts = when.ts;
    row.lane = gpurows_thread(rows, NL_LANE_THREAD, rocpd_pid(load, &cells[M_PID]),
                              rocpd_tid(load, &cells[M_TID]), 0);
    row.address = nsys_u64(&cells[M_ADDRESS]);
    row.device = gpurows_ordinal(rows, nsys_i64(&cells[M_AGENT]));
    gpurows_allocation(rows, &row, bytes, nl_str_is(dbrows_text(&cells[M_TYPE]), "FREE"));
    row.kind = nl_stage_name(rows->stage, dbrows_text(&cells[M_LEVEL]));
    nl_stage_memory(rows->stage, &row);
}

/* ---- Calls, ranges, marks ---- */

static void stage_range(struct rocpd *load, struct nl_slice_row *slice, int64_t pid, int64_t tid,
                        enum nl_rangestyle style)
{
    struct gpurows *rows = &load->db.rows;
    struct nl_nvtx_row range = nl_nvtx_row();
    range.domain = nl_builder_name(rows->builder, nl_str("roctx"));
    range.style = (uint8_t)style;
    slice->kind = NL_KIND_NVTX;
    slice->flags |= style == NL_RANGE_MARK ? NL_SLICE_INSTANT : 0;
    slice->lane = gpurows_thread(rows, NL_LANE_NVTX, pid, tid, range.domain);
    range.slice = nl_stage_slice(rows->stage, slice);
    nl_stage_nvtx(rows->stage, &range);
}

enum { R_PID, R_TID, R_START, R_END, R_NAME, R_EVENT };
static const char *const region_columns[] = {"pid",     "tid",      "start", "end",
                                             "name_id", "event_id", NULL};

static void region_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct rocpd_event event = rocpd_event(load, &cells[R_EVENT]);
    int64_t pid = rocpd_pid(load, &cells[R_PID]), tid = rocpd_tid(load, &cells[R_TID]);
    if (!gpurows_times(rows, nsys_i64(&cells[R_START]), nsys_i64(&cells[R_END]), &slice))
        return;
    slice.name = event.message ? event.message : dbrows_name(&load->strings, &cells[R_NAME]);
    if ((event.category & 0xff) == ROCPD_MARKER) {
        stage_range(load, &slice, pid, tid, NL_RANGE_PUSH_POP);
        return;
    }
    bool api = (event.category & 0xff) == ROCPD_API;
    slice.kind = api ? NL_KIND_API : NL_KIND_LIBRARY;
    slice.lane = gpurows_thread(rows, NL_LANE_THREAD, pid, tid, 0);
    uint32_t row = nl_stage_slice(rows->stage, &slice);
    if (!api)
        return;
    struct nl_api_row call = nl_api_row();
    call.slice = row;
    call.correlation = event.stack;
    nl_stage_api(rows->stage, &call);
}

static void sample_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct nl_slice_row slice = nl_slice_row();
    struct rocpd_event event = rocpd_event(load, &cells[2]);
    const uint64_t *place = cells[0].type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&load->tracks, (uint64_t)cells[0].integer)
                                : NULL;
    int64_t start = nsys_i64(&cells[1]);
    if ((event.category & 0xff) != ROCPD_MARKER || !place) {
        load->other_samples++;
        return;
    }
    if (!gpurows_times(&load->db.rows, start, start, &slice))
        return;
    slice.name = event.message;
    stage_range(load, &slice, load->track[*place].pid, load->track[*place].tid, NL_RANGE_MARK);
}

void rocpd_rows_load(struct rocpd *load)
{
    static const char *const sample_columns[] = {"track_id", "timestamp", "event_id", NULL};
    static const char *const pmc_columns[] = {"event_id", "pmc_id", "value", NULL};
    (void)rocpd_each(load, "rocpd_region", region_columns, region_row);
    (void)rocpd_each(load, "rocpd_sample", sample_columns, sample_row);
    (void)rocpd_each(load, "rocpd_kernel_dispatch", dispatch_columns, dispatch_row);
    (void)rocpd_each(load, "rocpd_pmc_event", pmc_columns, pmc_row);
    (void)rocpd_each(load, "rocpd_memory_copy", copy_columns, copy_row);
    (void)rocpd_each(load, "rocpd_memory_allocate", allocate_columns, allocate_row);
}
