/*
 * missing — what this profile cannot tell, because it was not recorded, and how to record it.
 *
 * The needs of the analyses say what is missing; advices[] says, per tool, how it is recorded. A
 * tool has no row where it has no such thing or where its absence says nothing (a single-process
 * program has no collectives).
 */
#include "analyze/answer.h"

#include <string.h>

static const struct nl_result_column columns[] = {
    {"missing", NULL, NL_MEANS_TEXT},
    {"answers", "cannot tell", NL_MEANS_TEXT},
    {"format", "read as", NL_MEANS_TEXT},
    {"record", "record it with", NL_MEANS_TEXT},
};

#define TORCH_GPU "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
#define ROCPROFV3 "rocprof rocpd rocprofv3"
#define NSYS_RANGES                                                                                \
    "nsys profile --trace=cuda,nvtx, and ranges in the program: "                                  \
    "torch.cuda.nvtx.range(\"...\") or torch.autograd.profiler.emit_nvtx()"
#define TORCH_SYNCS                                                                                \
    "torch.profiler.profile("                                                                      \
    "experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True))"

/* In the order of the answer: by table, a row per tool. */
static const struct advice {
    enum nl_table_id table;
    const char *column;  /* NULL = the table itself */
    const char *formats; /* what the tool writes, names between blanks */
    const char *record;
} advices[] = {
    {NL_T_kernel, NULL, "nsys", "nsys profile --trace=cuda"},
    {NL_T_kernel, NULL, "kineto", TORCH_GPU},
    {NL_T_kernel, NULL, ROCPROFV3, "rocprofv3 --kernel-trace"},
    {NL_T_kernel, "correlation", "nsys", "nsys profile --trace=cuda"},
    {NL_T_copy, NULL, ROCPROFV3, "rocprofv3 --memory-copy-trace"},
    {NL_T_api, NULL, "nsys", "nsys profile --trace=cuda"},
    {NL_T_api, NULL, "kineto", TORCH_GPU},
    {NL_T_api, NULL, ROCPROFV3, "rocprofv3 --hip-trace"},
    {NL_T_api, NULL, "nvprof-csv", "nvprof --print-api-trace"},
    {NL_T_nvtx, NULL, "nsys", NSYS_RANGES},
    {NL_T_nvtx, NULL, "kineto", "ranges in the program: torch.profiler.record_function(\"...\")"},
    {NL_T_nvtx, NULL, ROCPROFV3,
     "rocprofv3 --marker-trace, and ranges in the program: roctxRangePush(\"...\")"},
    {NL_T_nvtx, NULL, "nvprof", "ranges in the program: nvtxRangePushA(\"...\")"},
    {NL_T_nvtx, NULL, "nvprof-csv",
     "nvprof --export-profile FILE (logs have none), and ranges in the program: "
     "nvtxRangePushA(\"...\")"},
    {NL_T_nvtx, NULL, "rpd", "ranges in the program: roctxRangePush(\"...\")"},
    {NL_T_op, NULL, "kineto", "torch.profiler.profile(activities=[ProfilerActivity.CPU, ...])"},
    {NL_T_step, NULL, "nsys",
     "an NVTX range around each iteration: torch.cuda.nvtx.range(\"step\")"},
    {NL_T_step, NULL, "kineto",
     "torch.profiler.profile(schedule=...) and prof.step() after each iteration"},
    {NL_T_layer, NULL, "kineto", "torch.profiler.profile(with_stack=True)"},
    {NL_T_python, NULL, "nsys", "nsys profile --python-sampling=true (samples, not calls)"},
    {NL_T_python, NULL, "kineto", "torch.profiler.profile(with_stack=True)"},
    {NL_T_sync, NULL, "kineto", TORCH_SYNCS},
    {NL_T_sync, NULL, "nvprof-csv", "nvprof --export-profile FILE (logs have none)"},
    {NL_T_memory, NULL, "nsys", "nsys profile --cuda-memory-usage=true"},
    {NL_T_memory, NULL, "kineto", "torch.profiler.profile(profile_memory=True)"},
    {NL_T_memory, NULL, ROCPROFV3, "rocprofv3 --memory-allocation-trace"},
    {NL_T_counter, NULL, "nsys",
     "nsys profile --gpu-metrics-devices=all (older: --gpu-metrics-device=all)"},
};

static bool is_for(const struct advice *advice, struct nl_str format)
{
    for (const char *at = advice->formats; *at; at += *at == ' ') {
        size_t len = strcspn(at, " ");
        if (nl_str_eq(format, (struct nl_str){at, len}))
            return true;
        at += len;
    }
    return false;
}

/* Whether the trace has any work on a device: without it, only the CPU side can be missing. */
static bool is_device_table(enum nl_table_id table)
{
    return table == NL_T_copy || table == NL_T_api || table == NL_T_sync || table == NL_T_counter;
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
        if (!is_for(advice, format) || is_said(result, first_row, format))
            continue;
        const char *table = nl_tables[advice->table].sql;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(
            advice->column ? nl_arena_format(&result->arena, "%s.%s", table, advice->column)
                           : table);
        cells[1] = nl_answer_static(names);
        cells[2] = nl_cell_text(result, format);
        cells[3] = nl_answer_static(advice->record);
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
