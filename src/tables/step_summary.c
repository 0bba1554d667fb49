/*
 * step_summary — length of the steady iterations, per rank: the distribution in one row.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/steptime.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "base/units.h"
#include "base/median.h"
#include "timeline/groupstats.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(min_ns, "min", NS)                                                                           \
    C(p50_ns, "p50", NS)                                                                           \
    C(p90_ns, "p90", NS)                                                                           \
    C(p95_ns, "p95", NS)                                                                           \
    C(p99_ns, "p99", NS)                                                                           \
    C(max_ns, "max", NS)                                                                           \
    C(mean_ns, "mean", NS)                                                                         \
    C(stddev_ns, "stddev", NS)                                                                     \
    C(excluded_steps, "excluded", COUNT)                                                           \
    C(method, NULL, TEXT)                                                                          \
    C(confidence, NULL, NUMBER)
NL_COLUMNS(COLUMNS);

/* `values`: lengths of the steady steps, reordered here; `excluded`: others of the window. */
static void step_summary_add_row(struct nl_result *result, const struct nl_step_group *group,
                                 int64_t *values, size_t count, size_t excluded)
{
    static const unsigned percents[] = {50, 90, 95, 99};
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(group->rank);
    cells[AT_count] = nl_cell_count(count);
    cells[AT_excluded_steps] = nl_cell_count(excluded);
    cells[AT_method] = nl_cell_static(nl_step_method_text(group->method));
    cells[AT_confidence] = nl_cell_f64(group->confidence);
    if (count == 0)
        return;
    nl_sort_i64(values, count);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        cells[4 + i] = nl_cell_percentile(values, count, percents[i]);
    struct nl_group_stats stats = nl_stats_of(values, count);
    cells[AT_total_ns] = nl_cell_i64(stats.total_ns);
    cells[AT_min_ns] = nl_cell_i64(stats.min_ns);
    cells[AT_max_ns] = nl_cell_i64(stats.max_ns);
    cells[AT_mean_ns] = nl_cell_f64(stats.mean_ns);
    cells[AT_stddev_ns] = nl_cell_f64(stats.stddev_ns);
}

/* What check and trend call step.p50. */
static void note_all_ranks(struct nl_result *result, const struct nl_found_steps *found,
                           const struct nl_window *window)
{
    size_t count;
    char text[NL_UNIT_TEXT];
    double *lengths = nl_step_lengths(found, window, NULL, NULL, &count);
    if (count) {
        int64_t p50 = nl_whole_i64(nl_median_f64(lengths, count));
        result->note = nl_arena_format(
            &result->arena,
            "%s; p50 of all ranks, a step being the mean of their n-th: %s (%" PRId64
            " ns, %zu steps)",
            result->note, nl_format_ns(text, p50), p50, count);
    }
    nl_free(lengths);
}

static struct nl_result *step_summary_run(const struct nl_trace *trace,
                                          const struct nl_analyze_options *options,
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
        size_t count = 0, excluded = 0;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &found->items[i];
            if (!nl_step_in_window(group, step, &options->window))
                continue;
            if (nl_step_is_steady(step))
                values[count++] = step->end - step->start;
            else
                excluded++;
        }
        if (count + excluded)
            step_summary_add_row(result, group, values, count, excluded);
    }
    nl_step_note(result, found);
    if (result->rows > 1)
        note_all_ranks(result, found, &options->window);
    nl_free(values);
    return result;
}

const struct nl_analysis nl_analysis_step_summary = {
    .name = "step_summary",
    .key = "step_summary",
    .title = "Step durations",
    .run = step_summary_run,
    .doc = "Per rank: number of steady iterations, the distribution of their durations, how many "
           "steps were excluded (warm-up, compile, last), how steps were found, and with what "
           "confidence. With several ranks, the note has the typical step of all: step.p50 of "
           "check and trend.",
};
