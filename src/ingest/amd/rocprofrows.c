/*
 * What happened when: dispatches of kernels, copies, calls, allocations. ROCm counts grids in
 * work-items; the store has blocks. The lane of device work is the HIP stream if the file has it,
 * else the hardware queue.
 */
#include "base/chars.h"
#include "base/mem.h"
#include "ingest/amd/rocprof.h"
#include "store/copykind.h"

/* ---- Dispatches ---- */

enum {
    K_NAME,
    K_START,
    K_END,
    K_PID,
    K_AGENT,
    K_QUEUE,
    K_STREAM,
    K_CORRELATION,
    K_GRID_X,
    K_GRID_Y,
    K_GRID_Z,
    K_BLOCK_X,
    K_BLOCK_Y,
    K_BLOCK_Z,
    K_VGPRS,
    K_LDS,
    K_DISPATCH,
    K_COLUMNS,
};
const char *const rocprof_kernel_columns[] = {
    [K_NAME] = "Kernel_Name|KernelName|Kernel Name",
    [K_START] = "Start_Timestamp|BeginNs|Start_Ns|Start",
    [K_END] = "End_Timestamp|EndNs|End_Ns|End",
    [K_PID] = "Process_Id|PID|pid",
    [K_AGENT] = "Agent_Id|gpu-id|GPU_ID",
    [K_QUEUE] = "Queue_Id|queue-id|Queue_ID",
    [K_STREAM] = "Stream_Id|Stream_ID",
    [K_CORRELATION] = "Correlation_Id|Correlation_ID",
    [K_GRID_X] = "Grid_Size_X|grd|Grid_Size",
    [K_GRID_Y] = "Grid_Size_Y",
    [K_GRID_Z] = "Grid_Size_Z",
    [K_BLOCK_X] = "Workgroup_Size_X|wgr|Workgroup_Size",
    [K_BLOCK_Y] = "Workgroup_Size_Y",
    [K_BLOCK_Z] = "Workgroup_Size_Z",
    [K_VGPRS] = "VGPR_Count|arch_vgpr|vgpr|Arch_VGPR",
    [K_LDS] = "LDS_Block_Size|lds|LDS_Per_Workgroup",
    [K_DISPATCH] = "Dispatch_Id|Dispatch_ID",
    NULL,
};

/* Columns that are neither read nor counters. */
static const char *const no_counters[] = {
    "Guid",        "Kind",       "Index",       "Dispatch_Id",       "Kernel_Id",
    "Thread_Id",   "tid",        "queue-index", "Scratch_Size",      "scr",
    "sgpr",        "SGPR_Count", "accum_vgpr",  "Accum_VGPR_Count",  "fbar",
    "sig",         "obj",        "DispatchNs",  "CompleteNs",        "DurationNs",
    "Duration_NS", "Duration",   "wave_size",   "Wave_Size",         "Scratch_Per_Workitem",
    "Accum_VGPR",  "Node",       "XCC",         "Stream_Id",         "Queue_Id",
    "Agent_Id",    "Process_Id", "SGPR",        "LDS_Per_Workgroup", "Arch_VGPR",
};

/* "Wave_Size_1", "Correlation_ID_3": what merged tables repeat. */
static bool is_repeated(struct nl_str name)
{
    size_t at = name.len;
    while (at > 0 && nl_is_digit(name.ptr[at - 1]))
        at--;
    if (at < 2 || at == name.len || name.ptr[at - 1] != '_')
        return false;
    struct nl_str base = {name.ptr, at - 1};
    static const char *const repeated[] = {"Wave_Size", "Correlation_ID", "Correlation_Id",
                                           "Kernel_ID", "Dispatch_ID"};
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++)
        if (nl_str_is(base, repeated[i]))
            return true;
    return false;
}

/* Every column that is neither read (K_) nor in no_counters is a counter. */
static bool is_counter(const struct rocprof *load, int column)
{
    struct nl_str name = load->csv.names[column];
    for (int i = 0; i < K_COLUMNS; i++)
        if (load->column[i] == column)
            return false;
    for (size_t i = 0; i < sizeof no_counters / sizeof no_counters[0]; i++)
        if (name.len == strlen(no_counters[i]) && nl_str_find_nocase(name, no_counters[i]) == 0)
            return false;
    return name.len > 0 && !is_repeated(name);
}

void rocprof_kernel_open(struct rocprof *load)
{
    size_t count = load->csv.name_count;
    bool any = false;
    load->counter_names = nl_zalloc((count + 1) * sizeof *load->counter_names);
    for (size_t i = 0; i < count; i++)
        if (is_counter(load, (int)i)) {
            load->counter_names[i] = nl_stage_name(load->rows.stage, load->csv.names[i]);
            any = true;
        }
    if (!any) {
        nl_free(load->counter_names);
        load->counter_names = NULL;
    }
}

