/* step_efficiency — how much of the device's peak each step used, and how far its
 * kernels were from their roofs. */
#include "base/mem.h"
#include "tables/resultcells.h"
#include "tables/efficiency.h"
#include "tables/workrows.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(step, NULL, INTEGER)                                                                         \
    C(phase, NULL, TEXT)                                                                           \
    C(wall_ns, "wall", NS)                                                                         \
    C(mfu, "MFU", SHARE)                                                                           \
    C(hfu, "HFU", SHARE)                                                                           \
    C(kernel_ns, "kernels", NS)                                                                    \
    C(roof_share, "of roof", SHARE)                                                                \
    C(headroom_ns, "headroom", NS)                                                                 \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(tokens_per_s, "tokens/s", NUMBER)                                                            \
    C(flops, "FLOP", COUNT)                                                                        \
    C(bytes, "least bytes", BYTES)
NL_COLUMNS(COLUMNS);

static const struct nl_step_group *group_of(const struct nl_found_steps *found, uint32_t step)
{
    size_t g = 0;
    while (step >= found->groups[g].first + found->groups[g].count)
        g++;
    return &found->groups[g];
}

/* The peak that given FLOPs are compared with: that of the device's row in `efficiency`. */
static double peak_of(const struct nl_efficiency *rows, size_t count, const struct nl_roof *roof)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].device == roof->device && rows[i].rank == roof->rank)
            return rows[i].peak_flops;
    return NL_NULL_F64;
}

static void step_efficiency_add_row(struct nl_result *result, const struct nl_trace *trace,
                                    const struct nl_analyze_options *options,
                                    const struct nl_roof *roof, double peak)
{
    const struct nl_found_step *step = &nl_memo_steps(options->memo)->items[roof->step];
    struct nl_cell *cells = nl_result_row(result);
    double seconds = (double)(step->end - step->start) / 1e9;
    bool told = options->flops_per_step > 0;
    cells[AT_rank] = nl_cell_i64(roof->rank);
    cells[AT_device] = nl_cell_i64(nl_roof_ordinal(trace, roof));
    cells[AT_step] = nl_cell_i64(step->index);
    cells[AT_phase] = nl_cell_static(nl_step_phase_text(step->phase));
    cells[AT_wall_ns] = nl_cell_i64(step->end - step->start);
    cells[AT_kernel_ns] = nl_cell_i64(roof->ns);
    cells[AT_roof_share] = nl_cell_f64(nl_roof_share(roof));
    cells[AT_headroom_ns] = nl_cell_i64(roof->headroom_ns);
    cells[AT_flops] = nl_cell_whole(roof->flops);
    if (roof->bytes == roof->bytes)
        cells[AT_bytes] = nl_cell_whole(roof->bytes);
    if (!(seconds > 0))
        return;
    cells[AT_flops_per_s] = nl_cell_f64(roof->flops / seconds);
    if (roof->peak_s > 0) {
        cells[AT_hfu] = nl_cell_f64(roof->peak_s / seconds);
        cells[AT_mfu] = nl_cell_f64((roof->peak_s - roof->again_s) / seconds);
    }
    if (told)
        cells[AT_mfu] = nl_cell_f64(options->flops_per_step / seconds / peak);
    if (options->tokens_per_step > 0)
        cells[AT_tokens_per_s] = nl_cell_f64(options->tokens_per_step / seconds);
}

static struct nl_result *step_efficiency_run(const struct nl_trace *trace,
                                             const struct nl_analyze_options *options,
                                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_roofs *roofs = nl_memo_roofs(options->memo);
    const struct nl_found_steps *found = nl_memo_steps(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("step_efficiency", NULL, columns);
    size_t count = 0;
    struct nl_efficiency *rows =
        options->flops_per_step > 0 ? nl_efficiency_new(trace, options, &count) : NULL;
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_roof *roof = &roofs->items[i];
        if (roof->kind != NL_ROOF_STEP || !(roof->flops == roof->flops || roof->judged_ns) ||
            !nl_step_in_window(group_of(found, roof->step), &found->items[roof->step],
                               &options->window))
            continue;
        step_efficiency_add_row(result, trace, options, roof, peak_of(rows, count, roof));
    }
    if (result->rows)
        nl_step_note(result, found);
    else
        result->note = found->count ? "no operator with known work starts kernels in a step"
                                    : "no steps were found";
    nl_roof_note(result);
    nl_free(rows);
    return result;
}

const struct nl_analysis nl_analysis_step_efficiency = {
    .name = "step_efficiency",
    .key = "step_efficiency",
    .title = "Use of the peak per step",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = step_efficiency_run,
    .doc =
        "Per rank, device and step, by the operators whose first kernel starts in it: HFU and MFU "
        "over the step's wall (as efficiency defines them), time of the operators' kernels, share "
        "of "
        "their roofs reached, headroom to 80 % of these, FLOPs per second of wall, and tokens per "
        "second with --tokens-per-step. Steps without an operator of known work have no row.",
};
