/*
 * step_summary — length of the marked iterations, per rank: the distribution in one row.
 */
#include <stdlib.h>

#include "analyze/answer.h"
#include "analyze/scope.h"
#include "base/sort.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},     {"count", NULL, NL_MEANS_COUNT},
    {"total_ns", "total", NL_MEANS_NS},   {"min_ns", "min", NL_MEANS_NS},
    {"p50_ns", "p50", NL_MEANS_NS},       {"p90_ns", "p90", NL_MEANS_NS},
    {"p95_ns", "p95", NL_MEANS_NS},       {"p99_ns", "p99", NL_MEANS_NS},
    {"max_ns", "max", NL_MEANS_NS},       {"mean_ns", "mean", NL_MEANS_NS},
    {"stddev_ns", "stddev", NL_MEANS_NS},
};

struct length {
    int64_t rank, dur;
};

static int by_rank(const void *left, const void *right)
{
    const struct length *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->dur < b->dur ? -1 : a->dur > b->dur;
}

static void add_row(struct nl_result *result, const struct length *lengths, size_t count)
{
    static const unsigned percents[] = {50, 90, 95, 99};
    int64_t *values = nl_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = lengths[i].dur; /* ascending already */
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(lengths[0].rank);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        cells[4 + i] = nl_answer_percentile(values, count, percents[i]);
    struct nl_group_stats stats = nl_stats_of(values, count);
    cells[1] = nl_answer_count(stats.count);
    cells[2] = nl_cell_i64(stats.total_ns);
    cells[3] = nl_cell_i64(stats.min_ns);
    cells[8] = nl_cell_i64(stats.max_ns);
    cells[9] = nl_cell_f64(stats.mean_ns);
    cells[10] = nl_cell_f64(stats.stddev_ns);
    nl_free(values);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_step_table *step = &trace->step;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct length *lengths = nl_alloc((step->rows + (size_t)1) * sizeof *lengths);
    size_t count = 0;
    for (uint32_t row = 0; row < step->rows; row++) {
        uint32_t lane = step->lane[row];
        if (step->dur[row] == NL_NULL_I64 || !nl_scope_moment(&scope, lane, step->ts[row]))
            continue;
        lengths[count].rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane);
        lengths[count++].dur = step->dur[row];
    }
    qsort(lengths, count, sizeof *lengths, by_rank);
    struct nl_result *result = NL_ANSWER_NEW("step_summary", NULL, columns);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && lengths[next].rank == lengths[first].rank;)
            next++;
        add_row(result, &lengths[first], next - first);
    }
    nl_free(lengths);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_step_summary = {
    .name = "step_summary",
    .key = "step_summary",
    .title = "Length of the steps",
    .needs = {{NL_T_step, NULL}},
    .need_count = 1,
    .run = run,
    .doc =
        "Per rank: number of marked iterations and the distribution of their lengths. All marked "
        "steps count, warm-up included.",
};
