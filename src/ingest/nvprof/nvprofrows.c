/*
 * CUPTI's activity tables as nvprof keeps them: enumerations as CUPTI numbers them, calls by their
 * number (cbid), owners of markers and overheads as packed bytes, ranges as two rows.
 */
#include "ingest/nvprof/nvprof.h"
#include "store/copykind.h"

#define CALLS 2048
static const char *const runtime_calls[CALLS] = {
#define NL_RUNTIME_CALL(number, name) [number] = #name,
#define NL_DRIVER_CALL(number, name)
#include "ingest/nvprof/nvprofcalls.def"
#undef NL_RUNTIME_CALL
#undef NL_DRIVER_CALL
};
static const char *const driver_calls[CALLS] = {
#define NL_RUNTIME_CALL(number, name)
#define NL_DRIVER_CALL(number, name) [number] = #name,
#include "ingest/nvprof/nvprofcalls.def"
#undef NL_RUNTIME_CALL
#undef NL_DRIVER_CALL
};

static int64_t unless_all_ones(dbfile_cells cell)
{
    int64_t value = dbcell_i64(cell);
    return value == -1 || value == UINT32_MAX ? NL_NULL_I64 : value;
}

/* ---- Calls ---- */

enum { A_CALL, A_START, A_END, A_PID, A_TID, A_CORRELATION, A_RESULT };
static const char *const call_columns[] = {[A_CALL] = "cbid",
                                           [A_START] = "start",
                                           [A_END] = "end",
                                           [A_PID] = "processId",
                                           [A_TID] = "threadId",
                                           [A_CORRELATION] = "correlationId",
                                           [A_RESULT] = "returnValue",
                                           NULL};

static void call_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_api_row api = nl_api_row();
    int64_t pid = dbcell_i64(&cells[A_PID]), number = dbcell_i64(&cells[A_CALL]);
    if (!load->called)
        load->pid = pid;
    else if (load->pid != pid)
        load->pid = NL_NULL_I64;
    load->called = true;
    if (!gpurows_times(rows, dbcell_i64(&cells[A_START]), dbcell_i64(&cells[A_END]), &slice))
        return;
    const char *name = NULL;
    if (number >= 0 && number < CALLS)
        name = (load->driver ? driver_calls : runtime_calls)[number];
    load->unknown_calls += !name;
    if (name)
        slice.name = nl_stage_name(rows->stage, nl_str(name));
    slice.kind = NL_KIND_API;
    slice.lane = gpurows_thread(rows, NL_LANE_THREAD, pid, dbcell_i64(&cells[A_TID]), 0);
    api.slice = nl_stage_slice(rows->stage, &slice);
    api.correlation = dbcell_id(&cells[A_CORRELATION]);
    api.result = dbcell_i64(&cells[A_RESULT]);
    nl_stage_api(rows->stage, &api);
}

/* ---- Device work ---- */

enum {
    K_START,
    K_END,
    K_DEVICE,
    K_CONTEXT,
    K_STREAM,
    K_CORRELATION,
    K_NAME,
    K_REGISTERS,
    K_GRID_X,
    K_GRID_Y,
    K_GRID_Z,
    K_BLOCK_X,
    K_BLOCK_Y,
    K_BLOCK_Z,
    K_STATIC,
    K_DYNAMIC,
    K_GRAPH,
    K_GRAPH_NODE
};
static const char *const kernel_columns[] = {[K_START] = "start",
                                             [K_END] = "end",
                                             [K_DEVICE] = "deviceId",
                                             [K_CONTEXT] = "contextId",
                                             [K_STREAM] = "streamId",
                                             [K_CORRELATION] = "correlationId",
                                             [K_NAME] = "name",
                                             [K_REGISTERS] = "registersPerThread",
                                             [K_GRID_X] = "gridX",
                                             [K_GRID_Y] = "gridY",
                                             [K_GRID_Z] = "gridZ",
                                             [K_BLOCK_X] = "blockX",
                                             [K_BLOCK_Y] = "blockY",
                                             [K_BLOCK_Z] = "blockZ",
                                             [K_STATIC] = "staticSharedMemory",
                                             [K_DYNAMIC] = "dynamicSharedMemory",
                                             [K_GRAPH] = "graphId",
                                             [K_GRAPH_NODE] = "graphNodeId",
                                             NULL};

