/* op_work and roofline: opwork.h and roofline.h as tables. */
#include <stdio.h>

#include "account/devicesteps.h"
#include "base/mem.h"
#include "work/roofline.h"
#include "sql/tablecells.h"

struct works {
    struct nl_op_works works;
    struct nl_device_peaks *peaks;
    struct nl_roofs roofs; /* of table roofline alone, with its steps */
    struct nl_found_steps steps;
};

static void find_roofs(struct works *state, const struct nl_owners *owners,
                       const struct nl_rangetree *ops, const uint32_t *owner_of)
{
    const struct nl_trace *trace = owners->trace;
    bool modules = nl_rangetree_any(trace, NL_KIND_LAYER);
    struct nl_rangetree layers;
    struct nl_work_places places;
    nl_rangetree_init(&layers, trace, modules ? NL_KIND_LAYER : NL_KIND_NVTX);
    uint32_t *layer_of =
        modules ? nl_owners_layer(owners, &layers, ops, owner_of) : nl_owners_find(owners, &layers);
    nl_steps_find_run(trace, &state->steps);
    nl_work_places_init(&places, &state->works, &layers, layer_of, &state->steps);
    nl_roofs_init(&state->roofs, &state->works, state->peaks, &places, NL_ROOF_TARGET);
    nl_work_places_release(&places);
    nl_free(layer_of);
    nl_rangetree_release(&layers);
}

/* The works of a window, as arguments give it, and where asked for what they add up to. */
static void find_works(struct works *state, struct nl_tf_call *call, sqlite3_value **args,
                       bool roofs)
{
    const struct nl_trace *trace = call->db->trace;
    struct nl_window window = nl_argument_window(call, args, false);
    struct nl_work_scope scope = {.start = window.start, .end = window.end};
    struct nl_owners owners;
    struct nl_rangetree ops;
    nl_owners_init(&owners, trace);
    nl_rangetree_init(&ops, trace, NL_KIND_OP);
    uint32_t *owner_of = nl_owners_op(&owners, &ops);
    nl_op_works_init(&state->works, trace, &owners, &ops, owner_of,
                     window.has_time ? &scope : NULL);
    if (roofs)
        find_roofs(state, &owners, &ops, owner_of);
    nl_free(owner_of);
    nl_rangetree_release(&ops);
    nl_owners_release(&owners);
}

static void open_state(struct nl_tf_call *call, sqlite3_value **args, bool roofs)
{
    struct works *state = nl_zalloc(sizeof *state);
    state->peaks = nl_device_peaks_new(call->db->trace);
    find_works(state, call, args, roofs);
    call->state = state;
    call->rows = roofs ? state->roofs.count : state->works.count;
}

static bool open_work(struct nl_tf_call *call, sqlite3_value **args)
{
    open_state(call, args, false);
    return true;
}

static void close_work(struct nl_tf_call *call)
{
    struct works *state = call->state;
    nl_roofs_release(&state->roofs);
    nl_steps_release(&state->steps);
    nl_device_peaks_free(state->peaks);
    nl_op_works_release(&state->works);
    nl_free(state);
}

