/*
 * time_breakdown — where each device's time goes. The numbers come from timeline/breakdown, which SQL
 * shows too; here they get names and shares.
 */
#include "tables/answer.h"
#include "tables/lookup.h"
#include "tables/memo.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"device_name", "name", NL_MEANS_TEXT},
    {"start_ns", "start", NL_MEANS_NS},
    {"wall_ns", "wall", NL_MEANS_NS},
    {"compute_ns", "compute", NL_MEANS_NS},
    {"compute_share", "%", NL_MEANS_SHARE},
    {"exposed_comm_ns", "exposed communication", NL_MEANS_NS},
    {"exposed_comm_share", "%", NL_MEANS_SHARE},
    {"exposed_copy_ns", "exposed copies", NL_MEANS_NS},
    {"exposed_copy_share", "%", NL_MEANS_SHARE},
    {"idle_ns", "idle", NL_MEANS_NS},
    {"idle_share", "%", NL_MEANS_SHARE},
    {"kernels", NULL, NL_MEANS_COUNT},
    {"copies", NULL, NL_MEANS_COUNT},
    {"memsets", NULL, NL_MEANS_COUNT},
};

#define COPY_COLUMN 9

static void add_row(struct nl_result *result, const struct nl_trace *trace,
                    const struct nl_device_breakdown *row)
{
    struct nl_cell *cells = nl_result_row(result);
    const struct nl_device_breakdown shown = nl_breakdown_shown(row), *device = &shown;
    uint32_t name = device->device == NL_NULL_ROW ? NL_NO_NAME : trace->device.name[device->device];
    int64_t wall = device->wall_ns;
    cells[0] = nl_cell_i64(device->rank);
    cells[1] = nl_cell_i64(device->ordinal);
    cells[2] = nl_answer_name(result, trace, name);
    cells[3] = nl_cell_i64(device->start_ns - trace->first_ts);
    cells[4] = nl_cell_i64(wall);
    const int64_t parts[] = {device->compute_ns, device->exposed_comm_ns, device->exposed_copy_ns,
                             device->idle_ns};
    for (size_t i = 0; i < 4; i++) {
        cells[5 + 2 * i] = nl_cell_i64(parts[i]);
        if (parts[i] != NL_NULL_I64 && wall != NL_NULL_I64)
            cells[6 + 2 * i] = nl_answer_share(parts[i], wall);
    }
    cells[13] = nl_answer_count(device->kernels);
    cells[14] = nl_answer_count(device->copies);
    cells[15] = nl_answer_count(device->memsets);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    const struct nl_device_breakdown *devices = nl_memo_breakdown(options->memo, &count);
    struct nl_result *result = NL_ANSWER_NEW("breakdown", NULL, columns);
    for (size_t i = 0; i < count; i++)
        add_row(result, trace, &devices[i]);
    result->columns[COPY_COLUMN].head = nl_exposed_copy_word(result);
    return result;
}

const struct nl_analysis nl_analysis_time_breakdown = {
    .name = "time_breakdown",
    .key = "breakdown",
    .title = "Where the time of each device goes",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank and device: compute + exposed communication + exposed copies + idle = wall, "
           "exactly. Wall is the end of the last device work minus the start of the first. Time "
           "with a compute kernel running is compute; else with communication running, exposed "
           "communication; else with a copy or memset running, exposed copies; else idle. Where a "
           "file has lengths of kernels but no start times, only compute is known.",
};
