/*
 * bus_bandwidth — what collectives reach of the link between devices, by operation and size.
 *
 * Definitions of nccl-tests: algorithm bandwidth = bytes / time; bus bandwidth = that times
 * 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for the
 * others. A collective's own length includes waiting for the other ranks, so the shortest of a
 * size stands for the transfer: the last to arrive waits least. What the others take beyond it,
 * they wait. The first call of a size connects the ranks (nccl-tests warm up before they measure):
 * it counts for the shortest alone.
 *
 * Expected is the time at 80 % of the link's rate, which is about what can be reached (stas00,
 * ml-engineering), for messages of 16 MiB and more: below, latency counts. The verdicts are those
 * of the causes low_bus_bandwidth (the shortest reaches less than half of the link) and
 * collective_skew (half of the time or more is waiting).
 */
#include "base/sum.h"
#include "tables/resultcells.h"
#include "tables/bus_bandwidth.h"
#include "tables/groups.h"
#include "tables/workrows.h"
#include "tables/scope.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(operation, NULL, TEXT)                                                                       \
    C(group, NULL, TEXT)                                                                           \
    C(ranks, NULL, INTEGER)                                                                        \
    C(bytes, NULL, BYTES)                                                                          \
    C(count, NULL, COUNT)                                                                          \
    C(shortest_ns, "shortest", NS)                                                                 \
    C(median_ns, "median", NS)                                                                     \
    C(algorithm_bytes_per_s, "algorithm", RATE)                                                    \
    C(bus_bytes_per_s, "bus", RATE)                                                                \
    C(link_share, "of link", SHARE)                                                                \
    C(total_ns, "total", NS)                                                                       \
    C(expected_ns, "expected", NS)                                                                 \
    C(waiting_ns, "waiting", NS)                                                                   \
    C(verdict, NULL, TEXT)
NL_COLUMNS(COLUMNS);

#define REACHABLE_SHARE 0.8 /* of the link */
#define MAX_SLOW_SHARE  0.5 /* of the link, and less */
#define MIN_LATE_SHARE  0.5 /* of the time waits, or more */
#define MIN_BYTES       ((uint64_t)16 << 20)
#define MIN_COUNT       3 /* calls after the first */

/* What the caller sums up of a group. */
enum { ROW, FIRST_TS, FIRST_NS };

double nl_bus_factor(struct nl_str operation, uint32_t ranks)
{
    if (ranks == NL_NULL_U32 || !ranks)
        return NAN;
    double n = ranks;
    if (nl_str_find_nocase(operation, "all_reduce") >= 0 ||
        nl_str_find_nocase(operation, "allreduce") >= 0)
        return 2 * (n - 1) / n;
    static const char *const parts[] = {"gather", "scatter", "all_to_all", "alltoall", "all2all"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_find_nocase(operation, parts[i]) >= 0)
            return (n - 1) / n;
    static const char *const once[] = {"broadcast", "reduce", "send", "recv"};
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
        if (nl_str_find_nocase(operation, once[i]) >= 0)
            return 1;
    return NAN;
}

static void group_collectives(struct nl_groups *groups, const struct nl_scope *scope)
{
    const struct nl_trace *trace = scope->trace;
    const struct nl_collective_table *table = &trace->collective;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t slice = table->slice[row];
        int64_t length = slice == NL_NULL_ROW ? -1 : nl_scope_length(scope, slice);
        if (length <= 0 || table->bytes[row] == NL_NULL_U64 || !table->bytes[row] ||
            trace->slice.kind[slice] != NL_KIND_KERNEL ||
            trace->slice.flags[slice] & NL_SLICE_CLAMPED)
            continue;
        uint64_t what = (uint64_t)table->operation[row] << 32 | trace->slice.lane[slice];
        uint64_t size = table->bytes[row] << 20 ^ (uint64_t)table->group_name[row];
        struct nl_group *group = nl_groups_add(groups, what, size, length);
        int64_t ts = trace->slice.ts[slice];
        bool first = group->stats.count == 1 || ts < group->sums[FIRST_TS] ||
                     (ts == group->sums[FIRST_TS] && length < group->sums[FIRST_NS]);
        group->sums[ROW] = row;
        if (!first)
            continue;
        group->sums[FIRST_TS] = ts;
        group->sums[FIRST_NS] = length;
    }
}

/* Calls after the first: what they take beyond the shortest, of all that they take. */
struct waiting {
    uint64_t count;
    int64_t ns, of_ns;
};

static struct waiting waiting_of(const struct nl_group *group)
{
    struct waiting waiting = {.count = group->stats.count - 1,
                              .of_ns = group->stats.total_ns - group->sums[FIRST_NS]};
    waiting.ns = waiting.of_ns - (int64_t)waiting.count * group->stats.min_ns;
    return waiting;
}

