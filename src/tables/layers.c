/*
 * layers — modules and model layers by the time they take themselves on the CPU.
 */
#include "tables/selftime.h"

static struct nl_result *layers_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_nest nest = {
        .slices = trace->layer.slice, .rows = trace->layer.rows, .same_kind = true};
    return nl_self_answer(trace, options, &nest);
}

const struct nl_analysis nl_analysis_layers = {
    .name = "layers",
    .key = "layers",
    .title = "Modules by self time on the CPU",
    .needs = {{NL_T_layer, NULL}},
    .need_count = 1,
    .run = layers_run,
    .doc = "Per module: count, total and self time (without nested modules), share of the self "
           "time in which a thread works, and statistics of the total time per call.",
};
