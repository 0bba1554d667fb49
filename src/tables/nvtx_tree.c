/* nvtx_tree — user ranges as a tree with device time. */
#include "tables/gputime.h"
#include "tables/calltree.h"

static struct nl_result *nvtx_tree_run(const struct nl_trace *trace,
                                       const struct nl_analyze_options *options, struct nl_job *job,
                                       struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_path(trace, options, NL_KIND_NVTX);
}

const struct nl_analysis nl_analysis_nvtx_tree = {
    .name = "nvtx_tree",
    .key = "nvtx_tree",
    .title = "User ranges as a tree",
    .needs = {{NL_T_nvtx, NULL}},
    .need_count = 1,
    .run = nvtx_tree_run,
    .doc =
        "Per path of ranges from the outermost in, by names without instance numbers: count, "
        "time on the CPU, work and device time launched there (self) and there or inside (total).",
};