/* A table without times: the order is all that is known of them. */
static void lay(struct rocprof *load, struct nl_slice_row *slice)
{
    slice->ts = load->next_ts++;
    slice->dur = 0;
    slice->flags |= NL_SLICE_INSTANT;
    load->timeless++;
    load->untold_length++;
}

static bool has_times(const struct rocprof *load)
{
    return load->column[K_START] >= 0;
}

void rocprof_kernel_row(struct rocprof *load)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!has_times(load))
        lay(load, &slice);
    else if (!gpurows_times(&load->rows, rocprof_i64(load, K_START), rocprof_i64(load, K_END),
                            &slice))
        return;
    int64_t stream = rocprof_i64(load, K_STREAM), pid = rocprof_pid(load, K_PID);
    slice.kind = NL_KIND_KERNEL;
    slice.name = nl_stage_name(load->rows.stage, gpurows_kernel_name(rocprof_text(load, K_NAME)));
    slice.lane = gpurows_stream(&load->rows, pid, rocprof_agent(load, K_AGENT), NL_NULL_I64,
                                stream == NL_NULL_I64 ? rocprof_i64(load, K_QUEUE) : stream);
    struct nl_kernel_row kernel = nl_kernel_row();
    kernel.slice = nl_stage_slice(load->rows.stage, &slice);
    kernel.correlation = rocprof_correlation(load, K_CORRELATION, pid);
    kernel.registers = rocprof_u32(load, K_VGPRS);
    kernel.static_shared_bytes = rocprof_u32(load, K_LDS);
    gpurows_work_items(&kernel,
                       (uint32_t[]){rocprof_u32(load, K_GRID_X), rocprof_u32(load, K_GRID_Y),
                                    rocprof_u32(load, K_GRID_Z)},
                       (uint32_t[]){rocprof_u32(load, K_BLOCK_X), rocprof_u32(load, K_BLOCK_Y),
                                    rocprof_u32(load, K_BLOCK_Z)});
    nl_stage_kernel(load->rows.stage, &kernel);
    load->pidless |= pid == NL_NULL_I64;
    if (load->parts && load->column[K_DISPATCH] >= 0)
        *rocprof_dispatch(load, pid, K_AGENT, K_DISPATCH, NULL) = kernel.slice;
    for (size_t i = 0; load->counter_names && i < load->csv.name_count; i++)
        if (load->counter_names[i])
            (void)rocprof_metric(load, kernel.slice, load->counter_names[i],
                                 csvread_cell(&load->csv, (int)i));
}

/* ---- Copies ---- */

enum { C_NAME, C_START, C_END, C_PID, C_STREAM, C_FROM, C_TO, C_CORRELATION };
const char *const rocprof_copy_columns[] = {
    [C_NAME] = "Direction|Operation",
    [C_START] = "Start_Timestamp",
    [C_END] = "End_Timestamp",
    [C_PID] = "Process_Id",
    [C_STREAM] = "Stream_Id",
    [C_FROM] = "Source_Agent_Id",
    [C_TO] = "Destination_Agent_Id",
    [C_CORRELATION] = "Correlation_Id",
    NULL,
};

void rocprof_copy_row(struct rocprof *load)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!gpurows_times(&load->rows, rocprof_i64(load, C_START), rocprof_i64(load, C_END), &slice))
        return;
    int64_t from = rocprof_agent(load, C_FROM), to = rocprof_agent(load, C_TO);
    int64_t pid = rocprof_pid(load, C_PID);
    struct nl_copy_row copy = nl_copy_row();
    copy.kind = (uint8_t)nl_copykind_of_text(rocprof_text(load, C_NAME));
    copy.correlation = rocprof_correlation(load, C_CORRELATION, pid);
    if (copy.kind == NL_COPY_DTOD) {
        copy.src_device = from;
        copy.dst_device = to;
    }
    slice.kind = NL_KIND_MEMCPY;
    slice.name = nl_stage_name(load->rows.stage, rocprof_text(load, C_NAME));
    slice.lane = gpurows_stream(&load->rows, pid, copy.kind == NL_COPY_HTOD ? to : from,
                                NL_NULL_I64, rocprof_i64(load, C_STREAM));
    copy.slice = nl_stage_slice(load->rows.stage, &slice);
    nl_stage_copy(load->rows.stage, &copy);
}

/* ---- Calls: HIP, HSA, roctx, RCCL, … ---- */

enum { A_DOMAIN, A_NAME, A_START, A_END, A_PID, A_TID, A_CORRELATION };
const char *const rocprof_call_columns[] = {
    [A_DOMAIN] = "Domain",
    [A_NAME] = "Function",
    [A_START] = "Start_Timestamp",
    [A_END] = "End_Timestamp",
    [A_PID] = "Process_Id",
    [A_TID] = "Thread_Id",
    [A_CORRELATION] = "Correlation_Id",
    NULL,
};

