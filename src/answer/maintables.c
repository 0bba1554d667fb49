/* Which tables an answer of each class is about: see maintables.h. */
#include "answer/maintables.h"

#include <string.h>

#define CHOICES 6 /* with a NULL at the end */

static const struct choice {
    enum nl_verdict_class class;
    const char *tables[CHOICES]; /* the first two with rows are shown */
} choices[] = {
    {NL_VERDICT_COMPUTE, {"kernels", "kernel_categories", "op_gpu", "model_layers", "call_sums"}},
    {NL_VERDICT_MEMORY, {"kernels", "kernel_categories", "op_gpu"}},
    {NL_VERDICT_COMMUNICATION, {"collectives", "overlap", "kernels"}},
    {NL_VERDICT_COPY, {"copies", "nvtx_gpu", "kernels"}},
    {NL_VERDICT_LAUNCH, {"idle_causes", "kernels", "ops"}},
    {NL_VERDICT_INPUT, {"idle_causes", "step_parts", "kernels"}},
    {NL_VERDICT_SYNC, {"idle_causes", "syncs", "api"}},
    {NL_VERDICT_STARTUP, {"idle_causes", "api", "nvtx", "ops"}},
    {NL_VERDICT_HOST, {"idle_causes", "idle_gaps", "ops", "nvtx"}},
    {NL_VERDICT_IDLE, {"idle_gaps", "kernels", "python", "cpu_samples", "others"}},
    {NL_VERDICT_CPU_ONLY, {"ops", "python", "cpu_samples", "nvtx", "others"}},
    {NL_VERDICT_MEMORY_SNAPSHOT, {"memory"}},
    {NL_VERDICT_COUNTERS, {"kernel_counters", "kernels", "counters"}},
    {NL_VERDICT_HANG, {NULL}},
    {NL_VERDICT_NONE, {NULL}},
};

const char *const *nl_main_table_names(enum nl_verdict_class class)
{
    static const char *const none[CHOICES];
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].class == class)
            return choices[i].tables;
    return none;
}

/* What a kernel profiler measured has the same kernels and times as the table of kernels. */
static bool is_said(const struct nl_result *const *tables, size_t count, const char *name)
{
    return count && !strcmp(tables[0]->name, "kernel_counters") && !strcmp(name, "kernels");
}

/* A table whose first row is all there is repeats the sentence. */
size_t nl_report_main_tables(const struct nl_report *report,
                             const struct nl_result *tables[NL_MAIN_TABLES])
{
    size_t count = 0;
    for (const char *const *name = nl_main_table_names(report->verdict->class);
         *name && count < NL_MAIN_TABLES; name++) {
        const struct nl_result *result = nl_report_result(report, *name);
        if (result && result->rows && !is_said(tables, count, *name))
            tables[count++] = result;
    }
    return count;
}
