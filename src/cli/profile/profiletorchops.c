/* Runs are the steps of the trace; an operator belongs to the run that it begins in. */
#define _GNU_SOURCE
#include "cli/profile/profiletorchops.h"

#include "base/search.h"

#include <stdlib.h>

struct span {
    int64_t start, end;
};

struct part {      /* one execution of an operator in a run */
    uint32_t name; /* of the trace */
    uint32_t run;
    int64_t self, whole; /* whole: 0 inside of another operator of that name */
};

struct group { /* of one name */
    uint32_t name;
    size_t count; /* executions in all runs */
    int64_t total;
    struct nl_median_range self, whole;
};

struct summing {
    const struct nl_trace *trace;
    struct span *runs;
    uint32_t run_count;
    int64_t *self; /* by row of ops; INT64_MIN = of no known length */
    struct part *parts;
    size_t part_count;
    struct group *groups;
    size_t group_count;
    int64_t *inside, *sums, *wholes; /* by run */
    int64_t total;
};

static int by_start(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void find_runs(struct summing *summing)
{
    const struct nl_step_table *step = &summing->trace->step;
    summing->runs = nl_alloc((step->rows + (size_t)1) * sizeof *summing->runs);
    for (uint32_t row = 0; row < step->rows; row++)
        if (step->dur[row] != NL_NULL_I64)
            summing->runs[summing->run_count++] =
                (struct span){step->ts[row], step->ts[row] + step->dur[row]};
    qsort(summing->runs, summing->run_count, sizeof *summing->runs, by_start);
}

/* NL_NULL_ROW if none contains `ts`. */
static uint32_t run_at(const struct summing *summing, int64_t ts)
{
    uint32_t low = NL_FIRST(i, 0, summing->run_count, summing->runs[i].start > ts);
    return low && ts <= summing->runs[low - 1].end ? low - 1 : NL_NULL_ROW;
}

/* The operator around a slice, or NL_NULL_ROW; ranges and calls of a driver may be between. */
static uint32_t operator_around(const struct nl_trace *trace, uint32_t slice)
{
    do
        slice = trace->slice.parent[slice];
    while (slice != NL_NULL_ROW && trace->slice.kind[slice] != NL_KIND_OP);
    return slice;
}

static bool inside_same_name(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t name = trace->slice.name[slice];
    for (uint32_t at = operator_around(trace, slice); at != NL_NULL_ROW;
         at = operator_around(trace, at))
        if (trace->slice.name[at] == name)
            return true;
    return false;
}

static void find_self_times(struct summing *summing)
{
    const struct nl_trace *trace = summing->trace;
    const struct nl_op_table *op = &trace->op;
    summing->self = nl_alloc((op->rows + (size_t)1) * sizeof *summing->self);
    for (uint32_t row = 0; row < op->rows; row++)
        summing->self[row] =
            op->slice[row] == NL_NULL_ROW ? NL_NULL_I64 : trace->slice.dur[op->slice[row]];
    for (uint32_t row = 0; row < op->rows; row++) {
        if (op->slice[row] == NL_NULL_ROW || trace->slice.dur[op->slice[row]] == NL_NULL_I64)
            continue;
        uint32_t around = operator_around(trace, op->slice[row]);
        uint32_t outer = around == NL_NULL_ROW ? NL_NULL_ROW : trace->slice.detail[around];
        if (outer < op->rows && summing->self[outer] != NL_NULL_I64)
            summing->self[outer] -= trace->slice.dur[op->slice[row]];
    }
}

static int by_name(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->run < b->run ? -1 : a->run > b->run;
}

static void find_parts(struct summing *summing)
{
    const struct nl_trace *trace = summing->trace;
    const struct nl_op_table *op = &trace->op;
    summing->parts = nl_alloc((op->rows + (size_t)1) * sizeof *summing->parts);
    for (uint32_t row = 0; row < op->rows; row++) {
        uint32_t slice = op->slice[row];
        uint32_t run = summing->self[row] == NL_NULL_I64 ? NL_NULL_ROW
                                                         : run_at(summing, trace->slice.ts[slice]);
        if (run == NL_NULL_ROW)
            continue;
        bool inner = inside_same_name(trace, slice);
        int64_t self = summing->self[row] > 0 ? summing->self[row] : 0;
        summing->parts[summing->part_count++] =
            (struct part){trace->slice.name[slice], run, self, inner ? 0 : trace->slice.dur[slice]};
        summing->inside[run] += self;
        summing->total += self;
    }
    qsort(summing->parts, summing->part_count, sizeof *summing->parts, by_name);
}

/* Runs in which the operator was not executed count as 0. */
static size_t sum_group(struct summing *summing, size_t first, struct group *group)
{
    size_t at = first;
    for (uint32_t run = 0; run < summing->run_count; run++)
        summing->sums[run] = summing->wholes[run] = 0;
    for (; at < summing->part_count && summing->parts[at].name == summing->parts[first].name;
         at++) {
        const struct part *part = &summing->parts[at];
        summing->sums[part->run] += part->self;
        summing->wholes[part->run] += part->whole;
        group->total += part->self;
    }
    group->name = summing->parts[first].name;
    group->count = at - first;
    group->self = nl_median_range_of(summing->sums, summing->run_count);
    group->whole = nl_median_range_of(summing->wholes, summing->run_count);
    return at;
}

static int by_total(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void find_groups(struct summing *summing)
{
    summing->groups = nl_zalloc((summing->part_count + 1) * sizeof *summing->groups);
    for (size_t at = 0; at < summing->part_count; summing->group_count++)
        at = sum_group(summing, at, &summing->groups[summing->group_count]);
    qsort(summing->groups, summing->group_count, sizeof *summing->groups, by_total);
}

static void add_group(struct nl_result *table, const struct summing *summing,
                      const struct group *group)
{
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_trace_name(summing->trace, group->name));
    cell[1] = nl_cell_i64((int64_t)group->count);
    cell[2] = nl_cell_i64(group->self.median);
    cell[3] = nl_cell_i64(group->whole.median);
    if (summing->total)
        cell[4] = nl_cell_f64((double)group->total / (double)summing->total);
    cell[5] = nl_cell_i64(group->self.low);
    cell[6] = nl_cell_i64(group->self.high);
}

struct nl_result *nl_profile_torch_operators(const struct nl_trace *trace,
                                             struct nl_median_range *inside)
{
    static const struct nl_result_column columns[] = {
        {"operator", NULL, NL_MEANS_TEXT},        {"count", NULL, NL_MEANS_COUNT},
        {"self_ns", "self per run", NL_MEANS_NS}, {"total_ns", "with callees", NL_MEANS_NS},
        {"share", NULL, NL_MEANS_SHARE},          {"self_low_ns", "95 % from", NL_MEANS_NS},
        {"self_high_ns", "to", NL_MEANS_NS}};
    struct nl_result *table =
        nl_result_new("operators", "Operators", columns, sizeof columns / sizeof columns[0]);
    struct summing summing = {.trace = trace};
    find_runs(&summing);
    int64_t *by_run = nl_zalloc(((size_t)summing.run_count + 1) * 3 * sizeof *by_run);
    summing.inside = by_run;
    summing.sums = by_run + summing.run_count;
    summing.wholes = summing.sums + summing.run_count;
    find_self_times(&summing);
    find_parts(&summing);
    find_groups(&summing);
    for (size_t i = 0; i < summing.group_count; i++)
        add_group(table, &summing, &summing.groups[i]);
    *inside = (struct nl_median_range){0};
    if (summing.part_count)
        *inside = nl_median_range_of(summing.inside, summing.run_count);
    nl_free(summing.runs);
    nl_free(summing.self);
    nl_free(summing.parts);
    nl_free(summing.groups);
    nl_free(by_run);
    return table;
}
