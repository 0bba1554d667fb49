/* op_tree — operators as a tree with device time. */
#include "tables/gputime.h"
#include "tables/calltree.h"

static struct nl_result *op_tree_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_path(trace, options, NL_KIND_OP);
}

const struct nl_analysis nl_analysis_op_tree = {
    .name = "op_tree",
    .key = "op_tree",
    .title = "Operators as a tree",
    .needs = {{NL_T_op, NULL}},
    .need_count = 1,
    .instead = &(const struct nl_need){NL_T_captured, NULL},
    .run = op_tree_run,
    .doc = "Per path of operators from the outermost in, by names without instance numbers: "
           "count, time on the CPU, work and device time launched there (self) and there or inside "
           "(total).",
};
