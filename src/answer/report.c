/*
 * report — see report.h. The plans are data; the sentences on top come from headline.c.
 */
#include "answer/report.h"
#include "answer/maintables.h"

#include "findings/recordadvice.h"
#include "answer/headline.h"
#include "answer/verdict.h"
#include "tables/memo.h"
#include "base/pool.h"

#include <limits.h>

static const char *const analyze_plan[] = {"time_breakdown",
                                           "account",
                                           "idle",
                                           "idle_causes",
                                           "idle_gaps",
                                           "step_summary",
                                           "step_parts",
                                           "kernels",
                                           "kernel_classes",
                                           "kernel_categories",
                                           "kernel_counters",
                                           "kernel_lines",
                                           "graphs",
                                           "overlap",
                                           "overlap_matrix",
                                           "collectives",
                                           "copies",
                                           "memsets",
                                           "launches",
                                           "queue",
                                           "small_kernels",
                                           "calls",
                                           "api",
                                           "syncs",
                                           "streams",
                                           "ops",
                                           "op_gpu",
                                           "op_tree",
                                           "compiled_regions",
                                           "layers",
                                           "layer_times",
                                           "layer_gpu",
                                           "layer_tree",
                                           "model_layers",
                                           "node_types",
                                           "compiled_operators",
                                           "compute",
                                           "efficiency",
                                           "roofline",
                                           "layer_efficiency",
                                           "step_efficiency",
                                           "op_work",
                                           "phases_llm",
                                           "bus_bandwidth",
                                           "nvtx",
                                           "nvtx_gpu",
                                           "nvtx_tree",
                                           "python",
                                           "python_tree",
                                           "cpu_samples",
                                           "call_sums",
                                           "threads",
                                           "osrt",
                                           "others",
                                           "memory",
                                           "counters",
                                           "step_breakdown",
                                           "steps",
                                           "bandwidth",
                                           "recording_cost",
                                           "missing",
                                           NULL};

static const char *const info_plan[] = {"files",  "devices",        "events",  "step_summary",
                                        "memory", "recording_cost", "missing", NULL};

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

/* What a brief report has whatever the answer is, and what most answers read: made in parallel with
 * the findings, long ones first, which also make what findings need later. */
static const char *const brief_ones[] = {"compute", "op_gpu",       "time_breakdown",    "missing",
                                         "kernels", "step_summary", "kernel_categories", NULL};

/* Schedules long analyses first, and those that share the idle-time result with the findings last,
 * so that workers neither idle nor block each other. */
static const char *const long_ones[] = {
    "op_gpu",         "ops",        "op_tree", "nvtx_gpu", "queue", "launches",
    "overlap_matrix", "step_parts", "nvtx",    "others",   "api",   NULL};
static const char *const of_idle_time[] = {"idle",  "idle_causes", "idle_gaps",
                                           "calls", "account",     NULL};

/* The tasks of one report: the findings, which take longest, then an analysis each. They only read
 * the trace and write their own result. */
struct nl_report_run {
    const struct nl_trace *trace;
    const struct nl_report_plan *plan;
    struct nl_analyze_options options;
    struct nl_job *job;
    struct nl_report *report;
    struct nl_err *errs; /* one per task */
    size_t *order;       /* of the analyses */
    size_t ordered; /* made in parallel with the findings: all, or the first of a brief report */
    bool brief;
    bool claims; /* findings are made for the account alone */
};

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Adds those of the plan whose names are in `names`, in that order. */
static size_t add_named(const struct nl_report_plan *plan, const char *const *names, size_t *order,
                        size_t count)
{
    for (; *names; names++)
        for (size_t i = 0; plan->analyses[i]; i++)
            if (!strcmp(plan->analyses[i], *names))
                order[count++] = i;
    return count;
}

static size_t *order_analyses(const struct nl_report_plan *plan, bool brief, size_t *ordered)
{
    size_t *order = nl_alloc((plan_length(plan) + 1) * sizeof *order);
    size_t count = add_named(plan, brief ? brief_ones : long_ones, order, 0);
    *ordered = brief ? count : plan_length(plan);
    if (brief)
        return order;
    for (size_t i = 0; plan->analyses[i]; i++)
        if (!is_among(plan->analyses[i], long_ones) && !is_among(plan->analyses[i], of_idle_time))
            order[count++] = i;
    add_named(plan, of_idle_time, order, count);
    return order;
}

#define LAST_WORKER                                                                                \
    UINT_MAX /* the account is reported when all findings are known: it has their ids */

static bool is_account(const struct nl_report_run *run, size_t number)
{
    return !strcmp(run->plan->analyses[number], "account");
}