#define WORK_COLUMNS(C, P)                                                                         \
    C(P, op, "INTEGER", "operator, node or kernel (id in slices); NULL: kernels in none")          \
    C(P, name, "TEXT", "its name")                                                                 \
    C(P, kernel_ns, "INTEGER NS", "sum of the kernels it launched")                                \
    C(P, flops, "INTEGER", "floating-point operations, causal attention in full")                  \
    C(P, bytes, "INTEGER BYTES", "least bytes moved: inputs and outputs once")                     \
    C(P, dtype, "TEXT", "element type that it computes in; tf32: FP32 on tensor cores")            \
    C(P, model, "TEXT", "family of the model: gemm, convolution, attention, …")                    \
    C(P, measured, "INTEGER", "1: flops and bytes come from hardware counters")                    \
    C(P, kernels, "INTEGER", "kernels launched")                                                   \
    C(P, host_ns, "INTEGER NS", "its duration, in profiles of CPUs alone")                         \
    C(P, flops_needed, "INTEGER", "flops without the half that a causal mask leaves out")          \
    C(P, counted_flops, "INTEGER", "by hardware counters, where there are any")                    \
    C(P, counted_bytes, "INTEGER BYTES", "by hardware counters, where there are any")              \
    C(P, estimated, "INTEGER", "1: an assumption stands in for something not recorded")            \
    C(P, inside, "INTEGER", "1: its flops are counted at an operator inside it")                   \
    C(P, rank, "INTEGER", "rank")                                                                  \
    C(P, device, "INTEGER", "device number within its rank")                                       \
    C(P, matrix_ns, "INTEGER NS", "of kernel_ns: GEMM, convolution, attention … by name")          \
    C(P, ts, "INTEGER NS", "start of its first kernel")                                            \
    C(P, least_ns, "REAL", "its roof: the least time that the device needs for it")                \
    C(P, bound, "TEXT", "compute or memory: what makes that time")                                 \
    C(P, misaligned, "INTEGER", "1: a product whose N or K is no multiple of 16 bytes")            \
    C(P, rows, "INTEGER", "rows that a product multiplies by a matrix of weights: tokens")         \
    C(P, queries, "REAL", "of attention forward: queries of a sequence (1 in decode)")             \
    C(P, accumulation, "TEXT", "of FP8 products, as called: fast or full")
NL_TF_COLUMNS(work_columns, WORK, WORK_COLUMNS);

static void show_least(const struct nl_tf_call *call, const struct nl_op_work *row, int column,
                       sqlite3_context *context)
{
    const struct works *state = call->state;
    struct nl_least_time least = nl_least_time(row, nl_peaks_of(&state->works, row, state->peaks));
    if (column == 19)
        nl_show_real(context, least.both * 1e9);
    else if (least.both == least.both)
        nl_show_text(context, least.memory > least.compute || least.compute != least.compute
                                  ? "memory"
                                  : "compute");
}

/* Counts that are whole as whole numbers. */
static void show_whole(sqlite3_context *context, double value)
{
    if (value > -9e18 && value < 9e18)
        nl_show_int(context, (int64_t)(value + 0.5));
    else
        nl_show_real(context, value);
}

static int64_t ordinal_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t device = nl_slice_device(trace, slice);
    return device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[device];
}

static void show_accumulation(sqlite3_context *context, unsigned accumulation)
{
    nl_show_text(context, accumulation == WORK_ACCUMULATES_FULL   ? "full"
                          : accumulation == WORK_ACCUMULATES_FAST ? "fast"
                                                                  : NULL);
}

static void show_place(const struct nl_tf_call *call, const struct nl_op_work *row, int column,
                       sqlite3_context *context)
{
    const struct nl_trace *trace = call->db->trace;
    switch (column) {
    case WORK_kernels: nl_show_int(context, row->kernels); break;
    case WORK_host_ns: nl_show_int(context, row->host_ns); break;
    case WORK_flops_needed: show_whole(context, row->flops_needed); break;
    case WORK_counted_flops: show_whole(context, row->counted_flops); break;
    case WORK_counted_bytes: show_whole(context, row->counted_bytes); break;
    case WORK_estimated: nl_show_int(context, row->estimated); break;
    case WORK_inside: nl_show_int(context, row->inside); break;
    case WORK_rank: nl_show_int(context, nl_slice_rank(trace, row->first)); break;
    case WORK_device: nl_show_int(context, ordinal_of(trace, row->first)); break;
    case WORK_matrix_ns: nl_show_int(context, row->matrix_ns); break;
    case WORK_ts: nl_show_int(context, trace->slice.ts[row->first] - call->db->origin); break;
    case WORK_misaligned: nl_show_int(context, row->misaligned); break;
    case WORK_rows: show_whole(context, row->rows); break;
    case WORK_queries: nl_show_real(context, row->queries); break;
    case WORK_accumulation: show_accumulation(context, row->accumulation); break;
    default: show_least(call, row, column, context); break;
    }
}