/* Times and lane; the columns of every device table begin with those of kernels. */
static bool device_slice(struct nvprof *load, dbfile_cells cells, enum nl_kind kind,
                         struct nl_slice_row *slice)
{
    struct gpurows *rows = &load->db.rows;
    *slice = nl_slice_row();
    if (!gpurows_times(rows, dbcell_i64(&cells[K_START]), dbcell_i64(&cells[K_END]), slice))
        return false;
    slice->kind = (uint8_t)kind;
    slice->lane = gpurows_stream(rows, load->pid, dbcell_i64(&cells[K_DEVICE]),
                                 dbcell_i64(&cells[K_CONTEXT]), unless_all_ones(&cells[K_STREAM]));
    return true;
}

static void kernel_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct nl_slice_row slice;
    struct nl_kernel_row kernel = nl_kernel_row();
    if (!device_slice(load, cells, NL_KIND_KERNEL, &slice))
        return;
    slice.name = dbrows_name(&load->strings, &cells[K_NAME]);
    kernel.slice = nl_stage_slice(load->db.rows.stage, &slice);
    kernel.correlation = dbcell_id(&cells[K_CORRELATION]);
    kernel.registers = dbcell_u32(&cells[K_REGISTERS]);
    kernel.grid_x = dbcell_u32(&cells[K_GRID_X]);
    kernel.grid_y = dbcell_u32(&cells[K_GRID_Y]);
    kernel.grid_z = dbcell_u32(&cells[K_GRID_Z]);
    kernel.block_x = dbcell_u32(&cells[K_BLOCK_X]);
    kernel.block_y = dbcell_u32(&cells[K_BLOCK_Y]);
    kernel.block_z = dbcell_u32(&cells[K_BLOCK_Z]);
    kernel.static_shared_bytes = dbcell_u32(&cells[K_STATIC]);
    kernel.dynamic_shared_bytes = dbcell_u32(&cells[K_DYNAMIC]);
    kernel.graph = dbcell_id(&cells[K_GRAPH]);
    kernel.graph_node = dbcell_id(&cells[K_GRAPH_NODE]);
    nl_stage_kernel(load->db.rows.stage, &kernel);
}

enum { C_KIND = K_CORRELATION + 1, C_FROM, C_TO, C_BYTES, C_NODE, C_FROM_DEVICE, C_TO_DEVICE };
static const char *const copy_columns[] = {[K_START] = "start",
                                           [K_END] = "end",
                                           [K_DEVICE] = "deviceId",
                                           [K_CONTEXT] = "contextId",
                                           [K_STREAM] = "streamId",
                                           [K_CORRELATION] = "correlationId",
                                           [C_KIND] = "copyKind",
                                           [C_FROM] = "srcKind",
                                           [C_TO] = "dstKind",
                                           [C_BYTES] = "bytes",
                                           [C_NODE] = "graphNodeId",
                                           [C_FROM_DEVICE] = "srcDeviceId",
                                           [C_TO_DEVICE] = "dstDeviceId",
                                           NULL};

static void copy_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice;
    struct nl_copy_row copy = nl_copy_row();
    if (!device_slice(load, cells, NL_KIND_MEMCPY, &slice))
        return;
    copy.kind = (uint8_t)nl_copykind_of_cupti(dbcell_i64(&cells[C_KIND]));
    slice.name = gpurows_copy_name(rows, copy.kind);
    copy.slice = nl_stage_slice(rows->stage, &slice);
    copy.correlation = dbcell_id(&cells[K_CORRELATION]);
    copy.bytes = dbcell_u64(&cells[C_BYTES]);
    copy.src_memory = gpurows_cupti_memory(dbcell_i64(&cells[C_FROM]));
    copy.dst_memory = gpurows_cupti_memory(dbcell_i64(&cells[C_TO]));
    copy.graph_node = dbcell_id(&cells[C_NODE]);
    copy.src_device = dbcell_i64(&cells[C_FROM_DEVICE]);
    copy.dst_device = dbcell_i64(&cells[C_TO_DEVICE]);
    nl_stage_copy(rows->stage, &copy);
}

enum { M_VALUE = K_CORRELATION + 1, M_BYTES, M_KIND, M_NODE };
static const char *const memset_columns[] = {[K_START] = "start",
                                             [K_END] = "end",
                                             [K_DEVICE] = "deviceId",
                                             [K_CONTEXT] = "contextId",
                                             [K_STREAM] = "streamId",
                                             [K_CORRELATION] = "correlationId",
                                             [M_VALUE] = "value",
                                             [M_BYTES] = "bytes",
                                             [M_KIND] = "memoryKind",
                                             [M_NODE] = "graphNodeId",
                                             NULL};

