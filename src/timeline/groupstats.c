/*
 * Statistics per name, native: dictionary ids are dense, so groups are array slots.
 *
 * Three walks: (1) count, sum, least and greatest per name; (2) counting sort of the durations
 * into one run per name, as 32-bit distances from the name's least (a name whose durations spread
 * over more than 4.29 s keeps 64 bits); (3) per run, quantiles by narrowing and the spread around
 * the mean.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "timeline/bigarray.h"
#include "timeline/groupstats.h"
#include "timeline/quantile.h"

struct group {
    uint64_t count;
    int64_t total, least, most;
};

/* A run of slices with neighbouring rows. */
struct range {
    uint32_t first, last;
};

struct scan {
    const struct nl_trace *trace;
    struct range *ranges;
    size_t range_count;
    unsigned kind; /* 0 = all */
    bool windowed;
    int64_t start, end;
    struct group *groups;             /* per name */
    const struct nl_slice_list *list; /* instead of the ranges */
};

static bool lane_wanted(const struct nl_trace *trace, const struct nl_window *window, uint32_t lane)
{
    uint32_t device = trace->lane.device[lane];
    if (window && window->has_rank && nl_lane_rank(trace, lane) != window->rank)
        return false;
    if (!window || !window->has_device)
        return true;
    return device != NL_NULL_ROW && trace->device.ordinal[device] == window->device;
}

static void find_ranges(struct scan *scan, const struct nl_window *window)
{
    const struct nl_trace *trace = scan->trace;
    scan->ranges = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *scan->ranges);
    for (uint32_t i = 0; i < trace->lane.rows; i++)
        if (trace->lane.count[i] && lane_wanted(trace, window, i))
            scan->ranges[scan->range_count++] =
                (struct range){trace->lane.first[i], trace->lane.first[i] + trace->lane.count[i]};
}

static inline bool row_wanted(const struct scan *scan, uint32_t row)
{
    const struct nl_trace *trace = scan->trace;
    if ((scan->kind && trace->slice.kind[row] != scan->kind) ||
        trace->slice.dur[row] == NL_NULL_I64)
        return false;
    return !scan->windowed ||
           (trace->slice.ts[row] >= scan->start && trace->slice.ts[row] < scan->end);
}

static inline void count_row(struct group *group, int64_t value)
{
    if (group->count++ == 0)
        group->least = group->most = value;
    group->least = value < group->least ? value : group->least;
    group->most = value > group->most ? value : group->most;
    group->total = nl_sum(group->total, value);
}

static void count_range(const struct scan *scan, struct range range)
{
    const uint32_t *name = scan->trace->slice.name;
    const int64_t *dur = scan->trace->slice.dur;
    for (uint32_t row = range.first; row < range.last; row++)
        if (row_wanted(scan, row))
            count_row(&scan->groups[name[row]], dur[row]);
}

static void count_list(const struct scan *scan)
{
    const struct nl_slice_table *slice = &scan->trace->slice;
    for (uint32_t i = 0; i < scan->list->rows; i++) {
        uint32_t row = scan->list->slices[i];
        if (nl_slice_listed(scan->list, slice, row))
            count_row(&scan->groups[slice->name[row]], slice->dur[row]);
    }
}

static bool is_wide(const struct group *group)
{
    return (uint64_t)group->most - (uint64_t)group->least > UINT32_MAX - 1;
}

/* Where each name's durations go: an index into `narrow` or `wide`. */
struct runs {
    uint64_t *at;
    uint32_t *narrow;
    int64_t *wide;
    struct nl_bigarray narrow_memory, wide_memory;
    uint64_t narrow_count, wide_count, longest;
};

static void lay_out(struct runs *runs, const struct group *groups, uint32_t names)
{
    *runs = (struct runs){.at = nl_alloc(((size_t)names + 1) * sizeof *runs->at)};
    for (uint32_t i = 0; i < names; i++) {
        uint64_t *count = is_wide(&groups[i]) ? &runs->wide_count : &runs->narrow_count;
        runs->at[i] = *count;
        *count += groups[i].count;
        if (groups[i].count > runs->longest)
            runs->longest = groups[i].count;
    }
    runs->narrow_memory = nl_bigarray_take((runs->narrow_count + 1) * sizeof *runs->narrow);
    runs->wide_memory = nl_bigarray_take((runs->wide_count + 1) * sizeof *runs->wide);
    runs->narrow = runs->narrow_memory.memory;
    runs->wide = runs->wide_memory.memory;
}

static inline void scatter_row(const struct scan *scan, uint32_t row, struct runs *runs)
{
    uint32_t name = scan->trace->slice.name[row];
    int64_t dur = scan->trace->slice.dur[row];
    const struct group *group = &scan->groups[name];
    uint64_t at = runs->at[name]++;
    if (is_wide(group))
        runs->wide[at] = dur;
    else
        runs->narrow[at] = (uint32_t)((uint64_t)dur - (uint64_t)group->least);
}

static void scatter_range(const struct scan *scan, struct range range, struct runs *runs)
{
    for (uint32_t row = range.first; row < range.last; row++)
        if (row_wanted(scan, row))
            scatter_row(scan, row, runs);
}

static void scatter_list(const struct scan *scan, struct runs *runs)
{
    for (uint32_t i = 0; i < scan->list->rows; i++)
        if (nl_slice_listed(scan->list, &scan->trace->slice, scan->list->slices[i]))
            scatter_row(scan, scan->list->slices[i], runs);
}

static struct nl_group_stats start_stats(const struct group *group)
{
    return (struct nl_group_stats){.count = group->count,
                                   .total_ns = group->total,
                                   .min_ns = group->least,
                                   .max_ns = group->most,
                                   .median_ns = NL_NULL_F64,
                                   .p95_ns = NL_NULL_F64,
                                   .mean_ns = (double)group->total / (double)group->count,
                                   .stddev_ns = NL_NULL_F64};
}

