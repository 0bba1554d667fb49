/*
 * layer_times — how long one call of each layer takes, and how much that varies. The slowest is
 * reported among layers without layers inside: the whole model would always win.
 */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sort.h"
#include "timeline/groupstats.h"

#define MIN_CALLS 5u /* for "most variable" */

#define COLUMNS(C)                                                                                 \
    C(name, NULL, TEXT)                                                                            \
    C(inner, NULL, INTEGER)                                                                        \
    C(count, NULL, COUNT)                                                                          \
    C(mean_ns, "mean", NS)                                                                         \
    C(stddev_ns, "stddev", NS)                                                                     \
    C(variation, NULL, SHARE)                                                                      \
    C(min_ns, "min", NS)                                                                           \
    C(p50_ns, "p50", NS)                                                                           \
    C(p90_ns, "p90", NS)                                                                           \
    C(p95_ns, "p95", NS)                                                                           \
    C(p99_ns, "p99", NS)                                                                           \
    C(max_ns, "max", NS)
NL_COLUMNS(COLUMNS);

struct call {
    uint32_t name;
    int64_t dur;
};

static int by_name(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->dur < b->dur ? -1 : a->dur > b->dur;
}

/* Per name, 1: some module is inside one of these. */
static uint8_t *names_with_inner(const struct nl_trace *trace)
{
    const struct nl_slice_table *slice = &trace->slice;
    uint8_t *inner = nl_zalloc((size_t)trace->names.count + 1);
    for (uint32_t row = 0; row < trace->layer.rows; row++) {
        uint32_t above = slice->parent[trace->layer.slice[row]];
        while (above != NL_NULL_ROW && slice->kind[above] != NL_KIND_LAYER)
            above = slice->parent[above];
        if (above != NL_NULL_ROW)
            inner[slice->name[above]] = 1;
    }
    return inner;
}

static void layer_times_add_row(struct nl_result *result, const struct nl_trace *trace,
                                const struct call *calls, size_t count, bool inner)
{
    static const unsigned percents[] = {50, 90, 95, 99};
    struct nl_cell *cells = nl_result_row(result);
    int64_t *values = nl_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = calls[i].dur;
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        cells[AT_p50_ns + i] = nl_cell_percentile(values, count, percents[i]);
    struct nl_group_stats stats = nl_stats_of(values, count);
    cells[AT_name] = nl_cell_name(result, trace, calls[0].name);
    cells[AT_inner] = nl_cell_i64(inner);
    cells[AT_count] = nl_cell_count(count);
    cells[AT_mean_ns] = nl_cell_f64(stats.mean_ns);
    cells[AT_min_ns] = nl_cell_i64(stats.min_ns);
    cells[AT_max_ns] = nl_cell_i64(stats.max_ns);
    if (count > 1) {
        cells[AT_stddev_ns] = nl_cell_f64(stats.stddev_ns);
        if (stats.mean_ns > 0)
            cells[AT_variation] = nl_cell_f64(stats.stddev_ns / stats.mean_ns);
    }
    nl_free(values);
}

/* Calls that count, by name and length. */
static struct call *collect_calls(const struct nl_trace *trace,
                                  const struct nl_analyze_options *options, size_t *count)
{
    struct nl_scope scope;
    struct call *calls = nl_alloc(((size_t)trace->layer.rows + 1) * sizeof *calls);
    nl_scope_init(&scope, trace, &options->window);
    const struct nl_slice_list list = {trace->layer.slice, trace->layer.rows, scope.start,
                                       scope.end,          scope.lanes,       scope.everything};
    *count = 0;
    for (uint32_t row = 0; row < list.rows; row++) {
        uint32_t slice = list.slices[row];
        if (nl_slice_listed(&list, &trace->slice, slice))
            calls[(*count)++] = (struct call){trace->slice.name[slice], trace->slice.dur[slice]};
    }
    nl_scope_release(&scope);
    qsort(calls, *count, sizeof *calls, by_name);
    return calls;
}

/* A name's calls in the sorted array. */
struct run {
    const struct call *calls;
    size_t count;
    double mean;
};

static int by_mean(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    if (a->mean != b->mean)
        return a->mean > b->mean ? -1 : 1;
    return 0; /* settled later, by name */
}

/* nl_free them. */
static struct run *split(const struct call *calls, size_t count, size_t *runs)
{
    struct run *all = nl_alloc((count + 1) * sizeof *all);
    *runs = 0;
    for (size_t first = 0, end; first < count; first = end) {
        double sum = 0;
        for (end = first; end < count && calls[end].name == calls[first].name; end++)
            sum += (double)calls[end].dur;
        all[(*runs)++] = (struct run){&calls[first], end - first, sum / (double)(end - first)};
    }
    qsort(all, *runs, sizeof *all, by_mean);
    return all;
}

/* Rows are sorted by mean, so the slowest is the first without layers inside. */
static void tell_extremes(struct nl_result *result)
{
    const struct nl_cell *slowest = NULL, *varying = NULL;
    for (size_t row = 0; row < result->rows; row++) {
        const struct nl_cell *cells = nl_result_cell(result, row, 0);
        if (cells[AT_inner].i64)
            continue;
        slowest = slowest ? slowest : cells;
        if (cells[AT_count].i64 >= MIN_CALLS && cells[AT_variation].type == NL_CELL_F64 &&
            (!varying || cells[AT_variation].f64 > varying[AT_variation].f64))
            varying = cells;
    }
    if (!slowest)
        return;
    result->note = nl_arena_format(&result->arena, "slowest without layers inside: %.*s",
                                   (int)slowest[AT_name].text.len, slowest[AT_name].text.ptr);
    if (varying)
        result->note = nl_arena_format(
            &result->arena, "%s; most variable of at least %u calls: %.*s (%.0f %% of its mean)",
            result->note, MIN_CALLS, (int)varying[AT_name].text.len, varying[AT_name].text.ptr,
            100 * varying[AT_variation].f64);
}

static struct nl_result *layer_times_run(const struct nl_trace *trace,
                                         const struct nl_analyze_options *options,
                                         struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("layer_times", NULL, columns);
    size_t count, runs;
    struct call *calls = collect_calls(trace, options, &count);
    struct run *all = split(calls, count, &runs);
    uint8_t *inner = names_with_inner(trace);
    for (size_t i = 0; i < runs; i++)
        layer_times_add_row(result, trace, all[i].calls, all[i].count, inner[all[i].calls->name]);
    nl_result_settle(result, "mean_ns");
    tell_extremes(result);
    nl_free(inner);
    nl_free(all);
    nl_free(calls);
    return result;
}

const struct nl_analysis nl_analysis_layer_times = {
    .name = "layer_times",
    .key = "layer_times",
    .title = "Module call durations",
    .needs = {{NL_T_layer, NULL}},
    .need_count = 1,
    .run = layer_times_run,
    .doc = "Per module: calls, mean, sample standard deviation, variation (deviation / mean), "
           "extremes and percentiles of the duration of one call on the CPU, slowest first; "
           "`inner` is 1 if the module contains others.",
};
