/*
 * kernels — statistics per kernel name, the same rows as the SQL view kernel_summary with share and
 * what the name tells added: class, category, tensor cores, element type.
 */
#include "analyze/answer.h"

static const struct nl_result_column columns[] = {
    {"name", "kernel", NL_MEANS_TEXT},
    {"class", NULL, NL_MEANS_TEXT},
    {"category", NULL, NL_MEANS_TEXT},
    NL_STATS_COLUMNS,
    {"tensor_core", "tensor core", NL_MEANS_TEXT},
    {"dtype", NULL, NL_MEANS_TEXT},
};

/* One kernel of each name, by dictionary id: what a name tells is the same for all of them. */
static uint32_t *examples_of(const struct nl_trace *trace)
{
    uint32_t *examples = nl_zalloc((trace->names.count + 1) * sizeof *examples);
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        examples[trace->slice.name[trace->kernel.slice[row]]] = row;
    return examples;
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    struct nl_group_stats *stats = nl_name_stats(trace, &options->window, NL_KIND_KERNEL, &count);
    const struct nl_kernel_table *kernel = &trace->kernel;
    uint32_t *examples = examples_of(trace);
    struct nl_result *result = NL_ANSWER_NEW("kernels", NULL, columns);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += stats[i].total_ns;
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_name(result, trace, stats[i].name);
        uint32_t example = examples[stats[i].name];
        cells[1] = nl_answer_enum(NL_ENUM_class, kernel->class[example]);
        cells[2] = nl_answer_enum(NL_ENUM_category, kernel->category[example]);
        nl_answer_stats(&cells[3], &stats[i], whole);
        cells[3 + NL_STATS_COUNT] =
            nl_answer_enum(NL_ENUM_tensorcore, kernel->tensor_core[example]);
        cells[4 + NL_STATS_COUNT] = nl_answer_name(result, trace, kernel->dtype[example]);
    }
    nl_answer_settle(result, "total_ns");
    nl_free(examples);
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
           "sample standard deviation, and what the name tells (docs/kernels.md). Percentiles "
           "interpolate linearly between closest ranks.",
};