static const char *verdict_of(const struct waiting *waiting, uint64_t bytes, double link_share)
{
    bool late = (double)waiting->ns >= MIN_LATE_SHARE * (double)waiting->of_ns;
    bool large = bytes >= MIN_BYTES, slow = large && link_share < MAX_SLOW_SHARE;
    if (waiting->count < MIN_COUNT)
        return "too few calls";
    if (late)
        return slow ? "late and slow" : "late";
    if (slow)
        return "slow";
    if (!large)
        return "small";
    return isnan(link_share) ? NULL : "as expected";
}

static void judge_bandwidth(struct nl_cell *cells, const struct nl_group *group, uint64_t bytes,
                            double bus_bytes_per_s, double link)
{
    struct waiting waiting = waiting_of(group);
    double share = bus_bytes_per_s / link;
    if (waiting.count >= MIN_COUNT)
        cells[AT_waiting_ns] = nl_cell_i64(waiting.ns);
    if (bytes >= MIN_BYTES && share > 0) /* at that share it takes the shortest */
        cells[AT_expected_ns] =
            nl_cell_i64(nl_whole_i64((double)group->stats.min_ns * share / REACHABLE_SHARE));
    cells[AT_verdict] = nl_cell_static(verdict_of(&waiting, bytes, share));
}

static void bus_bandwidth_add_row(struct nl_result *result, const struct nl_trace *trace,
                                  const struct nl_device_peaks *peaks, const struct nl_group *group)
{
    const struct nl_collective_table *table = &trace->collective;
    uint32_t row = (uint32_t)group->sums[ROW], lane = trace->slice.lane[table->slice[row]];
    uint32_t device = trace->lane.device[lane];
    double algorithm = (double)table->bytes[row] * 1e9 / (double)group->stats.min_ns;
    double bus =
        algorithm * nl_bus_factor(nl_trace_name(trace, table->operation[row]), table->ranks[row]);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(nl_lane_rank(trace, lane));
    cells[AT_device] = nl_cell_i64(nl_lane_ordinal(trace, lane));
    cells[AT_operation] = nl_cell_name(result, trace, table->operation[row]);
    cells[AT_group] = nl_cell_name(result, trace, table->group_name[row]);
    cells[AT_ranks] = nl_cell_u32(table->ranks[row]);
    cells[AT_bytes] = nl_cell_count(table->bytes[row]);
    cells[AT_count] = nl_cell_count(group->stats.count);
    cells[AT_shortest_ns] = nl_cell_i64(group->stats.min_ns);
    cells[AT_median_ns] = nl_cell_f64(group->stats.median_ns);
    cells[AT_algorithm_bytes_per_s] = nl_cell_f64(algorithm);
    cells[AT_bus_bytes_per_s] = nl_cell_f64(bus);
    double link = device == NL_NULL_ROW ? NAN : peaks[device].figures[GPU_LINK];
    if (device != NL_NULL_ROW)
        cells[AT_link_share] = nl_cell_f64(bus / link);
    cells[AT_total_ns] = nl_cell_i64(group->stats.total_ns);
    if (table->ranks[row] == 1)
        cells[AT_verdict] = nl_cell_static("one rank");
    else
        judge_bandwidth(cells, group, table->bytes[row], bus, link);
}

static struct nl_result *bus_bandwidth_run(const struct nl_trace *trace,
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
    struct nl_result *result = NL_ANSWER_NEW("bus_bandwidth", NULL, columns);
    const struct nl_device_peaks *peaks = nl_memo_peaks(options->memo);
    for (size_t i = 0; i < groups.count; i++)
        bus_bandwidth_add_row(result, trace, peaks, &groups.items[i]);
    nl_result_settle(result, "total_ns");
    if (result->rows)
        result->note =
            "by the shortest of a size: the others also wait for other ranks; the link is "
            "the one inside a node, about 80 % of it can be reached, which is what is expected of "
            "16 MiB and more; waiting is what calls behind the first take beyond the shortest";
    nl_groups_release(&groups);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_bus_bandwidth = {
    .name = "bus_bandwidth",
    .key = "bus_bandwidth",
    .title = "Collectives against the link",
    .needs = {{NL_T_collective, "bytes"}},
    .need_count = 1,
    .run = bus_bandwidth_run,
    .doc =
        "Per device, operation, group and message size: kernels, their shortest and median time, "
        "algorithm bandwidth (bytes over the shortest time), bus bandwidth as nccl-tests define "
        "it, and its share of the link between the devices of a node; the bandwidth expected for "
        "its size, how long its calls wait, and whether it is late or slow (docs/work.md).",
};
