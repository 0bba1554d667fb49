/*
 * graphs — CUDA/HIP graph executions that were recorded as one device interval each.
 */
#include "tables/bydevice.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(graph, NULL, INTEGER)                                                                        \
    NL_STATS_LIST(C)
NL_COLUMNS(COLUMNS);

static uint64_t key(const struct nl_trace *trace, uint32_t row)
{
    return trace->graph.graph[row];
}

static void fill_graph_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    cells[AT_graph] = nl_cell_count(group->a);
    nl_cells_stats(&cells[AT_count], &group->stats, whole);
}

static struct nl_result *graphs_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result =
        nl_by_device(trace, options,
                     &(struct nl_by_device){.name = "graphs",
                                            .columns = columns,
                                            .column_count = sizeof columns / sizeof columns[0],
                                            .rows = trace->graph.rows,
                                            .slice = trace->graph.slice,
                                            .key = key,
                                            .cells = fill_graph_cells});
    if (result->rows)
        result->note = "kernels inside these graphs were not recorded; "
                       "nsys profile --cuda-graph-trace=node records them";
    return result;
}

const struct nl_analysis nl_analysis_graphs = {
    .name = "graphs",
    .key = "graphs",
    .title = "Graph executions recorded as a whole",
    .needs = {{NL_T_graph, NULL}},
    .need_count = 1,
    .run = graphs_run,
    .doc = "Per rank, device and graph: statistics of executions recorded as one interval. The "
           "kernels inside are unknown; the time breakdown counts the interval as compute.",
};
