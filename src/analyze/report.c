/*
 * report — see report.h. The plans are data; the sentences on top come from headline.c.
 */
#include "analyze/report.h"

#include "analyze/headline.h"

static const char *const analyze_plan[] = {
    "time_breakdown", "step_summary", "kernels",     "kernel_classes",
    "graphs",         "overlap",      "collectives", "copies",
    "memsets",        "launches",     "api",         "syncs",
    "streams",        "ops",          "layers",      "model_layers",
    "node_types",     "nvtx",         "python",      "cpu_samples",
    "threads",        "osrt",         "others",      "memory",
    "counters",       "steps",        "missing",     NULL};

static const char *const info_plan[] = {"files",  "devices", "events", "step_summary",
                                        "memory", "missing", NULL};

const struct nl_report_plan nl_report_plans[] = {
    {"analyze", "Analysis", analyze_plan, true},
    {"info", "Contents", info_plan, false},
    {NULL, NULL, NULL, false},
};

static const struct nl_report_plan *find_plan(const char *name)
{
    for (const struct nl_report_plan *plan = nl_report_plans; plan->name; plan++)
        if (!strcmp(plan->name, name))
            return plan;
    return NULL;
}

static size_t plan_length(const struct nl_report_plan *plan)
{
    size_t count = 0;
    while (plan->analyses[count])
        count++;
    return count;
}

struct nl_report *nl_report_new(const struct nl_trace *trace, const char *name,
                                const struct nl_analyze_options *options, struct nl_job *job,
                                struct nl_err *err)
{
    const struct nl_report_plan *plan = find_plan(name);
    if (!plan) {
        nl_fail(err, NL_USAGE, "no report is called '%s'", name);
        return NULL;
    }
    struct nl_analyze_options whole = *options; /* the sentences are about all rows */
    whole.limit = 0;
    struct nl_report *report = nl_zalloc(sizeof *report);
    size_t count = plan_length(plan);
    nl_arena_init(&report->arena);
    report->name = plan->name;
    report->title = plan->title;
    report->has_findings = plan->has_findings;
    report->results = nl_arena_alloc(&report->arena, count * sizeof *report->results);
    nl_job_phase(job, "analyzing", count);
    for (size_t i = 0; i < count; i++) {
        const struct nl_analysis *analysis = nl_analysis_find(plan->analyses[i]);
        if (!analysis)
            NL_BUG("a report plan names an unknown analysis");
        report->results[i] = nl_analysis_run(analysis, trace, &whole, job, err);
        if (!report->results[i]) {
            nl_report_free(report);
            return NULL;
        }
        report->result_count++;
        nl_job_add(job, 1);
    }
    nl_headlines(report, trace);
    for (size_t i = 0; i < count; i++)
        nl_analysis_cut(report->results[i], options->limit);
    return report;
}

void nl_report_free(struct nl_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->result_count; i++)
        nl_result_free(report->results[i]);
    nl_arena_free(&report->arena);
    nl_free(report);
}

const struct nl_result *nl_report_result(const struct nl_report *report, const char *name)
{
    const struct nl_analysis *analysis = nl_analysis_find(name);
    const char *key = analysis ? analysis->key : name;
    for (size_t i = 0; i < report->result_count; i++)
        if (!strcmp(report->results[i]->name, key))
            return report->results[i];
    return NULL;
}