static const struct nl_analysis *planned(const struct nl_report_run *run, size_t number)
{
    const struct nl_analysis *analysis = nl_analysis_find(run->plan->analyses[number]);
    if (!analysis)
        NL_BUG("a report plan names an unknown analysis");
    return analysis;
}

static void run_analysis(struct nl_report_run *run, size_t number)
{
    run->report->results[number] = nl_analysis_run(planned(run, number), run->trace, &run->options,
                                                   run->job, &run->errs[number + 1]);
}

/* The result of that key while a brief report is made. */
static const struct nl_result *make_result(struct nl_report_run *run, const char *key)
{
    for (size_t i = 0; i < run->report->result_count; i++)
        if (!strcmp(planned(run, i)->key, key)) {
            if (!run->report->results[i] && !run->errs[i + 1].code)
                run_analysis(run, i);
            return run->report->results[i];
        }
    return NULL;
}

static bool are_copies_most(struct nl_memo *memo)
{
    size_t count;
    const struct nl_device_breakdown *devices = nl_memo_breakdown(memo, &count);
    double copies = 0, wall = 0;
    for (size_t i = 0; i < count; i++) {
        copies += (double)devices[i].exposed_copy_ns;
        wall += (double)devices[i].wall_ns;
    }
    return copies > wall - copies;
}

/* What the answer will ask for, as far as that is known before the findings are: while they divide
 * the idle time, which one thread does, another has nothing else to do. */
static void make_ahead(struct nl_report_run *run)
{
    const char *const *tables = nl_main_table_names(NL_VERDICT_COPY);
    (void)nl_memo_thinned(run->options.memo);
    if (nl_memo_steps(run->options.memo)->count)
        (void)nl_memo_step_times(run->options.memo);
    if (!are_copies_most(run->options.memo))
        return;
    for (size_t i = 0; i < NL_MAIN_TABLES && tables[i]; i++)
        if (!is_among(tables[i], brief_ones)) /* another thread's */
            (void)make_result(run, nl_analysis_find(tables[i])->key);
}

static void run_task(void *context, size_t index, unsigned worker)
{
    struct nl_report_run *run = context;
    if (index > run->ordered) {
        make_ahead(run);
        return;
    }
    if (index == 0) {
        if (run->plan->has_findings || run->claims)
            run->report->findings =
                nl_findings_new(run->trace, &run->options, run->job, &run->errs[0]);
        return;
    }
    size_t number = run->order[index - 1];
    if (is_account(run, number) && worker != LAST_WORKER)
        return;
    run_analysis(run, number);
    nl_job_add(run->job, 1);
}

static void run_account(struct nl_report_run *run, size_t tasks)
{
    const struct nl_findings *findings = run->report->findings;
    if (findings) {
        run->options.claims = findings->claims;
        run->options.claim_count = findings->claim_count;
    }
    for (size_t task = 1; task < tasks; task++)
        if (is_account(run, run->order[task - 1]))
            run_task(run, task, LAST_WORKER);
    if (!run->plan->has_findings) {
        nl_findings_free(run->report->findings);
        run->report->findings = NULL;
    }
}

/* True when every task gave its result, or was not asked for; else *err is
 * the first one's error. */
static bool all_done(const struct nl_report_run *run, struct nl_err *err)
{
    const struct nl_report *report = run->report;
    bool done = !run->plan->has_findings || report->findings;
    if (!done)
        *err = run->errs[0];
    for (size_t i = 0; done && i < report->result_count; i++) {
        done = report->results[i] || (run->brief && !run->errs[i + 1].code);
        if (!done)
            *err = run->errs[i + 1];
    }
    return done;
}

/* The tables that will likely be shown. */
static void run_main_table(void *context, size_t index, unsigned worker)
{
    struct nl_report_run *run = context;
    const char *const *names = nl_main_table_names(run->report->verdict->class);
    (void)worker;
    for (size_t i = 0; names[i] && i <= index; i++)
        if (i == index)
            (void)nl_report_result(run->report, names[i]);
}

/* The sentences on top, and what else a brief report shows. */
static void add_sentences(struct nl_report_run *run)
{
    const struct nl_result *tables[NL_MAIN_TABLES];
    run->report->making = run->brief ? run : NULL;
    if (run->plan->has_findings)
        nl_verdict_make(run->report, run->trace, &run->options);
    nl_headlines(run->report, run->trace);
    if (run->brief) {
        nl_parallel(nl_job_threads(run->job), NL_MAIN_TABLES, run_main_table, run);
        (void)nl_report_main_tables(run->report, tables);
    }
    run->report->making = NULL;
}

static void drop_holes(struct nl_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->result_count; i++)
        if (report->results[i])
            report->results[kept++] = report->results[i];
    report->result_count = kept;
}

