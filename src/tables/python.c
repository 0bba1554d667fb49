/*
 * python — Python functions by the time they take themselves.
 */
#include "tables/selftime.h"

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_nest nest = {.slices = trace->python.slice, .rows = trace->python.rows};
    return nl_self_answer(trace, options, &nest);
}

const struct nl_analysis nl_analysis_python = {
    .name = "python",
    .key = "python",
    .title = "Python functions by self time",
    .needs = {{NL_T_python, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per Python function: count, total and self time (without functions and modules called "
           "from "
           "inside), share of all self time, and statistics of the total time per call.",
};
