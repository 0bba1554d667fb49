/* layer_gpu — modules by the device time they launched. */
#include "tables/gputime.h"

static struct nl_result *layer_gpu_run(const struct nl_trace *trace,
                                       const struct nl_analyze_options *options, struct nl_job *job,
                                       struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_name(trace, options, NL_KIND_LAYER);
}

const struct nl_analysis nl_analysis_layer_gpu = {
    .name = "layer_gpu",
    .key = "layer_gpu",
    .title = "Modules by the device time they launched",
    .needs = {{NL_T_layer, NULL}, {NL_T_api, "correlation"}},
    .need_count = 2,
    .instead = &(const struct nl_need){NL_T_captured, NULL},
    .run = layer_gpu_run,
    .doc = "Per module: calls, time on the CPU, and time of the device work it launched. self: "
           "launched outside nested modules; total: including those; union: overlapping device "
           "time counts once. Work launched outside any module, and work whose launch is not "
           "recorded, have rows of their own, so GPU self adds up to all device work. Work of a "
           "backward pass belongs to the module of its forward operator.",
};
