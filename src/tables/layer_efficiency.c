/* layer_efficiency — modules (ranges) by headroom: how far their kernels are
 * from what the device can do. */
#include "base/sum.h"
#include "tables/resultcells.h"
#include "tables/workrows.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(name, "module or range", TEXT)                                                               \
    C(total_ns, "kernels", NS)                                                                     \
    C(share, NULL, SHARE)                                                                          \
    C(roof_share, "of roof", SHARE)                                                                \
    C(bound, NULL, TEXT)                                                                           \
    C(headroom_ns, "headroom", NS)                                                                 \
    C(hfu, "HFU", SHARE)                                                                           \
    C(flops, "FLOP", COUNT)                                                                        \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(bytes_per_s, "rate", RATE)                                                                   \
    C(intensity, "FLOP/B", NUMBER)                                                                 \
    C(count, "operators", COUNT)
NL_COLUMNS(COLUMNS);

static void layer_efficiency_add_row(struct nl_result *result, const struct nl_trace *trace,
                                     const struct nl_roof *roof, int64_t all)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(roof->rank);
    cells[AT_device] = nl_cell_i64(nl_roof_ordinal(trace, roof));
    cells[AT_name] = nl_roof_name(result, trace, roof);
    cells[AT_total_ns] = nl_cell_i64(roof->ns);
    cells[AT_share] = nl_cell_share(roof->ns, all);
    cells[AT_roof_share] = nl_cell_f64(nl_roof_share(roof));
    cells[AT_bound] = nl_cell_static(nl_bound_text(roof->bound));
    cells[AT_headroom_ns] = nl_cell_i64(roof->headroom_ns);
    if (roof->peak_s > 0 && roof->ns > 0)
        cells[AT_hfu] = nl_cell_f64(roof->peak_s / ((double)roof->ns / 1e9));
    cells[AT_flops] = nl_cell_whole(roof->flops);
    cells[AT_flops_per_s] = nl_cell_f64(nl_roof_flops_per_s(roof));
    cells[AT_bytes_per_s] = nl_cell_f64(nl_roof_bytes_per_s(roof));
    cells[AT_intensity] = nl_cell_f64(nl_roof_intensity(roof));
    cells[AT_count] = nl_cell_count(roof->calls);
}

static struct nl_result *layer_efficiency_run(const struct nl_trace *trace,
                                              const struct nl_analyze_options *options,
                                              struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_roofs *roofs = nl_memo_roofs(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("layer_efficiency", NULL, columns);
    int64_t all = 0;
    bool judged = false;
    for (size_t i = 0; i < roofs->count; i++)
        if (roofs->items[i].kind == NL_ROOF_OPERATOR)
            nl_sum_add(&all, roofs->items[i].ns);
    for (size_t i = 0; i < roofs->count; i++)
        judged |= roofs->items[i].kind == NL_ROOF_LAYER && roofs->items[i].judged_ns > 0;
    for (size_t i = 0; judged && i < roofs->count; i++)
        if (roofs->items[i].kind == NL_ROOF_LAYER)
            layer_efficiency_add_row(result, trace, &roofs->items[i], all);
    nl_result_settle(result, "headroom_ns");
    if (!judged)
        result->note =
            "no module or range launched operators whose work and roofs are known; record "
            "with_modules=True (or NVTX ranges) and record_shapes=True";
    nl_roof_note(result);
    return result;
}

const struct nl_analysis nl_analysis_layer_efficiency = {
    .name = "layer_efficiency",
    .key = "layer_efficiency",
    .title = "Modules by headroom",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = layer_efficiency_run,
    .doc =
        "Per module (innermost; in traces without modules, the innermost range) around the launch "
        "of operators' kernels; backward passes belong to the module of their forward operator: "
        "kernel time, its share, share of the roof reached, bound, headroom to 80 % of it, HFU "
        "while its kernels run, FLOPs and rates. Ranked by headroom; each operator counts once.",
};
