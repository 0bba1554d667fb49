/*
 * kernels — statistics per kernel name, the same rows as the SQL view kernel_summary with class
 * and share added.
 */
#include "analyze/answer.h"

static const struct nl_result_column columns[] = {
    {"name", "kernel", NL_MEANS_TEXT},
    {"class", NULL, NL_MEANS_TEXT},
    NL_STATS_COLUMNS,
};

/* Class per dictionary id. All kernels of a name have the class that the name gives. */
static uint8_t *classes_of(const struct nl_trace *trace)
{
    uint8_t *classes = nl_zalloc(trace->names.count + 1);
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        classes[trace->slice.name[trace->kernel.slice[row]]] = trace->kernel.class[row];
    return classes;
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    struct nl_group_stats *stats = nl_name_stats(trace, &options->window, NL_KIND_KERNEL, &count);
    uint8_t *classes = classes_of(trace);
    struct nl_result *result = NL_ANSWER_NEW("kernels", NULL, columns);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += stats[i].total_ns;
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_name(result, trace, stats[i].name);
        cells[1] = nl_answer_enum(NL_ENUM_class, classes[stats[i].name]);
        nl_answer_stats(&cells[2], &stats[i], whole);
    }
    nl_answer_settle(result, "total_ns");
    nl_free(classes);
    nl_free(stats);
    return result;
}

const struct nl_analysis nl_analysis_kernels = {
    .name = "kernels",
    .key = "kernels",
    .title = "Kernels by total time",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per kernel name: count, total, share of all kernel time, min, median, p95, max and "
           "sample standard deviation. Percentiles interpolate linearly between closest ranks.",
};