static void work_column(const struct nl_tf_call *call, size_t index, int column,
                        sqlite3_context *context)
{
    const struct works *state = call->state;
    const struct nl_op_work *row = &state->works.items[index];
    switch (column) {
    case WORK_op: nl_show_row(context, row->slice); break;
    case WORK_name: nl_show_name(context, call, row->name); break;
    case WORK_kernel_ns: nl_show_int(context, row->kernel_ns); break;
    case WORK_flops: show_whole(context, row->flops); break;
    case WORK_bytes: show_whole(context, row->bytes); break;
    case WORK_dtype: nl_show_text(context, work_type_name((enum work_type)row->type)); break;
    case WORK_model: nl_show_text(context, work_family_name((enum work_family)row->family)); break;
    case WORK_measured: nl_show_int(context, row->measured); break;
    default: show_place(call, row, column, context); break;
    }
}

static const struct nl_tf_column time_arguments[] = {
    {"window_start", "INTEGER", "first ns to look at"},
    {"window_end", "INTEGER", "end of what to look at, not included"},
    {0}};

const struct nl_table_function nl_tf_op_work = {
    .name = "op_work",
    .signature = "op_work(window_start, window_end)",
    .doc = "What operators had to do: one row per operator call that launched kernels, per node of "
           "a compiled model and per kernel with counters, and one per device and name of kernels "
           "in none of "
           "these; kernel_ns adds up to the time of all kernels. FLOPs (a multiply-add is two) and "
           "minimum bytes follow from recorded shapes and types, a compiler's cost analysis or "
           "hardware counters; NULL if there are none. Nested operators count once. Without "
           "kernels (CPU-only profiles) operators stand for their own work with host_ns. "
           "docs/work.md has the formulas.",
    .example =
        "SELECT name, sum(flops) / sum(kernel_ns) / 1e3 AS tflops FROM op_work WHERE flops > 0 "
        "GROUP BY name ORDER BY sum(kernel_ns) DESC",
    .columns = work_columns,
    .arguments = time_arguments,
    .listed = true,
    .open = open_work,
    .column = work_column,
    .close = close_work};

static bool open_roofs(struct nl_tf_call *call, sqlite3_value **args)
{
    open_state(call, args, true);
    return true;
}

static void show_roof_name(const struct nl_tf_call *call, const struct nl_roof *roof,
                           sqlite3_context *context)
{
    const struct works *state = call->state;
    if (roof->kind == NL_ROOF_OPERATOR || roof->kind == NL_ROOF_LAYER) {
        nl_show_name(context, call, roof->name);
    } else if (roof->kind == NL_ROOF_STEP) {
        char text[32];
        int length = snprintf(text, sizeof text, "step %lld",
                              (long long)state->steps.items[roof->step].index);
        sqlite3_result_text(context, text, length, SQLITE_TRANSIENT);
    } else if (roof->text)
        sqlite3_result_text(context, roof->text, -1, SQLITE_TRANSIENT);
}

