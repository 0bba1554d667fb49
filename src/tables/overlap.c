/*
 * overlap — how much communication overlaps with compute, per rank and device.
 */
#include "tables/resultcells.h"
#include "tables/memo.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(comm_ns, "communication", NS)                                                                \
    C(overlap_ns, "hidden", NS)                                                                    \
    C(overlap_share, "hidden %", SHARE)                                                            \
    C(exposed_comm_ns, "exposed", NS)
NL_COLUMNS(COLUMNS);

static struct nl_result *overlap_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
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
        cells[AT_rank] = nl_cell_i64(device->rank);
        cells[AT_device] = nl_cell_i64(device->ordinal);
        cells[AT_comm_ns] = nl_cell_i64(device->comm_ns);
        cells[AT_overlap_ns] = nl_cell_i64(device->overlap_ns);
        if (device->overlap_ns != NL_NULL_I64)
            cells[AT_overlap_share] = nl_cell_share(device->overlap_ns, device->comm_ns);
        cells[AT_exposed_comm_ns] = nl_cell_i64(device->exposed_comm_ns);
    }
    if (count && !any)
        result->note = "no communication kernels in this profile";
    return result;
}

const struct nl_analysis nl_analysis_overlap = {
    .name = "overlap",
    .key = "overlap",
    .title = "Communication overlapped with compute",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = overlap_run,
    .doc = "Per rank and device: |communication ∩ compute| / |communication|, unions of time; "
           "NULL without communication (the definition of Holistic Trace Analysis).",
};
