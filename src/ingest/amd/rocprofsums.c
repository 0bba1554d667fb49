/*
 * What was counted: counters of dispatches (a row per counter), statistics per name, samples of the
 * program counter, and the list of agents.
 */
#include <string.h>

#include "ingest/amd/rocprof.h"

/* ---- Counters, a row each ---- */

bool rocprof_metric(struct rocprof *load, uint32_t slice, uint32_t name, struct nl_str value)
{
    struct nl_metric_row metric = nl_metric_row();
    if (!csvread_f64(value, &metric.value) || metric.value != metric.value) {
        load->no_value++;
        return false;
    }
    int64_t whole;
    if (value.len > 15 && csvread_i64(value, &whole) &&
        (whole > (int64_t)1 << 53 || whole < -((int64_t)1 << 53)))
        metric.text = nl_stage_name(load->rows.stage, csvread_trimmed(value));
    metric.slice = slice;
    metric.name = name;
    nl_stage_metric(load->rows.stage, &metric);
    return true;
}

enum {
    P_NAME,
    P_START,
    P_END,
    P_PID,
    P_AGENT,
    P_QUEUE,
    P_DISPATCH,
    P_CORRELATION,
    P_GRID,
    P_BLOCK,
    P_VGPRS,
    P_LDS,
    P_COUNTER,
    P_VALUE
};
const char *const rocprof_counter_columns[] = {
    [P_NAME] = "Kernel_Name|KernelName",
    [P_START] = "Start_Timestamp",
    [P_END] = "End_Timestamp",
    [P_PID] = "Process_Id|PID",
    [P_AGENT] = "Agent_Id|GPU_ID",
    [P_QUEUE] = "Queue_Id|Queue_ID",
    [P_DISPATCH] = "Dispatch_Id|Dispatch_ID",
    [P_CORRELATION] = "Correlation_Id|Correlation_ID",
    [P_GRID] = "Grid_Size",
    [P_BLOCK] = "Workgroup_Size",
    [P_VGPRS] = "VGPR_Count|Arch_VGPR",
    [P_LDS] = "LDS_Block_Size|LDS_Per_Workgroup",
    [P_COUNTER] = "Counter_Name",
    [P_VALUE] = "Counter_Value",
    NULL,
};

static void stage_dispatch(struct rocprof *load, int64_t pid, uint64_t *slice_row)
{
    struct nl_slice_row slice = nl_slice_row();
    if (load->column[P_START] < 0) {
        slice.ts = load->next_ts++;
        slice.dur = 0;
        slice.flags |= NL_SLICE_INSTANT;
        load->timeless++;
        load->untold_length++;
    } else if (!gpurows_times(&load->rows, rocprof_i64(load, P_START), rocprof_i64(load, P_END),
                              &slice)) {
        return;
    }
    slice.kind = NL_KIND_KERNEL;
    slice.name = nl_stage_name(load->rows.stage, gpurows_kernel_name(rocprof_text(load, P_NAME)));
    slice.lane = gpurows_stream(&load->rows, pid, rocprof_agent(load, P_AGENT), NL_NULL_I64,
                                rocprof_i64(load, P_QUEUE));
    struct nl_kernel_row kernel = nl_kernel_row();
    kernel.slice = nl_stage_slice(load->rows.stage, &slice);
    *slice_row = kernel.slice;
    kernel.correlation = rocprof_correlation(load, P_CORRELATION, pid);
    kernel.registers = rocprof_u32(load, P_VGPRS);
    kernel.static_shared_bytes = rocprof_u32(load, P_LDS);
    gpurows_work_items(&kernel, (uint32_t[]){rocprof_u32(load, P_GRID), NL_NULL_U32, NL_NULL_U32},
                       (uint32_t[]){rocprof_u32(load, P_BLOCK), NL_NULL_U32, NL_NULL_U32});
    nl_stage_kernel(load->rows.stage, &kernel);
}

/* A dispatch has a row per counter, not always together. The kernel trace of the recording may have
 * it already, but without its process if no earlier file named it. */
void rocprof_counter_row(struct rocprof *load)
{
    bool made;
    int64_t pid = rocprof_pid(load, P_PID);
    uint64_t *slice = rocprof_dispatch(load, pid, P_AGENT, P_DISPATCH, &made);
    if (made && load->pidless)
        *slice = *rocprof_dispatch(load, NL_NULL_I64, P_AGENT, P_DISPATCH, NULL);
    if (made && *slice == UINT64_MAX)
        stage_dispatch(load, pid, slice);
    else if (*slice == UINT64_MAX)
        load->rows.no_start++;
    if (*slice != UINT64_MAX)
        (void)rocprof_metric(load, (uint32_t)*slice,
                             nl_stage_name(load->rows.stage, rocprof_text(load, P_COUNTER)),
                             rocprof_text(load, P_VALUE));
}

/* ---- Sums per name, without a timeline ---- */

enum { T_NAME, T_CALLS, T_TOTAL };
const char *const rocprof_stat_columns[] = {
    [T_NAME] = "Name|Kernel_Name|KernelName",
    [T_CALLS] = "Calls|Count",
    [T_TOTAL] = "TotalDurationNs|Sum",
    NULL,
};

/* rocprof-compute's sums are in the unit that was asked for; the column's
 * name says it: "Sum(us)". */
