/*
 * ops — framework operators by the time they take themselves on the CPU.
 */
#include "tables/selftime.h"

static struct nl_result *ops_run(const struct nl_trace *trace,
                                 const struct nl_analyze_options *options, struct nl_job *job,
                                 struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_nest nest = {.slices = trace->op.slice, .rows = trace->op.rows};
    return nl_self_answer(trace, options, &nest);
}

const struct nl_analysis nl_analysis_ops = {
    .name = "ops",
    .key = "ops",
    .title = "Operators by self time on the CPU",
    .needs = {{NL_T_op, NULL}},
    .need_count = 1,
    .run = ops_run,
    .doc = "Per operator name: count, total and self time on the CPU (without nested operators and "
           "API calls), share of the self time in which a thread works, and statistics of the "
           "total time per call.",
};
