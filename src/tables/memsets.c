/*
 * memsets — memory fills by kind of memory, rank and device.
 */
#include "tables/bydevice.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(memory, NULL, TEXT)                                                                          \
    C(bytes, NULL, BYTES)                                                                          \
    C(bandwidth_bytes_per_s, "bandwidth", RATE)                                                    \
    NL_STATS_LIST(C)
NL_COLUMNS(COLUMNS);

static uint64_t key(const struct nl_trace *trace, uint32_t row)
{
    return trace->memset.memory[row];
}

static void fill_memset_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    cells[AT_memory] = nl_cell_enum(NL_ENUM_memory, (unsigned)group->a);
    cells[AT_bytes] = nl_by_device_bytes(group);
    cells[AT_bandwidth_bytes_per_s] = nl_by_device_bandwidth(group);
    nl_cells_stats(&cells[AT_count], &group->stats, whole);
}

static struct nl_result *memsets_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_by_device(trace, options,
                        &(struct nl_by_device){.name = "memsets",
                                               .columns = columns,
                                               .column_count = sizeof columns / sizeof columns[0],
                                               .rows = trace->memset.rows,
                                               .slice = trace->memset.slice,
                                               .bytes = trace->memset.bytes,
                                               .key = key,
                                               .cells = fill_memset_cells});
}

const struct nl_analysis nl_analysis_memsets = {
    .name = "memsets",
    .key = "memsets",
    .title = "Memsets",
    .needs = {{NL_T_memset, NULL}},
    .need_count = 1,
    .run = memsets_run,
    .doc = "Per rank, device and kind of memory: bytes set, bandwidth, and statistics of time.",
};