#define ROOF_COLUMNS(C, P)                                                                         \
    C(P, rank, "INTEGER", "rank")                                                                  \
    C(P, device, "INTEGER", "device number within its rank")                                       \
    C(P, name, "TEXT", "operator, family, module, step or product")                                \
    C(P, kind, "TEXT", "operator, family, layer, step or device")                                  \
    C(P, flops_per_s, "REAL", "achieved, causal masks left out")                                   \
    C(P, bytes_per_s, "REAL", "achieved, of least bytes")                                          \
    C(P, intensity, "REAL", "FLOPs per byte")                                                      \
    C(P, attainable_flops_per_s, "REAL", "what the roof allows")                                   \
    C(P, bound, "TEXT", "compute, memory, latency or communication")                               \
    C(P, headroom_ns, "INTEGER NS", "time saved at 80 % of the roof, summed call by call")         \
    C(P, total_ns, "INTEGER NS", "time of its kernels")                                            \
    C(P, roof_share, "REAL", "share of the roof reached")                                          \
    C(P, dtype, "TEXT", "element type")                                                            \
    C(P, model, "TEXT", "family of the work model")                                                \
    C(P, count, "INTEGER", "calls; of kernels in no operator: kernels")                            \
    C(P, over_roof, "INTEGER", "1: faster than possible (peak, model or cache)")                   \
    C(P, peak_flops_per_s, "REAL", "of an operator: the peak of its type")                         \
    C(P, peak_bytes_per_s, "REAL", "memory bandwidth of the device")
NL_TF_COLUMNS(roof_columns, ROOF, ROOF_COLUMNS);

static void show_more(const struct nl_roof *roof, int column, sqlite3_context *context)
{
    switch (column) {
    case ROOF_headroom_ns: nl_show_int(context, roof->headroom_ns); break;
    case ROOF_total_ns: nl_show_int(context, roof->ns); break;
    case ROOF_roof_share: nl_show_real(context, nl_roof_share(roof)); break;
    case ROOF_dtype: nl_show_text(context, work_type_name((enum work_type)roof->type)); break;
    case ROOF_model:
        nl_show_text(context, roof->family < WORK_FAMILIES
                                  ? work_family_name((enum work_family)roof->family)
                                  : NULL);
        break;
    case ROOF_count: nl_show_int(context, (int64_t)roof->calls); break;
    case ROOF_over_roof: nl_show_int(context, roof->over || roof->cached); break;
    case ROOF_peak_flops_per_s: nl_show_real(context, roof->peak_flops); break;
    default: nl_show_real(context, roof->peak_bytes); break;
    }
}

static void roof_column(const struct nl_tf_call *call, size_t index, int column,
                        sqlite3_context *context)
{
    const struct works *state = call->state;
    const struct nl_roof *roof = &state->roofs.items[index];
    const struct nl_device_table *device = &call->db->trace->device;
    switch (column) {
    case ROOF_rank: nl_show_int(context, roof->rank); break;
    case ROOF_device:
        nl_show_int(context,
                    roof->device == NL_NULL_ROW ? NL_NULL_I64 : device->ordinal[roof->device]);
        break;
    case ROOF_name: show_roof_name(call, roof, context); break;
    case ROOF_kind: nl_show_text(context, nl_roof_kind_text(roof->kind)); break;
    case ROOF_flops_per_s: nl_show_real(context, nl_roof_flops_per_s(roof)); break;
    case ROOF_bytes_per_s: nl_show_real(context, nl_roof_bytes_per_s(roof)); break;
    case ROOF_intensity: nl_show_real(context, nl_roof_intensity(roof)); break;
    case ROOF_attainable_flops_per_s: nl_show_real(context, roof->attainable); break;
    case ROOF_bound: nl_show_text(context, nl_bound_text(roof->bound)); break;
    default: show_more(roof, column, context); break;
    }
}

const struct nl_table_function nl_tf_roofline = {
    .name = "roofline",
    .signature = "roofline(window_start, window_end)",
    .doc = "How far work is from what its device can do: per operator and element type, per family "
           "of models, per module (range where there are no modules), step and device. The minimum "
           "time of a call is the larger of FLOPs over the peak of its type and minimum bytes over "
           "memory bandwidth; headroom is the time saved at 80 % of the roof. Peaks are dense "
           "figures from data sheets (docs/work.md), NULL if unknown.",
    .example = "SELECT name, headroom_ns, bound FROM roofline WHERE kind = 'operator' "
               "ORDER BY headroom_ns DESC LIMIT 10",
    .columns = roof_columns,
    .arguments = time_arguments,
    .listed = true,
    .open = open_roofs,
    .column = roof_column,
    .close = close_work};
