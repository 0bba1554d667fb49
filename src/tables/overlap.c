/*
 * overlap — how much of the communication is hidden behind compute, per rank and device.
 */
#include "tables/answer.h"
#include "tables/memo.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"comm_ns", "communication", NL_MEANS_NS},
    {"overlap_ns", "hidden", NL_MEANS_NS},
    {"overlap_share", "hidden %", NL_MEANS_SHARE},
    {"exposed_comm_ns", "exposed", NL_MEANS_NS},
};

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)trace;
    (void)job;
    (void)err;
    size_t count;
    const struct nl_device_breakdown *devices = nl_memo_breakdown(options->memo, &count);
    struct nl_result *result = NL_ANSWER_NEW("overlap", NULL, columns);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct nl_device_breakdown shown = nl_breakdown_shown(&devices[i]), *device = &shown;
        struct nl_cell *cells = nl_result_row(result);
        any |= device->comm_ns != 0;
        cells[0] = nl_cell_i64(device->rank);
        cells[1] = nl_cell_i64(device->ordinal);
        cells[2] = nl_cell_i64(device->comm_ns);
        cells[3] = nl_cell_i64(device->overlap_ns);
        if (device->overlap_ns != NL_NULL_I64)
            cells[4] = nl_answer_share(device->overlap_ns, device->comm_ns);
        cells[5] = nl_cell_i64(device->exposed_comm_ns);
    }
    if (count && !any)
        result->note = "no communication kernels in this profile";
    return result;
}

const struct nl_analysis nl_analysis_overlap = {
    .name = "overlap",
    .key = "overlap",
    .title = "Communication hidden behind compute",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank and device: |communication ∩ compute| / |communication|, unions of time; "
           "NULL without communication (the definition of Holistic Trace Analysis).",
};
