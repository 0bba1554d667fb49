/*
 * syncs — waits of the CPU or of a stream that the profiler recorded as such, by kind.
 */
#include "tables/bydevice.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(kind, NULL, TEXT)                                                                            \
    NL_STATS_LIST(C)
NL_COLUMNS(COLUMNS);

static uint64_t key(const struct nl_trace *trace, uint32_t row)
{
    return trace->sync.kind[row];
}

static void fill_sync_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    cells[AT_kind] = nl_cell_enum(NL_ENUM_synckind, (unsigned)group->a);
    nl_cells_stats(&cells[AT_count], &group->stats, whole);
}

static struct nl_result *syncs_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_by_device(trace, options,
                        &(struct nl_by_device){.name = "syncs",
                                               .columns = columns,
                                               .column_count = sizeof columns / sizeof columns[0],
                                               .rows = trace->sync.rows,
                                               .slice = trace->sync.slice,
                                               .key = key,
                                               .cells = fill_sync_cells});
}

const struct nl_analysis nl_analysis_syncs = {
    .name = "syncs",
    .key = "syncs",
    .title = "Synchronisations",
    .needs = {{NL_T_sync, NULL}},
    .need_count = 1,
    .run = syncs_run,
    .doc = "Per rank, device and kind of synchronisation (event, stream wait event, stream, "
           "context): statistics of its recorded duration. Waiting for a busy device costs nothing "
           "by itself.",
};
