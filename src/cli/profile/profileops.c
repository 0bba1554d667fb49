/* Nodes of counted runs, grouped; medians by order statistics as for whole runs. */
#define _GNU_SOURCE
#include "cli/profile/profileops.h"

#include "base/search.h"

#include <stdlib.h>

/* ---- whole runs ---- */

static struct nl_median_range range_of(const struct ort_run *runs, size_t count)
{
    struct nl_median_range range = {0};
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = runs[i].dur_ns;
    if (count)
        range = nl_median_range_of(values, count);
    nl_free(values);
    return range;
}

struct nl_profile_latency nl_profile_latency_of(const struct ort_outcome *outcome)
{
    struct nl_profile_latency latency = {.plain = range_of(outcome->plain, outcome->plain_count),
                                         .profiled =
                                             range_of(outcome->profiled, outcome->profiled_count)};
    latency.cost_ns = latency.profiled.median - latency.plain.median;
    return latency;
}

void nl_profile_add_range(struct nl_result *table, const char *what,
                          const struct nl_median_range *range)
{
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_str(what));
    cell[1] = nl_cell_i64((int64_t)range->count);
    cell[2] = nl_cell_i64(range->median);
    cell[3] = nl_cell_i64(range->low);
    cell[4] = nl_cell_i64(range->high);
    cell[5] = nl_cell_i64(range->lowest);
    cell[6] = nl_cell_i64(range->highest);
}

struct nl_result *nl_profile_runs_table(void)
{
    static const struct nl_result_column columns[] = {
        {"run", NULL, NL_MEANS_TEXT},          {"count", "runs", NL_MEANS_COUNT},
        {"median_ns", "median", NL_MEANS_NS},  {"median_low_ns", "95 % from", NL_MEANS_NS},
        {"median_high_ns", "to", NL_MEANS_NS}, {"min_ns", "min", NL_MEANS_NS},
        {"max_ns", "max", NL_MEANS_NS}};
    return nl_result_new("latency", "Latency of a run", columns,
                         sizeof columns / sizeof columns[0]);
}

struct nl_result *nl_profile_latency_table(const struct nl_profile_latency *latency)
{
    struct nl_result *table = nl_profile_runs_table();
    nl_profile_add_range(table, "without the profiler", &latency->plain);
    nl_profile_add_range(table, "with the profiler", &latency->profiled);
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_str("difference"));
    cell[2] = nl_cell_i64(latency->cost_ns);
    if (latency->inside.count)
        nl_profile_add_range(table, "operators of a run", &latency->inside);
    return table;
}

/* ---- operators ---- */

struct span {
    int64_t start, end, inside; /* inside: sum of its nodes */
    bool counts;
};

struct part {      /* one execution of a node */
    uint32_t node; /* row of its first execution, which stands for it */
    int64_t dur;
};

struct group {
    uint32_t node;
    size_t first, count; /* of its executions in `durs` */
    int64_t total;
    struct nl_median_range range; /* of one execution */
    int64_t typical; /* median times count: one execution that lost its processor does not count */
};

struct grouping {
    const struct nl_trace *trace;
    struct span *spans;
    size_t span_count;
    struct part *parts;
    size_t part_count;
    struct group *groups;
    size_t group_count;
    int64_t *durs;
    int64_t typical; /* of all groups */
};

static int by_start(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* The profiled session's runs; those of the warm-up and at a block's begin do not count. */
static void find_spans(struct grouping *grouping, const struct ort_outcome *outcome)
{
    const struct nl_step_table *step = &grouping->trace->step;
    grouping->spans = nl_zalloc((step->rows + (size_t)1) * sizeof *grouping->spans);
    grouping->span_count = step->rows;
    for (uint32_t row = 0; row < step->rows; row++)
        grouping->spans[row] =
            (struct span){.start = step->ts[row], .end = step->ts[row] + step->dur[row]};
    qsort(grouping->spans, step->rows, sizeof *grouping->spans, by_start);
    for (uint32_t i = 0; i < outcome->profiled_count; i++)
        if (outcome->profiled_at[i] < step->rows)
            grouping->spans[outcome->profiled_at[i]].counts = true;
}

/* The counted run that contains `ts`, or NULL. */
static struct span *counted_run(const struct grouping *grouping, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, grouping->span_count, grouping->spans[i].start > ts);
    struct span *span = low ? &grouping->spans[low - 1] : NULL;
    return span && span->counts && ts <= span->end ? span : NULL;
}

/* By name and index: names of nodes need not differ. Then by length, for the medians. */
static int by_node(const void *x, const void *y, void *context)
{
    const struct part *a = x, *b = y;
    const struct nl_node_table *node = context;
    if (node->name[a->node] != node->name[b->node])
        return node->name[a->node] < node->name[b->node] ? -1 : 1;
    if (node->index[a->node] != node->index[b->node])
        return node->index[a->node] < node->index[b->node] ? -1 : 1;
    return a->dur < b->dur ? -1 : a->dur > b->dur;
}