static void memset_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice;
    struct nl_memset_row fill = nl_memset_row();
    if (!device_slice(load, cells, NL_KIND_MEMSET, &slice))
        return;
    slice.name = nl_stage_name(rows->stage, nl_str("[CUDA memset]"));
    fill.slice = nl_stage_slice(rows->stage, &slice);
    fill.correlation = dbcell_id(&cells[K_CORRELATION]);
    fill.value = dbcell_i64(&cells[M_VALUE]);
    fill.bytes = dbcell_u64(&cells[M_BYTES]);
    fill.memory = gpurows_cupti_memory(dbcell_i64(&cells[M_KIND]));
    fill.graph_node = dbcell_id(&cells[M_NODE]);
    nl_stage_memset(rows->stage, &fill);
}

enum { S_START, S_END, S_TYPE, S_CORRELATION, S_CONTEXT, S_STREAM, S_EVENT };
static const char *const sync_columns[] = {
    [S_START] = "start",       [S_END] = "end",
    [S_TYPE] = "type",         [S_CORRELATION] = "correlationId",
    [S_CONTEXT] = "contextId", [S_STREAM] = "streamId",
    [S_EVENT] = "cudaEventId", NULL};

static void sync_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_sync_row sync = nl_sync_row();
    if (!gpurows_times(rows, dbcell_i64(&cells[S_START]), dbcell_i64(&cells[S_END]), &slice))
        return;
    int64_t number = dbcell_i64(&cells[S_CONTEXT]);
    const uint64_t *device =
        number < 0 ? NULL : gpurows_map_find(&load->contexts, (uint64_t)number);
    sync.kind = gpurows_cupti_sync(dbcell_i64(&cells[S_TYPE]));
    slice.kind = NL_KIND_SYNC;
    slice.name = gpurows_sync_name(rows, sync.kind);
    slice.lane =
        gpurows_device(rows, NL_LANE_SYNC, load->pid, device ? (int64_t)*device : NL_NULL_I64,
                       number, unless_all_ones(&cells[S_STREAM]));
    sync.slice = nl_stage_slice(rows->stage, &slice);
    sync.correlation = dbcell_id(&cells[S_CORRELATION]);
    sync.event_id = unless_all_ones(&cells[S_EVENT]);
    nl_stage_sync(rows->stage, &sync);
}

/* ---- Owners as bytes, ranges as two rows ---- */

/* Process and thread: two 32-bit numbers, of objects of kind 1 (process) and 2 (thread). */
static void owner_of(dbfile_cells kind, dbfile_cells object, int64_t *pid, int64_t *tid)
{
    int32_t numbers[2];
    *pid = *tid = NL_NULL_I64;
    if (object->type != SQLITEPAGES_BLOB || object->len < 8)
        return;
    memcpy(numbers, object->bytes, sizeof numbers);
    if (dbcell_i64(kind) == 1 || dbcell_i64(kind) == 2)
        *pid = numbers[0];
    if (dbcell_i64(kind) == 2)
        *tid = numbers[1];
}

enum { R_FLAGS, R_TS, R_ID, R_KIND, R_OBJECT, R_NAME, R_DOMAIN };
static const char *const marker_columns[] = {
    [R_FLAGS] = "flags",     [R_TS] = "timestamp", [R_ID] = "id",         [R_KIND] = "objectKind",
    [R_OBJECT] = "objectId", [R_NAME] = "name",    [R_DOMAIN] = "domain", NULL};

static void stage_range(struct nvprof *load, const struct nvprof_range *range, int64_t end,
                        enum nl_rangestyle style)
{
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    struct nl_nvtx_row row = nl_nvtx_row();
    if (!gpurows_times(rows, range->ts, end, &slice))
        return;
    slice.kind = NL_KIND_NVTX;
    slice.name = range->name;
    slice.flags |= style == NL_RANGE_MARK ? NL_SLICE_INSTANT : 0;
    slice.lane = gpurows_thread(rows, NL_LANE_NVTX, range->pid, range->tid, 0);
    row.slice = nl_stage_slice(rows->stage, &slice);
    row.style = (uint8_t)style;
    row.domain = range->domain;
    nl_stage_nvtx(rows->stage, &row);
}

