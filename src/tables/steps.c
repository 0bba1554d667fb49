/*
 * steps — the iterations of each rank in order of time: as the program marked them, else as they
 * were found (timeline/stepfind.h), with the phase of each.
 */
#include "tables/answer.h"
#include "tables/memo.h"
#include "tables/steptime.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},  {"index", NULL, NL_MEANS_INTEGER},
    {"name", NULL, NL_MEANS_TEXT},     {"start_ns", "start", NL_MEANS_NS},
    {"dur_ns", "length", NL_MEANS_NS}, {"phase", NULL, NL_MEANS_TEXT},
    {"method", NULL, NL_MEANS_TEXT},   {"confidence", NULL, NL_MEANS_NUMBER},
};

static void add_row(struct nl_result *result, const struct nl_trace *trace,
                    const struct nl_step_group *group, const struct nl_found_step *step)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(group->rank);
    cells[1] = nl_cell_i64(step->index);
    cells[2] = nl_answer_name(result, trace, step->name);
    cells[3] = nl_cell_i64(step->start - trace->first_ts);
    cells[4] = nl_cell_i64(step->end - step->start);
    cells[5] = nl_answer_static(nl_step_phase_text(step->phase));
    cells[6] = nl_answer_static(nl_step_method_text(group->method));
    cells[7] = nl_cell_f64(group->confidence);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_found_steps *found = nl_memo_steps(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("steps", NULL, columns);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = group->first; i < group->first + group->count; i++)
            if (nl_step_in_window(group, &found->items[i], &options->window))
                add_row(result, trace, group, &found->items[i]);
    }
    nl_step_note(result, found);
    return result;
}

const struct nl_analysis nl_analysis_steps = {
    .name = "steps",
    .key = "steps",
    .title = "Steps",
    .run = run,
    .doc = "Every iteration: rank, number, start, length and phase (steady, warm-up, compile), how "
           "it is known (marked by the program, ranges whose text stands for an iteration, or the "
           "launch sequence that repeats) and how sure that is.",
};