static void find_parts(struct grouping *grouping)
{
    const struct nl_trace *trace = grouping->trace;
    const struct nl_node_table *node = &trace->node;
    grouping->parts = nl_alloc((node->rows + (size_t)1) * sizeof *grouping->parts);
    for (uint32_t row = 0; row < node->rows; row++) {
        uint32_t slice = node->slice[row];
        if (slice == NL_NULL_ROW || trace->slice.dur[slice] == NL_NULL_I64)
            continue;
        struct span *span = counted_run(grouping, trace->slice.ts[slice]);
        if (!span)
            continue;
        span->inside += trace->slice.dur[slice];
        grouping->parts[grouping->part_count++] = (struct part){row, trace->slice.dur[slice]};
    }
    qsort_r(grouping->parts, grouping->part_count, sizeof *grouping->parts, by_node,
            (void *)(uintptr_t)node);
}

static bool same_node(const struct grouping *grouping, uint32_t a, uint32_t b)
{
    const struct nl_node_table *node = &grouping->trace->node;
    return node->name[a] == node->name[b] && node->index[a] == node->index[b];
}

static void find_groups(struct grouping *grouping)
{
    size_t count = grouping->part_count;
    grouping->groups = nl_alloc((count + 1) * sizeof *grouping->groups);
    grouping->durs = nl_alloc((count + 1) * sizeof *grouping->durs);
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &grouping->parts[i];
        struct group *group = &grouping->groups[grouping->group_count];
        if (!grouping->group_count || !same_node(grouping, group[-1].node, part->node))
            grouping->groups[grouping->group_count++] =
                (struct group){.node = part->node, .first = i};
        group = &grouping->groups[grouping->group_count - 1];
        group->count++;
        group->total += part->dur;
        grouping->durs[i] = part->dur;
    }
    for (size_t i = 0; i < grouping->group_count; i++) {
        struct group *group = &grouping->groups[i];
        group->range = nl_median_range_of(grouping->durs + group->first, group->count);
        group->typical = group->range.median * (int64_t)group->count;
        grouping->typical += group->typical;
    }
}

static struct nl_median_range inside_of(const struct grouping *grouping)
{
    struct nl_median_range range = {0};
    int64_t *sums = nl_alloc((grouping->span_count + 1) * sizeof *sums);
    size_t count = 0;
    for (size_t i = 0; i < grouping->span_count; i++)
        if (grouping->spans[i].counts)
            sums[count++] = grouping->spans[i].inside;
    if (count)
        range = nl_median_range_of(sums, count);
    nl_free(sums);
    return range;
}

static int by_typical(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    if (a->typical != b->typical)
        return a->typical > b->typical ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void add_group(struct nl_result *table, const struct grouping *grouping,
                      const struct group *group)
{
    const struct nl_trace *trace = grouping->trace;
    const struct nl_node_table *node = &trace->node;
    struct nl_median_range range = group->range;
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_trace_name(trace, node->name[group->node]));
    if (node->type[group->node] != NL_NO_NAME)
        cell[1] = nl_cell_text(table, nl_trace_name(trace, node->type[group->node]));
    if (node->provider[group->node] != NL_NO_NAME)
        cell[8] = nl_cell_text(table, nl_trace_name(trace, node->provider[group->node]));
    cell[2] = nl_cell_i64((int64_t)group->count);
    cell[3] = nl_cell_i64(range.median);
    cell[4] = nl_cell_f64((double)group->total / (double)group->count);
    if (grouping->typical)
        cell[5] = nl_cell_f64((double)group->typical / (double)grouping->typical);
    cell[6] = nl_cell_i64(range.low);
    cell[7] = nl_cell_i64(range.high);
}

struct nl_result *nl_profile_operators(const struct nl_trace *trace,
                                       const struct ort_outcome *outcome,
                                       struct nl_median_range *inside)
{
    static const struct nl_result_column columns[] = {{"node", NULL, NL_MEANS_TEXT},
                                                      {"type", NULL, NL_MEANS_TEXT},
                                                      {"count", NULL, NL_MEANS_COUNT},
                                                      {"median_ns", "median", NL_MEANS_NS},
                                                      {"mean_ns", "mean", NL_MEANS_NS},
                                                      {"share", NULL, NL_MEANS_SHARE},
                                                      {"median_low_ns", "95 % from", NL_MEANS_NS},
                                                      {"median_high_ns", "to", NL_MEANS_NS},
                                                      {"provider", NULL, NL_MEANS_TEXT}};
    struct grouping grouping = {.trace = trace};
    struct nl_result *table =
        nl_result_new("operators", "Operators", columns, sizeof columns / sizeof columns[0]);
    find_spans(&grouping, outcome);
    find_parts(&grouping);
    find_groups(&grouping);
    qsort(grouping.groups, grouping.group_count, sizeof *grouping.groups, by_typical);
    for (size_t i = 0; i < grouping.group_count; i++)
        add_group(table, &grouping, &grouping.groups[i]);
    *inside = inside_of(&grouping);
    if (trace->step.rows < outcome->session_runs)
        table->note = nl_arena_format(&table->arena,
                                      "ONNX Runtime kept %u of %u profiled runs: it stops at "
                                      "1,000,000 events; ask for fewer with --profiled-runs",
                                      trace->step.rows, outcome->session_runs);
    nl_free(grouping.spans);
    nl_free(grouping.parts);
    nl_free(grouping.groups);
    nl_free(grouping.durs);
    return table;
}