/* Sample standard deviation around a mean that is exact to a rounding. */
static double spread(const uint32_t *distance, size_t count, double mean)
{
    double sum[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++) {
            double d = distance[i + k] - mean;
            sum[k] += d * d;
        }
    for (; i < count; i++)
        sum[0] += (distance[i] - mean) * (distance[i] - mean);
    return sqrt((sum[0] + sum[1] + sum[2] + sum[3]) / (double)(count - 1));
}

static struct nl_group_stats narrow_stats(const struct group *group, const uint32_t *distance,
                                          uint32_t *scratch)
{
    struct nl_group_stats stats = start_stats(group);
    size_t count = group->count;
    uint32_t most = (uint32_t)((uint64_t)group->most - (uint64_t)group->least);
    stats.median_ns =
        nl_quantile_u32(distance, count, group->least, most, nl_quantile_at(count, 50), scratch);
    stats.p95_ns =
        nl_quantile_u32(distance, count, group->least, most, nl_quantile_at(count, 95), scratch);
    if (count < 2)
        return stats;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += distance[i];
    stats.stddev_ns = spread(distance, count, (double)sum / (double)count);
    return stats;
}

static struct nl_group_stats wide_stats(const struct group *group, int64_t *values)
{
    struct nl_group_stats stats = start_stats(group);
    size_t count = group->count;
    nl_sort_i64(values, count);
    stats.median_ns = nl_quantile_sorted(values, nl_quantile_at(count, 50));
    stats.p95_ns = nl_quantile_sorted(values, nl_quantile_at(count, 95));
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((double)values[i] - stats.mean_ns) * ((double)values[i] - stats.mean_ns);
    if (count > 1)
        stats.stddev_ns = sqrt(sum / (double)(count - 1));
    return stats;
}

struct nl_group_stats nl_stats_of(int64_t *durations, size_t count)
{
    if (count == 0)
        return (struct nl_group_stats){.median_ns = NL_NULL_F64,
                                       .p95_ns = NL_NULL_F64,
                                       .mean_ns = NL_NULL_F64,
                                       .stddev_ns = NL_NULL_F64};
    struct group group = {.count = count, .least = durations[0], .most = durations[0]};
    for (size_t i = 0; i < count; i++) {
        group.least = durations[i] < group.least ? durations[i] : group.least;
        group.most = durations[i] > group.most ? durations[i] : group.most;
        group.total = nl_sum(group.total, durations[i]);
    }
    if (is_wide(&group))
        return wide_stats(&group, durations);
    uint32_t *distance = nl_alloc(2 * count * sizeof *distance);
    for (size_t i = 0; i < count; i++)
        distance[i] = (uint32_t)((uint64_t)durations[i] - (uint64_t)group.least);
    struct nl_group_stats stats = narrow_stats(&group, distance, distance + count);
    nl_free(distance);
    return stats;
}

static int by_total(const void *left, const void *right)
{
    const struct nl_group_stats *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* One row per name that occurs. */
static struct nl_group_stats *make_stats_table(const struct scan *scan, struct runs *runs,
                                               size_t *count)
{
    uint32_t names = scan->trace->names.count, *scratch;
    size_t rows = 0, used = 0;
    for (uint32_t i = 0; i < names; i++)
        used += scan->groups[i].count > 0;
    struct nl_group_stats *table = nl_alloc((used + 1) * sizeof *table);
    scratch = nl_alloc((runs->longest + 1) * sizeof *scratch);
    for (uint32_t i = 0; i < names; i++) {
        const struct group *group = &scan->groups[i];
        if (group->count == 0)
            continue;
        uint64_t from = runs->at[i] - group->count;
        table[rows] = is_wide(group) ? wide_stats(group, runs->wide + from)
                                     : narrow_stats(group, runs->narrow + from, scratch);
        table[rows++].name = i;
    }
    nl_free(scratch);
    qsort(table, rows, sizeof *table, by_total);
    *count = rows;
    return table;
}

static struct nl_group_stats *make_stats(struct scan *scan, size_t *count)
{
    const struct nl_trace *trace = scan->trace;
    scan->groups = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *scan->groups);
    for (size_t i = 0; i < scan->range_count; i++)
        count_range(scan, scan->ranges[i]);
    if (scan->list)
        count_list(scan);
    struct runs runs;
    lay_out(&runs, scan->groups, trace->names.count);
    for (size_t i = 0; i < scan->range_count; i++)
        scatter_range(scan, scan->ranges[i], &runs);
    if (scan->list)
        scatter_list(scan, &runs);
    struct nl_group_stats *table = make_stats_table(scan, &runs, count);
    nl_free(runs.at);
    nl_bigarray_free(&runs.narrow_memory);
    nl_bigarray_free(&runs.wide_memory);
    nl_free(scan->groups);
    nl_free(scan->ranges);
    return table;
}

struct nl_group_stats *nl_name_stats(const struct nl_trace *trace, const struct nl_window *window,
                                     unsigned kind, size_t *count)
{
    struct scan scan = {.trace = trace, .kind = kind};
    if (window && window->has_time) {
        scan.windowed = true;
        scan.start = window->start;
        scan.end = window->end;
    }
    find_ranges(&scan, window);
    return make_stats(&scan, count);
}

struct nl_group_stats *nl_list_stats(const struct nl_trace *trace, const struct nl_slice_list *list,
                                     size_t *count)
{
    struct scan scan = {.trace = trace, .list = list};
    return make_stats(&scan, count);
}
