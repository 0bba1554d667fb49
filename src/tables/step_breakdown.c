/*
 * step_breakdown — where each device's time went in each step.
 */
#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/steptime.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(index, "step", INTEGER)                                                                      \
    C(phase, NULL, TEXT)                                                                           \
    C(start_ns, "start", NS)                                                                       \
    C(wall_ns, "wall", NS)                                                                         \
    C(compute_ns, "compute", NS)                                                                   \
    C(exposed_comm_ns, "exposed comm", NS)                                                         \
    C(exposed_copy_ns, "exposed copies", NS)                                                       \
    C(idle_ns, "idle", NS)                                                                         \
    C(idle_share, "%", SHARE)
NL_COLUMNS(COLUMNS);

static struct nl_result *step_breakdown_run(const struct nl_trace *trace,
                                            const struct nl_analyze_options *options,
                                            struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_step_times *times = nl_memo_step_times(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("step_breakdown", NULL, columns);
    for (size_t i = 0; i < times->count; i++) {
        const struct nl_step_time *time = &times->items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(time->rank);
        cells[AT_device] = nl_cell_i64(time->ordinal);
        cells[AT_index] = nl_cell_i64(time->step->index);
        cells[AT_phase] = nl_cell_static(nl_step_phase_text(time->step->phase));
        cells[AT_start_ns] = nl_cell_i64(time->step->start - trace->first_ts);
        for (size_t part = 0; part < NL_STEP_PARTS; part++)
            cells[5 + part] = nl_cell_i64(time->parts[part]);
        cells[AT_idle_share] = nl_cell_share(time->parts[NL_PART_IDLE], time->parts[NL_PART_WALL]);
    }
    nl_step_note(result, times->found);
    return result;
}

const struct nl_analysis nl_analysis_step_breakdown = {
    .name = "step_breakdown",
    .key = "step_breakdown",
    .title = "Where the time of each step goes",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = step_breakdown_run,
    .doc = "Per rank, device and step (docs/steps.md says how steps are found): compute + exposed "
           "communication + exposed copies + idle = wall of the step, exactly, by the work that "
           "lies inside the step's time.",
};
