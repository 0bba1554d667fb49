/*
 * Device work: kernels, copies, fills, waits, events, whole graphs. Lanes are streams, keyed by
 * (process, device, context, stream), because stream ids repeat between contexts.
 */
#include <stdio.h>

#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

/* CUPTI_ACTIVITY_KIND_KERNEL. Cut-down files lack contexts, processes, and more. */
enum {
    K_START,
    K_END,
    K_DEVICE,
    K_CONTEXT,
    K_STREAM,
    K_CORRELATION,
    K_PROCESS,
    K_NAME,
    K_SHORT,
    K_REGISTERS,
    K_GRID_X,
    K_GRID_Y,
    K_GRID_Z,
    K_BLOCK_X,
    K_BLOCK_Y,
    K_BLOCK_Z,
    K_STATIC,
    K_DYNAMIC,
    K_GRAPH_NODE,
    K_GRAPH,
    K_CELLS
};
static const char *const kernel_columns[K_CELLS + 1] = {
    [K_START] = "start",
    [K_END] = "end",
    [K_DEVICE] = "deviceId",
    [K_CONTEXT] = "contextId",
    [K_STREAM] = "streamId",
    [K_CORRELATION] = "correlationId",
    [K_PROCESS] = "globalPid",
    [K_NAME] = "demangledName|mangledName|long_kernel_name|kernel_name",
    [K_SHORT] = "shortName",
    [K_REGISTERS] = "registersPerThread",
    [K_GRID_X] = "gridX",
    [K_GRID_Y] = "gridY",
    [K_GRID_Z] = "gridZ",
    [K_BLOCK_X] = "blockX",
    [K_BLOCK_Y] = "blockY",
    [K_BLOCK_Z] = "blockZ",
    [K_STATIC] = "staticSharedMemory",
    [K_DYNAMIC] = "dynamicSharedMemory",
    [K_GRAPH_NODE] = "graphNodeId",
    [K_GRAPH] = "graphId",
};

static void kernel_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[K_START], &cells[K_END], &slice))
        return;
    slice.kind = NL_KIND_KERNEL;
    slice.lane = nsys_stream_lane(worker, NL_LANE_STREAM, &cells[K_PROCESS], &cells[K_DEVICE],
                                  &cells[K_CONTEXT], &cells[K_STREAM]);
    uint32_t short_name = nsys_name(worker, &cells[K_SHORT]);
    slice.name = nsys_name(worker, &cells[K_NAME]);
    if (slice.name == NL_NO_NAME)
        slice.name = short_name;
    struct nl_kernel_row kernel = nl_kernel_row();
    kernel.slice = nl_stage_slice(worker->stage, &slice);
    kernel.correlation = dbcell_id(&cells[K_CORRELATION]);
    kernel.graph = dbcell_id(&cells[K_GRAPH]);
    kernel.graph_node = dbcell_id(&cells[K_GRAPH_NODE]);
    kernel.grid_x = dbcell_u32(&cells[K_GRID_X]);
    kernel.grid_y = dbcell_u32(&cells[K_GRID_Y]);
    kernel.grid_z = dbcell_u32(&cells[K_GRID_Z]);
    kernel.block_x = dbcell_u32(&cells[K_BLOCK_X]);
    kernel.block_y = dbcell_u32(&cells[K_BLOCK_Y]);
    kernel.block_z = dbcell_u32(&cells[K_BLOCK_Z]);
    kernel.registers = dbcell_u32(&cells[K_REGISTERS]);
    kernel.static_shared_bytes = dbcell_u32(&cells[K_STATIC]);
    kernel.dynamic_shared_bytes = dbcell_u32(&cells[K_DYNAMIC]);
    kernel.short_name = short_name;
    nl_stage_kernel(worker->stage, &kernel);
}
const struct nsys_handler nsys_kernels = {.columns = kernel_columns, .row = kernel_row};

/* CUPTI_ACTIVITY_KIND_MEMCPY */
enum {
    C_START,
    C_END,
    C_DEVICE,
    C_CONTEXT,
    C_STREAM,
    C_CORRELATION,
    C_PROCESS,
    C_BYTES,
    C_KIND,
    C_FROM,
    C_TO,
    C_FROM_DEVICE,
    C_TO_DEVICE,
    C_GRAPH_NODE,
    C_CELLS
};
static const char *const memcpy_columns[C_CELLS + 1] = {
    [C_START] = "start",
    [C_END] = "end",
    [C_DEVICE] = "deviceId",
    [C_CONTEXT] = "contextId",
    [C_STREAM] = "streamId",
    [C_CORRELATION] = "correlationId",
    [C_PROCESS] = "globalPid",
    [C_BYTES] = "bytes",
    [C_KIND] = "copyKind",
    [C_FROM] = "srcKind",
    [C_TO] = "dstKind",
    [C_FROM_DEVICE] = "srcDeviceId",
    [C_TO_DEVICE] = "dstDeviceId",
    [C_GRAPH_NODE] = "graphNodeId",
};

