/*
 * step_breakdown — where each device's time went in each step.
 */
#include "tables/answer.h"
#include "tables/memo.h"
#include "tables/steptime.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"index", "step", NL_MEANS_INTEGER},
    {"phase", NULL, NL_MEANS_TEXT},
    {"start_ns", "start", NL_MEANS_NS},
    {"wall_ns", "wall", NL_MEANS_NS},
    {"compute_ns", "compute", NL_MEANS_NS},
    {"exposed_comm_ns", "exposed comm", NL_MEANS_NS},
    {"exposed_copy_ns", "exposed copies", NL_MEANS_NS},
    {"idle_ns", "idle", NL_MEANS_NS},
    {"idle_share", "%", NL_MEANS_SHARE},
};

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_step_times *times = nl_memo_step_times(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("step_breakdown", NULL, columns);
    for (size_t i = 0; i < times->count; i++) {
        const struct nl_step_time *time = &times->items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_i64(time->rank);
        cells[1] = nl_cell_i64(time->ordinal);
        cells[2] = nl_cell_i64(time->step->index);
        cells[3] = nl_answer_static(nl_step_phase_text(time->step->phase));
        cells[4] = nl_cell_i64(time->step->start - trace->first_ts);
        for (size_t part = 0; part < NL_STEP_PARTS; part++)
            cells[5 + part] = nl_cell_i64(time->parts[part]);
        cells[10] = nl_answer_share(time->parts[NL_PART_IDLE], time->parts[NL_PART_WALL]);
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
    .run = run,
    .doc = "Per rank, device and step (docs/steps.md says how steps are found): compute + exposed "
           "communication + exposed copies + idle = wall of the step, exactly, by the work that "
           "lies inside the step's time.",
};
