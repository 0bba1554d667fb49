/* layer_tree — modules as a tree with device time. */
#include "tables/gputime.h"
#include "tables/calltree.h"

static struct nl_result *layer_tree_run(const struct nl_trace *trace,
                                        const struct nl_analyze_options *options,
                                        struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_path(trace, options, NL_KIND_LAYER);
}

const struct nl_analysis nl_analysis_layer_tree = {
    .name = "layer_tree",
    .key = "layer_tree",
    .title = "Modules as a tree",
    .needs = {{NL_T_layer, NULL}},
    .need_count = 1,
    .instead = &(const struct nl_need){NL_T_captured, NULL},
    .run = layer_tree_run,
    .doc =
        "Per path of modules from the outermost in, by names without instance numbers: count, "
        "time on the CPU, work and device time launched there (self) and there or inside (total).",
};