static void range_row(struct rocprof *load, struct nl_slice_row *slice, int64_t pid, int64_t tid)
{
    uint32_t domain = nl_builder_name(load->rows.builder, nl_str("roctx"));
    struct nl_nvtx_row range = nl_nvtx_row();
    slice->kind = NL_KIND_NVTX;
    slice->lane = gpurows_thread(&load->rows, NL_LANE_NVTX, pid, tid, domain);
    range.style = slice->dur == 0 ? NL_RANGE_MARK : NL_RANGE_PUSH_POP;
    if (slice->dur == 0)
        slice->flags |= NL_SLICE_INSTANT;
    range.domain = domain;
    range.slice = nl_stage_slice(load->rows.stage, slice);
    nl_stage_nvtx(load->rows.stage, &range);
}

void rocprof_call_row(struct rocprof *load)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!gpurows_times(&load->rows, rocprof_i64(load, A_START), rocprof_i64(load, A_END), &slice))
        return;
    struct nl_str domain = rocprof_text(load, A_DOMAIN);
    int64_t pid = rocprof_pid(load, A_PID), tid = rocprof_i64(load, A_TID);
    slice.name = nl_stage_name(load->rows.stage, rocprof_text(load, A_NAME));
    if (nl_str_starts(domain, "MARKER")) {
        range_row(load, &slice, pid, tid);
        return;
    }
    bool driver = nl_str_starts(domain, "HIP") || nl_str_starts(domain, "HSA");
    slice.kind = driver ? NL_KIND_API : NL_KIND_LIBRARY;
    slice.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, pid, tid, 0);
    uint32_t row = nl_stage_slice(load->rows.stage, &slice);
    if (!driver)
        return;
    struct nl_api_row api = nl_api_row();
    api.slice = row;
    api.correlation = rocprof_correlation(load, A_CORRELATION, pid);
    nl_stage_api(load->rows.stage, &api);
}

/* ---- Memory ---- */

enum { M_OPERATION, M_START, M_PID, M_TID, M_AGENT, M_BYTES, M_ADDRESS };
const char *const rocprof_allocation_columns[] = {
    [M_OPERATION] = "Operation", [M_START] = "Start_Timestamp",
    [M_PID] = "Process_Id",      [M_TID] = "Thread_Id",
    [M_AGENT] = "Agent_Id",      [M_BYTES] = "Allocation_Size",
    [M_ADDRESS] = "Address",     NULL,
};

void rocprof_allocation_row(struct rocprof *load)
{
    struct nl_slice_row when = nl_slice_row();
    int64_t start = rocprof_i64(load, M_START), bytes = rocprof_i64(load, M_BYTES);
    if (!gpurows_times(&load->rows, start, start, &when))
        return;
    struct nl_str operation = rocprof_text(load, M_OPERATION);
    bool freed = nl_str_find_nocase(operation, "FREE") >= 0;
    struct nl_memory_row row = nl_memory_row();
    row.ts = when.ts;
    row.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, rocprof_pid(load, M_PID),
                              rocprof_i64(load, M_TID), 0);
    (void)csvread_u64(rocprof_text(load, M_ADDRESS), &row.address);
    row.device = rocprof_agent(load, M_AGENT);
    gpurows_allocation(&load->rows, &row, bytes, freed);
    bool is_virtual = nl_str_contains(operation, "VMEM");
    row.kind = nl_stage_name(load->rows.stage, nl_str(is_virtual ? "VIRTUAL" : "REAL"));
    nl_stage_memory(load->rows.stage, &row);
}

enum { S_OPERATION, S_START, S_END, S_PID, S_AGENT, S_QUEUE };
const char *const rocprof_scratch_columns[] = {
    [S_OPERATION] = "Operation",
    [S_START] = "Start_Timestamp",
    [S_END] = "End_Timestamp",
    [S_PID] = "Process_Id",
    [S_AGENT] = "Agent_Id",
    [S_QUEUE] = "Queue_Id",
    NULL,
};

void rocprof_scratch_row(struct rocprof *load)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!gpurows_times(&load->rows, rocprof_i64(load, S_START), rocprof_i64(load, S_END), &slice))
        return;
    slice.kind = NL_KIND_DEVICE_OTHER;
    slice.name = nl_stage_name(load->rows.stage, rocprof_text(load, S_OPERATION));
    slice.lane = gpurows_stream(&load->rows, rocprof_pid(load, S_PID), rocprof_agent(load, S_AGENT),
                                NL_NULL_I64, rocprof_i64(load, S_QUEUE));
    (void)nl_stage_slice(load->rows.stage, &slice);
}
