/* python_tree — python functions as a tree with device time. */
#include "tables/gputime.h"
#include "tables/calltree.h"

static struct nl_result *python_tree_run(const struct nl_trace *trace,
                                         const struct nl_analyze_options *options,
                                         struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_path(trace, options, NL_KIND_PYTHON);
}

const struct nl_analysis nl_analysis_python_tree = {
    .name = "python_tree",
    .key = "python_tree",
    .title = "Python functions as a tree",
    .needs = {{NL_T_python, NULL}},
    .need_count = 1,
    .instead = &(const struct nl_need){NL_T_captured, NULL},
    .run = python_tree_run,
    .doc = "Per path of Python functions from the outermost in, by names without instance "
           "numbers: count, time on the CPU, work and device time launched there (self) and "
           "there or inside (total).",
};
