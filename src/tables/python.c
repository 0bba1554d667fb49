/*
 * python — Python functions by the time they take themselves.
 */
#include "base/mem.h"
#include "tables/leftout.h"
#include "tables/selftime.h"

static struct nl_result *python_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    uint8_t *bounds = nl_left_out(trace);
    const struct nl_nest nest = {
        .slices = trace->python.slice, .rows = trace->python.rows, .bounds = bounds};
    struct nl_result *result = nl_self_answer(trace, options, &nest);
    if (result && bounds)
        result->note =
            "Calls beyond a number of each function (NEUROLENS_PYTHON_CALLS) were not recorded; "
            "their time is in the self time of whoever called them. At least: calls of the "
            "function are missing. At most: its self time may hold missing calls of others. First "
            "calls: both";
    nl_free(bounds);
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
           "from it), share of the self time in which a thread works, and statistics of the total "
           "time per call. If calls were left out (--python trace), the column bound says for "
           "which rows the numbers are lower or upper bounds; these rows have no share.",
};