static bool run_tasks(struct nl_report_run *run, struct nl_err *err)
{
    run->options.memo = nl_memo_new(run->trace, &run->options.window);
    size_t count = run->report->result_count + 1;
    run->errs = nl_alloc(count * sizeof *run->errs);
    for (size_t i = 0; i < count; i++)
        run->errs[i] = *err;
    run->brief = run->options.brief && run->plan->has_findings && !run->options.section;
    run->order = order_analyses(run->plan, run->brief, &run->ordered);
    size_t tasks = run->ordered + 1, ahead = run->brief ? 1 : 0;
    nl_job_phase(run->job, "analyzing", run->ordered);
    run->claims = run->options.section && run->plan->analyses[0] && is_account(run, 0);
    nl_parallel(nl_job_threads(run->job), tasks + ahead, run_task, run);
    run_account(run, tasks);
    bool done = all_done(run, err);
    if (done && !run->options.section) {
        add_sentences(run);
        done = all_done(run, err);
    }
    nl_free(run->errs);
    nl_free(run->order);
    nl_memo_free(run->options.memo);
    drop_holes(run->report);
    return done;
}

/* The plan cut down to one section; false when there is none of that name. */
static bool narrow(struct nl_report_plan *plan, const char *section, const char *only[2])
{
    const struct nl_analysis *analysis = nl_analysis_find(section);
    only[0] = analysis ? analysis->name : NULL;
    only[1] = NULL;
    plan->analyses = only;
    plan->has_findings = !analysis;
    return analysis || !strcmp(section, NL_SECTION_FINDINGS);
}

/* Why the one section that was asked for has no rows. */
static void explain_nothing(struct nl_report *report, const struct nl_trace *trace)
{
    struct nl_result *result = report->result_count ? report->results[0] : NULL;
    const struct nl_analysis *analysis = result ? nl_analysis_find(result->name) : NULL;
    const struct nl_need *need = analysis ? nl_analysis_lacks(analysis, trace) : NULL;
    if (!need || result->rows || result->note)
        return;
    const char *record = nl_advice_record(trace, need);
    result->note = nl_advice_lack(trace, need, &result->arena);
    if (record)
        result->note =
            nl_arena_format(&result->arena, "%s; record it with: %s", result->note, record);
}

struct nl_report *nl_report_new(const struct nl_trace *trace, const char *name,
                                const struct nl_analyze_options *options, struct nl_job *job,
                                struct nl_err *err)
{
    const struct nl_report_plan *plan = find_plan(name);
    const char *only[2];
    struct nl_report_plan one;
    if (!plan) {
        nl_fail(err, NL_USAGE, "no report is called '%s'", name);
        return NULL;
    }
    if (options->section) {
        one = *plan;
        plan = &one;
        if (!narrow(&one, options->section, only)) {
            nl_fail(err, NL_USAGE, "no analysis is called '%s'", options->section);
            return NULL;
        }
    }
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = plan->name;
    report->title = plan->title;
    report->result_count = plan_length(plan);
    report->results =
        nl_arena_alloc(&report->arena, report->result_count * sizeof *report->results);
    struct nl_report_run run = {
        .trace = trace, .plan = plan, .options = *options, .job = job, .report = report};
    run.options.limit = 0; /* the sentences are about all rows */
    if (!run_tasks(&run, err)) {
        nl_report_free(report);
        return NULL;
    }
    if (options->section)
        explain_nothing(report, trace);
    nl_report_cut(report, options->limit);
    return report;
}

void nl_report_cut(struct nl_report *report, size_t limit)
{
    for (size_t i = 0; i < report->result_count; i++)
        nl_analysis_cut(report->results[i], limit);
}

void nl_report_keep(struct nl_report *report, const char *section)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->result_count; i++) {
        if (strcmp(report->results[i]->name, section) == 0)
            report->results[kept++] = report->results[i];
        else
            nl_result_free(report->results[i]);
    }
    report->result_count = kept;
    report->headline_count = 0;
}

void nl_report_free(struct nl_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->result_count; i++)
        nl_result_free(report->results[i]);
    nl_findings_free(report->findings);
    nl_arena_free(&report->arena);
    nl_free(report);
}

const struct nl_result *nl_report_result(const struct nl_report *report, const char *name)
{
    const struct nl_analysis *analysis = nl_analysis_find(name);
    const char *key = analysis ? analysis->key : name;
    if (report->making)
        return make_result(report->making, key);
    for (size_t i = 0; i < report->result_count; i++)
        if (!strcmp(report->results[i]->name, key))
            return report->results[i];
    return NULL;
}

const struct nl_result *nl_report_part(const struct nl_report *report, const char *name)
{
    const struct nl_result *result = nl_report_result(report, name);
    return result && result->rows ? result : NULL;
}