static void memcpy_row(struct nsys_worker *worker, dbfile_cells cells)
{
    const struct nsys_enum_map *kinds = &worker->load->enums[NSYS_COPY_KIND];
    const struct nsys_enum_map *memories = &worker->load->enums[NSYS_MEMORY_KIND];
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[C_START], &cells[C_END], &slice))
        return;
    unsigned kind = nsys_enum_index(&cells[C_KIND]);
    slice.kind = NL_KIND_MEMCPY;
    slice.lane = nsys_stream_lane(worker, NL_LANE_STREAM, &cells[C_PROCESS], &cells[C_DEVICE],
                                  &cells[C_CONTEXT], &cells[C_STREAM]);
    slice.name = kinds->name[kind];
    struct nl_copy_row copy = nl_copy_row();
    copy.slice = nl_stage_slice(worker->stage, &slice);
    copy.bytes = dbcell_u64(&cells[C_BYTES]);
    copy.kind = kinds->value[kind];
    copy.src_memory = memories->value[nsys_enum_index(&cells[C_FROM])];
    copy.dst_memory = memories->value[nsys_enum_index(&cells[C_TO])];
    copy.correlation = dbcell_id(&cells[C_CORRELATION]);
    copy.graph_node = dbcell_id(&cells[C_GRAPH_NODE]);
    copy.src_device = dbcell_i64(&cells[C_FROM_DEVICE]);
    copy.dst_device = dbcell_i64(&cells[C_TO_DEVICE]);
    nl_stage_copy(worker->stage, &copy);
}
const struct nsys_handler nsys_memcpys = {.columns = memcpy_columns, .row = memcpy_row};

/* CUPTI_ACTIVITY_KIND_MEMSET */
enum {
    M_START,
    M_END,
    M_DEVICE,
    M_CONTEXT,
    M_STREAM,
    M_CORRELATION,
    M_PROCESS,
    M_VALUE,
    M_BYTES,
    M_GRAPH_NODE,
    M_KIND,
    M_CELLS
};
static const char *const memset_columns[M_CELLS + 1] = {
    [M_START] = "start",       [M_END] = "end",
    [M_DEVICE] = "deviceId",   [M_CONTEXT] = "contextId",
    [M_STREAM] = "streamId",   [M_CORRELATION] = "correlationId",
    [M_PROCESS] = "globalPid", [M_VALUE] = "value",
    [M_BYTES] = "bytes",       [M_GRAPH_NODE] = "graphNodeId",
    [M_KIND] = "memKind",
};

static void memset_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[M_START], &cells[M_END], &slice))
        return;
    slice.kind = NL_KIND_MEMSET;
    slice.lane = nsys_stream_lane(worker, NL_LANE_STREAM, &cells[M_PROCESS], &cells[M_DEVICE],
                                  &cells[M_CONTEXT], &cells[M_STREAM]);
    slice.name = worker->domain; /* "[CUDA memset]" */
    struct nl_memset_row row = nl_memset_row();
    row.slice = nl_stage_slice(worker->stage, &slice);
    row.bytes = dbcell_u64(&cells[M_BYTES]);
    row.value = dbcell_i64(&cells[M_VALUE]);
    row.memory = worker->load->enums[NSYS_MEMORY_KIND].value[nsys_enum_index(&cells[M_KIND])];
    row.correlation = dbcell_id(&cells[M_CORRELATION]);
    row.graph_node = dbcell_id(&cells[M_GRAPH_NODE]);
    nl_stage_memset(worker->stage, &row);
}
const struct nsys_handler nsys_memsets = {.columns = memset_columns, .row = memset_row};

/* CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: waits of the CPU, recorded for the stream waited for. */
enum {
    S_START,
    S_END,
    S_DEVICE,
    S_CONTEXT,
    S_STREAM,
    S_CORRELATION,
    S_PROCESS,
    S_TYPE,
    S_EVENT,
    S_CELLS
};
static const char *const sync_columns[S_CELLS + 1] = {
    [S_START] = "start",       [S_END] = "end",
    [S_DEVICE] = "deviceId",   [S_CONTEXT] = "contextId",
    [S_STREAM] = "streamId",   [S_CORRELATION] = "correlationId",
    [S_PROCESS] = "globalPid", [S_TYPE] = "syncType|deprecatedSyncType",
    [S_EVENT] = "eventId",
};

static void sync_row(struct nsys_worker *worker, dbfile_cells cells)
{
    const struct nsys_enum_map *types = &worker->load->enums[NSYS_SYNC_KIND];
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[S_START], &cells[S_END], &slice))
        return;
    unsigned type = nsys_enum_index(&cells[S_TYPE]);
    slice.kind = NL_KIND_SYNC;
    slice.lane = nsys_stream_lane(worker, NL_LANE_SYNC, &cells[S_PROCESS], &cells[S_DEVICE],
                                  &cells[S_CONTEXT], &cells[S_STREAM]);
    slice.name = types->name[type];
    struct nl_sync_row sync = nl_sync_row();
    sync.slice = nl_stage_slice(worker->stage, &slice);
    sync.kind = types->value[type];
    sync.correlation = dbcell_id(&cells[S_CORRELATION]);
    int64_t event = dbcell_i64(&cells[S_EVENT]);
    sync.event_id = event == UINT32_MAX || event < 0 ? NL_NULL_I64 : event;
    nl_stage_sync(worker->stage, &sync);
}
const struct nsys_handler nsys_syncs = {.columns = sync_columns, .row = sync_row};

