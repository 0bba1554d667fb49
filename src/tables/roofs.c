/* roofline — how far operators, families and devices are from what the device can do. */
#include "tables/resultcells.h"
#include "tables/workrows.h"
#include "timeline/unseengpu.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(name, NULL, TEXT)                                                                            \
    C(kind, NULL, TEXT)                                                                            \
    C(dtype, "type", TEXT)                                                                         \
    C(total_ns, "time", NS)                                                                        \
    C(roof_share, "of roof", SHARE)                                                                \
    C(bound, NULL, TEXT)                                                                           \
    C(headroom_ns, "headroom", NS)                                                                 \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(bytes_per_s, "rate", RATE)                                                                   \
    C(intensity, "FLOP/B", NUMBER)                                                                 \
    C(attainable_flops_per_s, "attainable", FLOPS)                                                 \
    C(model, NULL, TEXT)                                                                           \
    C(count, "calls", COUNT)                                                                       \
    C(remark, NULL, TEXT)                                                                          \
    C(peak_flops_per_s, "peak", FLOPS)                                                             \
    C(peak_bytes_per_s, "peak of memory", RATE)
NL_COLUMNS(COLUMNS);

static const char *remark(const struct nl_roof *roof)
{
    if (roof->over)
        return "over the peak: measurement or peak is wrong";
    return roof->cached ? "over memory's peak: data came from a cache" : NULL;
}

static void roofs_add_row(struct nl_result *result, const struct nl_trace *trace,
                          const struct nl_roof *roof)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(roof->rank);
    cells[AT_device] = nl_cell_i64(nl_roof_ordinal(trace, roof));
    cells[AT_name] = nl_roof_name(result, trace, roof);
    cells[AT_kind] = nl_cell_static(nl_roof_kind_text(roof->kind));
    cells[AT_flops_per_s] = nl_cell_f64(nl_roof_flops_per_s(roof));
    cells[AT_bytes_per_s] = nl_cell_f64(nl_roof_bytes_per_s(roof));
    cells[AT_intensity] = nl_cell_f64(nl_roof_intensity(roof));
    cells[AT_attainable_flops_per_s] = nl_cell_f64(roof->attainable);
    cells[AT_roof_share] = nl_cell_f64(nl_roof_share(roof));
    cells[AT_bound] = nl_cell_static(nl_bound_text(roof->bound));
    cells[AT_headroom_ns] = nl_cell_i64(roof->headroom_ns);
    cells[AT_total_ns] = nl_cell_i64(roof->ns);
    cells[AT_dtype] = nl_cell_static(work_type_name((enum work_type)roof->type));
    if (roof->family < WORK_FAMILIES)
        cells[AT_model] = nl_cell_static(work_family_name((enum work_family)roof->family));
    cells[AT_count] = nl_cell_count(roof->calls);
    cells[AT_remark] = nl_cell_static(remark(roof));
    cells[AT_peak_flops_per_s] = nl_cell_f64(roof->peak_flops);
    cells[AT_peak_bytes_per_s] = nl_cell_f64(roof->peak_bytes);
}

/* Which peaks these are, of the first device that has any; of processors,
 * where no device computed. */
static const char *say_peaks(struct nl_result *result, const struct nl_op_works *works,
                             const struct nl_device_peaks *peaks)
{
    const struct nl_trace *trace = works->trace;
    for (uint32_t device = 0; device <= trace->device.rows; device++) {
        bool host = device == trace->device.rows;
        if (!peaks[device].known || (host && !works->on_host))
            continue;
        if (!result->rows)
            return "no operator or kernel tells its FLOPs or bytes, so there is nothing to compare "
                   "with the roofs";
        return nl_arena_format(
            &result->arena, "headroom: time saved at %.0f %% of the roof; roofs of %s: %s",
            100 * NL_ROOF_TARGET,
            peaks[device].product ? peaks[device].product
            : host                ? "the host"
                                  : "the device",
            peaks[device].source ? peaks[device].source : "as the profile tells");
    }
    if (nl_gpu_is_unseen(trace))
        return nl_work_coverage(result, works);
    return works->on_host ? nl_no_host_roofs(result, trace)
                          : "the peaks of this device are not known: no roofs";
}

static struct nl_result *roofs_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_roofs *roofs = nl_memo_roofs(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("roofline", NULL, columns);
    for (size_t i = 0; i < roofs->count; i++)
        if (roofs->items[i].kind != NL_ROOF_STEP) /* step_efficiency has them */
            roofs_add_row(result, trace, &roofs->items[i]);
    result->note = say_peaks(result, nl_memo_works(options->memo), nl_memo_peaks(options->memo));
    nl_roof_note(result);
    return result;
}

const struct nl_analysis nl_analysis_roofline = {
    .name = "roofline",
    .key = "roofline",
    .title = "Roofline: distance to what the device can do",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .instead = &(const struct nl_need){NL_T_op, NULL}, /* of CPUs */
    .run = roofs_run,
    .doc = "Per operator and element type, per family, per module (range if there are no modules) "
           "and per device: achieved FLOPs and bytes per second, FLOPs per byte, the rate that the "
           "roof allows (the smaller of the type's peak and intensity × memory bandwidth), the "
           "share of the roof reached, what bounds it, and headroom: time that would be saved at "
           "80 % of the roof, summed call by call. Ranked by headroom. Peaks are dense figures "
           "from data sheets, or estimates (marked as such) for unknown products. Values over 105 "
           "% of a roof are marked.",
};
