/*
 * time_breakdown — where each device's time goes. The numbers come from timeline/breakdown, which
 * SQL shows too; here they get names and shares.
 */
#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "tables/memo.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(device_name, "name", TEXT)                                                                   \
    C(start_ns, "start", NS)                                                                       \
    C(wall_ns, "wall", NS)                                                                         \
    C(compute_ns, "compute", NS)                                                                   \
    C(compute_share, "%", SHARE)                                                                   \
    C(exposed_comm_ns, "exposed communication", NS)                                                \
    C(exposed_comm_share, "%", SHARE)                                                              \
    C(exposed_copy_ns, "exposed copies", NS)                                                       \
    C(exposed_copy_share, "%", SHARE)                                                              \
    C(idle_ns, "idle", NS)                                                                         \
    C(idle_share, "%", SHARE)                                                                      \
    C(kernels, NULL, COUNT)                                                                        \
    C(copies, NULL, COUNT)                                                                         \
    C(memsets, NULL, COUNT)
NL_COLUMNS(COLUMNS);

static void put_part(struct nl_cell *cell, struct nl_cell *share, int64_t part, int64_t wall)
{
    *cell = nl_cell_i64(part);
    if (part != NL_NULL_I64 && wall != NL_NULL_I64)
        *share = nl_cell_share(part, wall);
}

static void time_breakdown_add_row(struct nl_result *result, const struct nl_trace *trace,
                                   const struct nl_device_breakdown *row)
{
    struct nl_cell *cells = nl_result_row(result);
    const struct nl_device_breakdown shown = nl_breakdown_shown(row), *device = &shown;
    uint32_t name = device->device == NL_NULL_ROW ? NL_NO_NAME : trace->device.name[device->device];
    int64_t wall = device->wall_ns;
    cells[AT_rank] = nl_cell_i64(device->rank);
    cells[AT_device] = nl_cell_i64(device->ordinal);
    cells[AT_device_name] = nl_cell_name(result, trace, name);
    cells[AT_start_ns] = nl_cell_i64(device->start_ns - trace->first_ts);
    cells[AT_wall_ns] = nl_cell_i64(wall);
    put_part(&cells[AT_compute_ns], &cells[AT_compute_share], device->compute_ns, wall);
    put_part(&cells[AT_exposed_comm_ns], &cells[AT_exposed_comm_share], device->exposed_comm_ns,
             wall);
    put_part(&cells[AT_exposed_copy_ns], &cells[AT_exposed_copy_share], device->exposed_copy_ns,
             wall);
    put_part(&cells[AT_idle_ns], &cells[AT_idle_share], device->idle_ns, wall);
    cells[AT_kernels] = nl_cell_count(device->kernels);
    cells[AT_copies] = nl_cell_count(device->copies);
    cells[AT_memsets] = nl_cell_count(device->memsets);
}

static struct nl_result *time_breakdown_run(const struct nl_trace *trace,
                                            const struct nl_analyze_options *options,
                                            struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    const struct nl_device_breakdown *devices = nl_memo_breakdown(options->memo, &count);
    struct nl_result *result = NL_ANSWER_NEW("breakdown", NULL, columns);
    for (size_t i = 0; i < count; i++)
        time_breakdown_add_row(result, trace, &devices[i]);
    result->columns[AT_exposed_copy_ns].head = nl_exposed_copy_word(result);
    return result;
}

const struct nl_analysis nl_analysis_time_breakdown = {
    .name = "time_breakdown",
    .key = "breakdown",
    .title = "Where the time of each device goes",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = time_breakdown_run,
    .doc =
        "Per rank and device: compute + exposed communication + exposed copies + idle = wall, "
        "exactly. Wall is the end of the last device work minus the start of the first. Time with "
        "a compute kernel running is compute; otherwise, with communication running, exposed "
        "communication; otherwise, with a copy or memset running, exposed copies; otherwise idle. "
        "If a file has kernel durations but no start times, only compute is known.",
};
