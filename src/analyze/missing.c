/*
 * missing — what this profile cannot tell, because it was not recorded, and how to record it.
 *
 * The needs of the analyses say what is missing; advice[] says, per tool, how it is recorded. A
 * tool's column is NULL where the tool has no such thing or where its absence says nothing (a
 * single-process program has no collectives).
 */
#include "analyze/answer.h"

static const struct nl_result_column columns[] = {
    {"missing", NULL, NL_MEANS_TEXT},
    {"answers", "cannot tell", NL_MEANS_TEXT},
    {"format", "read as", NL_MEANS_TEXT},
    {"record", "record it with", NL_MEANS_TEXT},
};

struct advice {
    enum nl_table_id table;
    const char *column; /* NULL = the table itself */
    const char *nsys, *torch;
};

static const struct advice advices[] = {
    {NL_T_kernel, NULL, "nsys profile --trace=cuda",
     "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"},
    {NL_T_kernel, "correlation", "nsys profile --trace=cuda", NULL},
    {NL_T_api, NULL, "nsys profile --trace=cuda",
     "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"},
    {NL_T_nvtx, NULL,
     "nsys profile --trace=cuda,nvtx, and ranges in the program: torch.cuda.nvtx.range(\"...\") or "
     "torch.autograd.profiler.emit_nvtx()",
     "ranges in the program: torch.profiler.record_function(\"...\")"},
    {NL_T_op, NULL, NULL, /* nsys records operators as ranges */
     "torch.profiler.profile(activities=[ProfilerActivity.CPU, ...])"},
    {NL_T_step, NULL, "an NVTX range around each iteration: torch.cuda.nvtx.range(\"step\")",
     "torch.profiler.profile(schedule=...) and prof.step() after each iteration"},
    {NL_T_layer, NULL, NULL, "torch.profiler.profile(with_stack=True)"},
    {NL_T_python, NULL, "nsys profile --python-sampling=true (samples, not calls)",
     "torch.profiler.profile(with_stack=True)"},
    {NL_T_sync, NULL, NULL,
     "torch.profiler.profile(experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"
     ")"},
    {NL_T_memory, NULL, "nsys profile --cuda-memory-usage=true",
     "torch.profiler.profile(profile_memory=True)"},
    {NL_T_counter, NULL, "nsys profile --gpu-metrics-devices=all (older: --gpu-metrics-device=all)",
     NULL},
};

/* What the tool that wrote this format does to record it; NULL when there is no such thing, or the
 * tool is not known. */
static const char *record_with(const struct advice *advice, struct nl_str format)
{
    if (nl_str_is(format, "nsys"))
        return advice->nsys;
    return nl_str_is(format, "kineto") ? advice->torch : NULL;
}

/* Whether the trace has any work on a device: without it, only the CPU side can be missing. */
static bool is_device_table(enum nl_table_id table)
{
    return table == NL_T_api || table == NL_T_sync || table == NL_T_counter;
}

/* Names of the analyses whose first unmet need this is, joined by commas; NULL when none. */
static const char *unanswered(struct nl_result *result, const struct nl_trace *trace,
                              const struct advice *advice)
{
    const char *names = NULL;
    for (size_t i = 0; nl_analyses[i]; i++) {
        const struct nl_need *need = nl_analysis_lacks(nl_analyses[i], trace);
        if (!need || need->table != advice->table)
            continue;
        if (need->column ? !advice->column || strcmp(need->column, advice->column) != 0
                         : advice->column != NULL)
            continue;
        names = names ? nl_arena_format(&result->arena, "%s, %s", names, nl_analyses[i]->name)
                      : nl_analyses[i]->name;
    }
    return names;
}

/* The format is already among the rows for this advice. */
static bool is_said(const struct nl_result *result, size_t first_row, struct nl_str format)
{
    for (size_t row = first_row; row < result->rows; row++)
        if (nl_str_eq(nl_result_cell(result, row, 2)->text, format))
            return true;
    return false;
}

static void add_advice(struct nl_result *result, const struct nl_trace *trace,
                       const struct advice *advice)
{
    const char *names = unanswered(result, trace, advice);
    size_t first_row = result->rows;
    if (!names)
        return;
    for (uint32_t source = 0; source < trace->source.rows; source++) {
        struct nl_str format = nl_trace_name(trace, trace->source.format[source]);
        const char *record = record_with(advice, format);
        if (!record || is_said(result, first_row, format))
            continue;
        const char *table = nl_tables[advice->table].sql;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(
            advice->column ? nl_arena_format(&result->arena, "%s.%s", table, advice->column)
                           : table);
        cells[1] = nl_answer_static(names);
        cells[2] = nl_cell_text(result, format);
        cells[3] = nl_answer_static(record);
    }
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("missing", NULL, columns);
    bool device = trace->kernel.rows || trace->copy.rows || trace->memset.rows || trace->graph.rows;
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (device || !is_device_table(advices[i].table))
            add_advice(result, trace, &advices[i]);
    return result;
}

const struct nl_analysis nl_analysis_missing = {
    .name = "missing",
    .key = "missing",
    .title = "Not recorded, and how to record it",
    .run = run,
    .doc = "Tables (or columns) that hold nothing although an analysis needs them, the analyses "
           "that stay without an answer, and the option of the recording tool that fills them.",
};
