/*
 * memsets — memory fills by kind of memory, rank and device.
 */
#include "tables/bydevice.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"memory", NULL, NL_MEANS_TEXT},
    {"bytes", NULL, NL_MEANS_BYTES},
    {"bandwidth_bytes_per_s", "bandwidth", NL_MEANS_RATE},
    NL_STATS_COLUMNS,
};

static uint64_t key(const struct nl_trace *trace, uint32_t row)
{
    return trace->memset.memory[row];
}

static void fill(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    cells[0] = nl_answer_enum(NL_ENUM_memory, (unsigned)group->a);
    cells[1] = nl_by_device_bytes(group);
    cells[2] = nl_by_device_bandwidth(group);
    nl_answer_stats(&cells[3], &group->stats, whole);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
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
                                               .cells = fill});
}

const struct nl_analysis nl_analysis_memsets = {
    .name = "memsets",
    .key = "memsets",
    .title = "Memory fills",
    .needs = {{NL_T_memset, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank, device and kind of memory: bytes set, bandwidth, and statistics of time.",
};
