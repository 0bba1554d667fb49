/*
 * step_summary — length of the steady iterations, per rank: the distribution in one row.
 */
#include <stdlib.h>

#include "tables/answer.h"
#include "tables/memo.h"
#include "tables/steptime.h"
#include "base/sort.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},     {"count", NULL, NL_MEANS_COUNT},
    {"total_ns", "total", NL_MEANS_NS},   {"min_ns", "min", NL_MEANS_NS},
    {"p50_ns", "p50", NL_MEANS_NS},       {"p90_ns", "p90", NL_MEANS_NS},
    {"p95_ns", "p95", NL_MEANS_NS},       {"p99_ns", "p99", NL_MEANS_NS},
    {"max_ns", "max", NL_MEANS_NS},       {"mean_ns", "mean", NL_MEANS_NS},
    {"stddev_ns", "stddev", NL_MEANS_NS}, {"apart", "excluded", NL_MEANS_COUNT},
    {"method", NULL, NL_MEANS_TEXT},      {"confidence", NULL, NL_MEANS_NUMBER},
};

/* `values`: lengths of the steady steps, reordered here; `apart` others of the window. */
static void add_row(struct nl_result *result, const struct nl_step_group *group, int64_t *values,
                    size_t count, size_t apart)
{
    static const unsigned percents[] = {50, 90, 95, 99};
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(group->rank);
    cells[1] = nl_answer_count(count);
    cells[11] = nl_answer_count(apart);
    cells[12] = nl_answer_static(nl_step_method_text(group->method));
    cells[13] = nl_cell_f64(group->confidence);
    if (count == 0)
        return;
    nl_sort_i64(values, count);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        cells[4 + i] = nl_answer_percentile(values, count, percents[i]);
    struct nl_group_stats stats = nl_stats_of(values, count);
    cells[2] = nl_cell_i64(stats.total_ns);
    cells[3] = nl_cell_i64(stats.min_ns);
    cells[8] = nl_cell_i64(stats.max_ns);
    cells[9] = nl_cell_f64(stats.mean_ns);
    cells[10] = nl_cell_f64(stats.stddev_ns);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)trace;
    (void)job;
    (void)err;
    const struct nl_found_steps *found = nl_memo_steps(options->memo);
    int64_t *values = nl_alloc((found->count + 1) * sizeof *values);
    struct nl_result *result = NL_ANSWER_NEW("step_summary", NULL, columns);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        size_t count = 0, apart = 0;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &found->items[i];
            if (!nl_step_in_window(group, step, &options->window))
                continue;
            if (step->phase == NL_STEP_STEADY)
                values[count++] = step->end - step->start;
            else
                apart++;
        }
        if (count + apart)
            add_row(result, group, values, count, apart);
    }
    nl_step_note(result, found);
    nl_free(values);
    return result;
}

const struct nl_analysis nl_analysis_step_summary = {
    .name = "step_summary",
    .key = "step_summary",
    .title = "Length of the steps",
    .run = run,
    .doc = "Per rank: number of steady iterations and the distribution of their lengths, how many "
           "were excluded as warm-up or compile, how they are known (steps) and how sure that is.",
};