/* CUPTI_ACTIVITY_KIND_CUDA_EVENT: most releases record no time for it; 0 means the same. */
enum { E_TIME, E_DEVICE, E_CONTEXT, E_STREAM, E_PROCESS, E_EVENT, E_CELLS };
static const char *const cuda_event_columns[E_CELLS + 1] = {
    [E_TIME] = "timestamp|start", [E_DEVICE] = "deviceId",   [E_CONTEXT] = "contextId",
    [E_STREAM] = "streamId",      [E_PROCESS] = "globalPid", [E_EVENT] = "eventId",
};

static void cuda_event_row(struct nsys_worker *worker, dbfile_cells cells)
{
    int64_t time = dbcell_i64(&cells[E_TIME]);
    if (time == NL_NULL_I64 || time == 0) {
        worker->odd[NSYS_ODD_EVENT_NO_TIME]++;
        return;
    }
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[E_TIME], &cells[E_TIME], &slice))
        return;
    slice.kind = NL_KIND_MARK;
    slice.flags = NL_SLICE_INSTANT;
    slice.lane = nsys_stream_lane(worker, NL_LANE_SYNC, &cells[E_PROCESS], &cells[E_DEVICE],
                                  &cells[E_CONTEXT], &cells[E_STREAM]);
    slice.name = worker->domain; /* "CUDA event" */
    nl_stage_slice(worker->stage, &slice);
}
const struct nsys_handler nsys_cuda_events = {.columns = cuda_event_columns, .row = cuda_event_row};

/* CUPTI_ACTIVITY_KIND_GRAPH_TRACE: one interval for a whole graph; its kernels are not recorded. */
enum {
    G_START,
    G_END,
    G_DEVICE,
    G_CONTEXT,
    G_STREAM,
    G_CORRELATION,
    G_PROCESS,
    G_GRAPH,
    G_EXEC,
    G_CELLS
};
static const char *const graph_trace_columns[G_CELLS + 1] = {
    [G_START] = "start",       [G_END] = "end",         [G_DEVICE] = "deviceId",
    [G_CONTEXT] = "contextId", [G_STREAM] = "streamId", [G_CORRELATION] = "correlationId",
    [G_PROCESS] = "globalPid", [G_GRAPH] = "graphId",   [G_EXEC] = "graphExecId",
};

static void graph_trace_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[G_START], &cells[G_END], &slice))
        return;
    struct nl_graph_row graph = nl_graph_row();
    graph.graph = dbcell_id(&cells[G_GRAPH]);
    graph.exec = dbcell_id(&cells[G_EXEC]);
    graph.correlation = dbcell_id(&cells[G_CORRELATION]);
    char name[48] = "CUDA graph";
    if (graph.graph != NL_NULL_U64)
        (void)snprintf(name, sizeof name, "CUDA graph %llu", (unsigned long long)graph.graph);
    slice.name = nl_stage_name(worker->stage, nl_str(name));
    slice.kind = NL_KIND_GRAPH;
    slice.lane = nsys_stream_lane(worker, NL_LANE_STREAM, &cells[G_PROCESS], &cells[G_DEVICE],
                                  &cells[G_CONTEXT], &cells[G_STREAM]);
    graph.slice = nl_stage_slice(worker->stage, &slice);
    nl_stage_graph(worker->stage, &graph);
}
const struct nsys_handler nsys_graph_traces = {.columns = graph_trace_columns,
                                               .row = graph_trace_row};

/* CUDA_UM_GPU_PAGE_FAULT_EVENTS */
enum { F_START, F_END, F_DEVICE, F_PROCESS, F_CELLS };
static const char *const gpu_fault_columns[F_CELLS + 1] = {
    [F_START] = "start", [F_END] = "end", [F_DEVICE] = "deviceId", [F_PROCESS] = "globalPid"};

static void gpu_fault_row(struct nsys_worker *worker, dbfile_cells cells)
{
    static const struct sqlitepages_cell none = {.type = SQLITEPAGES_NULL};
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[F_START], &cells[F_END], &slice))
        return;
    slice.kind = NL_KIND_DEVICE_OTHER;
    slice.lane =
        nsys_stream_lane(worker, NL_LANE_DEVICE, &cells[F_PROCESS], &cells[F_DEVICE], &none, &none);
    slice.name = worker->domain; /* "GPU page faults" */
    nl_stage_slice(worker->stage, &slice);
}
const struct nsys_handler nsys_gpu_faults = {.columns = gpu_fault_columns, .row = gpu_fault_row};
