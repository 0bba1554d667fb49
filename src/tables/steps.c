/*
 * steps — the iterations of each rank in order of time: as the program marked them, else as
 * they were found (timeline/stepfind.h), moved to where the devices ran them
 * (account/devicesteps.h), with the phase of each.
 */
#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/steptime.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(index, NULL, INTEGER)                                                                        \
    C(name, NULL, TEXT)                                                                            \
    C(start_ns, "start", NS)                                                                       \
    C(dur_ns, "duration", NS)                                                                      \
    C(phase, NULL, TEXT)                                                                           \
    C(method, NULL, TEXT)                                                                          \
    C(confidence, NULL, NUMBER)                                                                    \
    C(marked_start_ns, "marked at", NS)                                                            \
    C(marked_dur_ns, "marked duration", NS)
NL_COLUMNS(COLUMNS);

static void steps_add_row(struct nl_result *result, const struct nl_trace *trace,
                          const struct nl_step_group *group, const struct nl_found_step *step)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(group->rank);
    cells[AT_index] = nl_cell_i64(step->index);
    cells[AT_name] = nl_cell_name(result, trace, step->name);
    cells[AT_start_ns] = nl_cell_i64(step->start - trace->first_ts);
    cells[AT_dur_ns] = nl_cell_i64(step->end - step->start);
    cells[AT_phase] = nl_cell_static(nl_step_phase_text(step->phase));
    cells[AT_method] = nl_cell_static(nl_step_method_text(group->method));
    cells[AT_confidence] = nl_cell_f64(group->confidence);
    cells[AT_marked_start_ns] = nl_cell_i64(step->marked_start - trace->first_ts);
    cells[AT_marked_dur_ns] = nl_cell_i64(step->marked_end - step->marked_start);
}

static struct nl_result *steps_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_found_steps *found = nl_memo_steps(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("steps", NULL, columns);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = group->first; i < group->first + group->count; i++)
            if (nl_step_in_window(group, &found->items[i], &options->window))
                steps_add_row(result, trace, group, &found->items[i]);
    }
    nl_step_note(result, found);
    return result;
}

const struct nl_analysis nl_analysis_steps = {
    .name = "steps",
    .key = "steps",
    .title = "Steps",
    .run = steps_run,
    .doc = "Every iteration: rank, number, start and duration as the devices ran it, phase "
           "(steady, warm-up, compile, last), how it was found (marked by the program, ranges "
           "whose text looks like an iteration, or the repeating launch sequence), with what "
           "confidence, and start and duration as the CPU marked it.",
};
