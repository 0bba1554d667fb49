/*
 * collectives — communication operations by what they do, how much they move and how long it takes.
 */
#include "tables/resultcells.h"
#include "tables/groups.h"
#include "tables/scope.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(side, NULL, TEXT)                                                                            \
    C(operation, NULL, TEXT)                                                                       \
    C(group, NULL, TEXT)                                                                           \
    C(dtype, NULL, TEXT)                                                                           \
    C(ranks, NULL, INTEGER)                                                                        \
    C(bytes, NULL, BYTES)                                                                          \
    C(bandwidth_bytes_per_s, "algorithm bandwidth", RATE)                                          \
    NL_STATS_LIST(C)
NL_COLUMNS(COLUMNS);

enum { SUM_BYTES, SUM_SIZED, SUM_TIMED_BYTES, SUM_TIMED_NS, SUM_ROW };

#define HOST_SIDE ((uint64_t)1 << 63)
#define NO_TIMES  ((uint64_t)1 << 62)

/* Is the slice's length that of the operation? An operator or a call that enqueues it returns long
 * before the data have moved; for calls that never ended, the end is unknown. */
static bool lasts_as_long(const struct nl_trace *trace, uint32_t row)
{
    uint32_t slice = trace->collective.slice[row];
    if (trace->slice.flags[slice] & NL_SLICE_CLAMPED)
        return false;
    if (trace->lane.kind[trace->slice.lane[slice]] == NL_LANE_STREAM)
        return true;
    return trace->slice.kind[slice] == NL_KIND_COLLECTIVE &&
           !nl_str_starts(nl_trace_name(trace, trace->collective.operation[row]), "MPI_I");
}

static void group_collectives(struct nl_groups *groups, const struct nl_scope *scope)
{
    const struct nl_trace *trace = scope->trace;
    const struct nl_collective_table *table = &trace->collective;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t slice = table->slice[row];
        int64_t length = slice == NL_NULL_ROW ? -1 : nl_scope_length(scope, slice);
        if (length < 0)
            continue;
        uint32_t lane = trace->slice.lane[slice];
        bool host = trace->lane.kind[lane] != NL_LANE_STREAM;
        uint64_t what = (uint64_t)table->operation[row] << 32 | table->dtype[row];
        uint64_t who = (uint64_t)(uint32_t)nl_lane_rank(trace, lane) << 32 | table->group_name[row];
        if (trace->slice.flags[slice] & NL_SLICE_INSTANT)
            what |= NO_TIMES;
        struct nl_group *group = nl_groups_add(groups, what | (host ? HOST_SIDE : 0), who, length);
        group->sums[SUM_ROW] = row;
        if (table->bytes[row] == NL_NULL_U64)
            continue;
        nl_sum_add_u64(&group->sums[SUM_BYTES], table->bytes[row]);
        group->sums[SUM_SIZED]++;
        if (!lasts_as_long(trace, row))
            continue;
        nl_sum_add_u64(&group->sums[SUM_TIMED_BYTES], table->bytes[row]);
        nl_sum_add(&group->sums[SUM_TIMED_NS], length);
    }
}

static void collectives_add_row(struct nl_result *result, const struct nl_trace *trace,
                                const struct nl_group *group, int64_t whole)
{
    const struct nl_collective_table *table = &trace->collective;
    uint32_t row = (uint32_t)group->sums[SUM_ROW];
    uint32_t lane = trace->slice.lane[table->slice[row]];
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(nl_lane_rank(trace, lane));
    cells[AT_side] = nl_cell_static(group->a & HOST_SIDE ? "host" : "device");
    cells[AT_operation] = nl_cell_name(result, trace, table->operation[row]);
    cells[AT_group] = nl_cell_name(result, trace, table->group_name[row]);
    cells[AT_dtype] = nl_cell_name(result, trace, table->dtype[row]);
    cells[AT_ranks] = nl_cell_u32(table->ranks[row]);
    if (group->sums[SUM_SIZED] > 0)
        cells[AT_bytes] = nl_cell_i64(group->sums[SUM_BYTES]);
    if (group->sums[SUM_TIMED_NS] > 0 && group->sums[SUM_TIMED_BYTES] > 0)
        cells[AT_bandwidth_bytes_per_s] = nl_cell_f64((double)group->sums[SUM_TIMED_BYTES] * 1e9 /
                                                      (double)group->sums[SUM_TIMED_NS]);
    if (group->a & NO_TIMES)
        cells[AT_count] = nl_cell_count(group->stats.count);
    else
        nl_cells_stats(&cells[AT_count], &group->stats, whole);
}

static struct nl_result *collectives_run(const struct nl_trace *trace,
                                         const struct nl_analyze_options *options,
                                         struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_groups_init(&groups);
    group_collectives(&groups, &scope);
    nl_groups_finish(&groups);
    int64_t whole[2] = {0, 0}; /* shares are of the same side: one is not part of the other */
    for (size_t i = 0; i < groups.count; i++)
        nl_sum_add(&whole[groups.items[i].a & HOST_SIDE ? 1 : 0], groups.items[i].stats.total_ns);
    struct nl_result *result = NL_ANSWER_NEW("collectives", NULL, columns);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < groups.count; i++)
            if (side == (groups.items[i].a & HOST_SIDE ? 1 : 0))
                collectives_add_row(result, trace, &groups.items[i], whole[side]);
    nl_result_settle(result, "total_ns");
    nl_groups_release(&groups);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_collectives = {
    .name = "collectives",
    .key = "collectives",
    .title = "Communication operations",
    .needs = {{NL_T_collective, NULL}},
    .need_count = 1,
    .run = collectives_run,
    .doc = "Per rank, side (device kernels, host calls), operation, process group and element "
           "type: bytes, statistics of time (null where only an instant is known), and share "
           "within the side. Algorithm bandwidth = bytes / time, if the bytes are known and the "
           "time is that of the operation itself (including the wait for other ranks): not for "
           "calls that only enqueue it, nor for operations that never ended. Bus bandwidth, as "
           "nccl-tests define it, is in the section bus_bandwidth.",
};
