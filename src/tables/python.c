/*
 * python — Python functions by the time they take themselves.
 */
#include "tables/selftime.h"

/* What the recorder's hooks say when functions reached the limit of calls (--python trace). */
#define LIMIT_REACHED "Python calls"

static bool limit_was_reached(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (nl_str_contains(nl_trace_name(trace, trace->coverage.item[row]), LIMIT_REACHED) ||
            nl_str_contains(nl_trace_name(trace, trace->coverage.detail[row]), LIMIT_REACHED))
            return true;
    return false;
}

static struct nl_result *python_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_nest nest = {.slices = trace->python.slice, .rows = trace->python.rows};
    struct nl_result *result = nl_self_answer(trace, options, &nest);
    if (result && limit_was_reached(trace))
        result->note =
            "Calls beyond the first 10,000 of a function (NEUROLENS_PYTHON_CALLS) were not "
            "recorded: "
            "its count is a lower bound, and its time is in the self time of its callers";
    return result;
}

const struct nl_analysis nl_analysis_python = {
    .name = "python",
    .key = "python",
    .title = "Python functions by self time",
    .needs = {{NL_T_python, NULL}},
    .need_count = 1,
    .run = python_run,
    .doc = "Per Python function: count, total and self time (without functions and modules called "
           "from "
           "inside), share of all self time, and statistics of the total time per call.",
};