void rocprof_stat_open(struct rocprof *load)
{
    if (!csvread_time_unit(csvread_unit(&load->csv, load->column[T_TOTAL]), &load->sum_power))
        load->sum_power = 0;
}

void rocprof_stat_row(struct rocprof *load)
{
    struct nl_stack_row stack = nl_stack_row();
    stack.name = nl_stage_name(load->rows.stage, gpurows_kernel_name(rocprof_text(load, T_NAME)));
    struct nl_call_row call = nl_call_row();
    call.stack = nl_stage_stack(load->rows.stage, &stack);
    call.count = rocprof_i64(load, T_CALLS);
    struct nl_str total = rocprof_text(load, T_TOTAL);
    if (!csvread_scaled(total, load->sum_power, &call.total_ns))
        call.total_ns = load->sum_power ? NL_NULL_I64 : rocprof_i64(load, T_TOTAL);
    call.self_ns = call.total_ns;
    if (call.total_ns == NL_NULL_I64)
        load->no_value++;
    nl_stage_call(load->rows.stage, &call);
}

/* ---- Samples of the program counter ---- */

enum { I_TS, I_INSTRUCTION, I_COMMENT, I_STALL, I_PID };
const char *const rocprof_sample_columns[] = {
    [I_TS] = "Sample_Timestamp",
    [I_INSTRUCTION] = "Instruction",
    [I_COMMENT] = "Instruction_Comment",
    [I_STALL] = "Stall_Reason",
    [I_PID] = "Process_Id",
    NULL,
};

/* "path/file.cpp:123" → file and line. */
static void place_in_source(struct rocprof *load, struct nl_str comment, struct nl_stack_row *stack)
{
    size_t at = comment.len;
    int64_t line;
    while (at > 0 && comment.ptr[at - 1] != ':')
        at--;
    if (at < 2 || !csvread_i64((struct nl_str){comment.ptr + at, comment.len - at}, &line))
        return;
    stack->file = nl_stage_name(load->rows.stage, (struct nl_str){comment.ptr, at - 1});
    stack->line = gpurows_u32(line);
}

void rocprof_sample_row(struct rocprof *load)
{
    struct nl_slice_row when = nl_slice_row();
    int64_t ts = rocprof_i64(load, I_TS);
    if (!gpurows_times(&load->rows, ts, ts, &when))
        return;
    struct nl_str instruction = rocprof_text(load, I_INSTRUCTION);
    struct nl_str comment = rocprof_text(load, I_COMMENT);
    struct nl_stack_row stack = nl_stack_row();
    stack.name = nl_stage_name(load->rows.stage, instruction);
    place_in_source(load, comment, &stack);
    uint64_t key = ((uint64_t)stack.name << 32 | stack.file) * 0x9e3779b97f4a7c15u + stack.line;
    bool made;
    uint64_t *row = gpurows_map_put(&load->stacks, key, 0, &made);
    if (made)
        *row = nl_stage_stack(load->rows.stage, &stack);
    struct nl_str stall = rocprof_text(load, I_STALL);
    struct nl_sample_row sample = nl_sample_row();
    sample.ts = when.ts;
    sample.lane = gpurows_stream(&load->rows, rocprof_pid(load, I_PID), NL_NULL_I64, NL_NULL_I64,
                                 NL_NULL_I64);
    sample.weight = 1;
    sample.unit = nl_stage_name(load->rows.stage, nl_str("samples"));
    sample.event = nl_stage_name(load->rows.stage, stall.len ? stall : nl_str("program counter"));
    sample.stack = (uint32_t)*row;
    nl_stage_sample(load->rows.stage, &sample);
}

/* ---- Agents ---- */

enum { G_NODE, G_TYPE, G_NAME, G_PRODUCT, G_COUNT, G_CLOCK, G_WAVE, G_KIND_INDEX };
const char *const rocprof_agent_columns[] = {
    [G_NODE] = "Node_Id",
    [G_TYPE] = "Agent_Type",
    [G_NAME] = "Name",
    [G_PRODUCT] = "Product_Name",
    [G_COUNT] = "Cu_Count",
    [G_CLOCK] = "Max_Engine_Clk_Fcompute",
    [G_WAVE] = "Wave_Front_Size",
    [G_KIND_INDEX] = "Logical_Node_Type_Id",
    NULL,
};

void rocprof_agent_row(struct rocprof *load)
{
    int64_t node = rocprof_i64(load, G_NODE), clock = rocprof_i64(load, G_CLOCK);
    int64_t number = rocprof_i64(load, G_KIND_INDEX); /* among GPUs; older files have none */
    if (!nl_str_is(csvread_trimmed(rocprof_text(load, G_TYPE)), "GPU"))
        return;
    struct nl_builder *builder = load->rows.builder;
    struct nl_str product = rocprof_text(load, G_PRODUCT);
    uint32_t device =
        nl_builder_device(builder, load->rows.source, node, number == NL_NULL_I64 ? node : number);
    struct nl_device_row *row = nl_builder_device_row(builder, device);
    row->name = nl_builder_name(builder, product.len ? product : rocprof_text(load, G_NAME));
    row->vendor = nl_builder_name(builder, nl_str("amd"));
    row->sm_count = rocprof_u32(load, G_COUNT);
    row->warp_size = rocprof_u32(load, G_WAVE);
    if (clock > 0 && clock < 100000)
        row->clock_hz = (uint64_t)clock * 1000000;
}
