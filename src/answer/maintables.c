/* maintables — which tables an answer is about (nl_report_main_tables, see report.h). */
#include "answer/report.h"

#define CHOICES 5

static const struct choice {
    enum nl_verdict_class class;
    const char *tables[CHOICES]; /* the first two with rows are shown */
} choices[] = {
    {NL_VERDICT_COMPUTE, {"kernels", "kernel_categories", "op_gpu", "model_layers", "call_sums"}},
    {NL_VERDICT_MEMORY, {"kernels", "kernel_categories", "op_gpu", NULL}},
    {NL_VERDICT_COMMUNICATION, {"collectives", "overlap", "kernels", NULL}},
    {NL_VERDICT_COPY, {"copies", "nvtx_gpu", "kernels", NULL}},
    {NL_VERDICT_LAUNCH, {"idle_causes", "kernels", "ops", NULL}},
    {NL_VERDICT_INPUT, {"idle_causes", "step_parts", "kernels", NULL}},
    {NL_VERDICT_SYNC, {"idle_causes", "syncs", "api", NULL}},
    {NL_VERDICT_STARTUP, {"idle_causes", "api", "nvtx", "ops", NULL}},
    {NL_VERDICT_HOST, {"idle_causes", "idle_gaps", "ops", "nvtx", NULL}},
    {NL_VERDICT_IDLE, {"idle_gaps", "kernels", "python", "cpu_samples", "others"}},
    {NL_VERDICT_CPU_ONLY, {"ops", "python", "cpu_samples", "nvtx", "others"}},
    {NL_VERDICT_MEMORY_SNAPSHOT, {"memory", NULL}},
    {NL_VERDICT_COUNTERS, {"kernel_counters", "kernels", "counters", NULL}},
    {NL_VERDICT_HANG, {NULL}},
    {NL_VERDICT_NONE, {NULL}},
};

/* A table whose first row is all there is repeats the sentence. */
size_t nl_report_main_tables(const struct nl_report *report,
                             const struct nl_result *tables[NL_MAIN_TABLES])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (choices[i].class != report->verdict->class)
            continue;
        for (size_t t = 0; t < CHOICES && choices[i].tables[t] && count < NL_MAIN_TABLES; t++) {
            const struct nl_result *result = nl_report_result(report, choices[i].tables[t]);
            if (result && result->rows)
                tables[count++] = result;
        }
    }
    return count;
}
