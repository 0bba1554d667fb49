/* op_gpu — operators by the device time they launched. */
#include "tables/gputime.h"

static struct nl_result *op_gpu_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_gputime_by_name(trace, options, NL_KIND_OP);
}

const struct nl_analysis nl_analysis_op_gpu = {
    .name = "op_gpu",
    .key = "op_gpu",
    .title = "Operators by the device time they launched",
    .needs = {{NL_T_op, NULL}, {NL_T_api, "correlation"}},
    .need_count = 2,
    .instead = &(const struct nl_need){NL_T_captured, NULL},
    .run = op_gpu_run,
    .doc = "Per operator name: calls, time on the CPU, and time of the device work it launched. "
           "self: launched outside nested operators; total: including those; union: overlapping "
           "device time counts once. Work launched outside any operator, and work whose launch is "
           "not recorded, have rows of their own, so GPU self adds up to all device work.",
};