/* Flags: 1 a mark, 2 the start of a range, 4 its end (which has no name). */
static void marker_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    int64_t flags = dbcell_i64(&cells[R_FLAGS]), id = dbcell_i64(&cells[R_ID]);
    struct nvprof_range range = {.ts = dbcell_i64(&cells[R_TS]),
                                 .name = dbrows_name(&load->strings, &cells[R_NAME]),
                                 .open = true};
    if (dbcell_i64(&cells[R_DOMAIN]) > 0)
        range.domain = dbrows_name(&load->strings, &cells[R_DOMAIN]);
    owner_of(&cells[R_KIND], &cells[R_OBJECT], &range.pid, &range.tid);
    if (range.pid == NL_NULL_I64)
        range.pid = load->pid;
    if (flags & 2) {
        nl_grow(&load->range, &load->range_cap, load->range_count + 1);
        load->range[load->range_count] = range;
        *gpurows_map_put(&load->marks, (uint64_t)id, 0, NULL) = load->range_count++;
    } else if (flags & 4) {
        const uint64_t *place = gpurows_map_find(&load->marks, (uint64_t)id);
        if (place && load->range[*place].open) {
            stage_range(load, &load->range[*place], range.ts, NL_RANGE_UNKNOWN);
            load->range[*place].open = false;
        } else {
            load->lost_ends++;
        }
    } else {
        stage_range(load, &range, range.ts, NL_RANGE_MARK);
    }
}

enum { O_START, O_END, O_WHAT, O_KIND, O_OBJECT };
static const char *const overhead_columns[] = {
    [O_START] = "start",     [O_END] = "end",         [O_WHAT] = "overheadKind",
    [O_KIND] = "objectKind", [O_OBJECT] = "objectId", NULL};

static void overhead_row(void *context, dbfile_cells cells)
{
    static const char *const names[] = {"CUPTI buffer flush", "CUPTI instrumentation",
                                        "CUPTI resource"};
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    int64_t pid, tid, kind = dbcell_i64(&cells[O_WHAT]);
    if (!gpurows_times(rows, dbcell_i64(&cells[O_START]), dbcell_i64(&cells[O_END]), &slice))
        return;
    owner_of(&cells[O_KIND], &cells[O_OBJECT], &pid, &tid);
    const char *name = "Overhead";
    if (kind == 1)
        name = "Driver compiler";
    else if (kind >= 1 << 16 && kind >> 16 <= 3)
        name = names[(kind >> 16) - 1];
    slice.kind = NL_KIND_OVERHEAD;
    slice.name = nl_stage_name(rows->stage, nl_str(name));
    slice.lane = gpurows_thread(rows, NL_LANE_OVERHEAD, pid, tid, 0);
    (void)nl_stage_slice(rows->stage, &slice);
}

enum { N_GRAPH = K_CORRELATION + 1 };
static const char *const graph_columns[] = {
    [K_START] = "start",     [K_END] = "end",
    [K_DEVICE] = "deviceId", [K_CONTEXT] = "contextId",
    [K_STREAM] = "streamId", [K_CORRELATION] = "correlationId",
    [N_GRAPH] = "graphId",   NULL};

static void graph_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct nl_slice_row slice;
    struct nl_graph_row graph = nl_graph_row();
    if (!device_slice(load, cells, NL_KIND_GRAPH, &slice))
        return;
    slice.name = nl_stage_name(load->db.rows.stage, nl_str("CUDA graph"));
    graph.slice = nl_stage_slice(load->db.rows.stage, &slice);
    graph.correlation = dbcell_id(&cells[K_CORRELATION]);
    graph.graph = dbcell_id(&cells[N_GRAPH]);
    nl_stage_graph(load->db.rows.stage, &graph);
}

void nvprof_rows_load(struct nvprof *load)
{
    static const struct {
        const char *table;
        const char *const *columns;
        sqlitepages_row_fn *row;
        bool driver;
    } tables[] = {
        {"RUNTIME", call_columns, call_row, false},
        {"DRIVER", call_columns, call_row, true},
        {"KERNEL", kernel_columns, kernel_row, false},
        {"CONCURRENT_KERNEL", kernel_columns, kernel_row, false},
        {"CDP_KERNEL", kernel_columns, kernel_row, false},
        {"MEMCPY", copy_columns, copy_row, false},
        {"MEMCPY2", copy_columns, copy_row, false},
        {"MEMSET", memset_columns, memset_row, false},
        {"SYNCHRONIZATION", sync_columns, sync_row, false},
        {"GRAPH_TRACE", graph_columns, graph_row, false},
        {"MARKER", marker_columns, marker_row, false},
        {"OVERHEAD", overhead_columns, overhead_row, false},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct nl_buf name;
        nl_buf_init(&name, 128);
        nl_buf_format(&name, "CUPTI_ACTIVITY_KIND_%s", tables[i].table);
        load->driver = tables[i].driver;
        (void)dbrows_each(&load->db, name.ptr, tables[i].columns, tables[i].row, load);
        nl_buf_release(&name);
    }
    for (size_t i = 0; i < load->range_count; i++)
        if (load->range[i].open)
            stage_range(load, &load->range[i], NL_NULL_I64, NL_RANGE_UNKNOWN);
}
