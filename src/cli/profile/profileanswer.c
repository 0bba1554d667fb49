/* The answer of `profile`. */
#include "cli/profile/profileanswer.h"

#include "base/mem.h"
#include "base/units.h"
#include "cli/output.h"
#include "cli/progress.h"

struct nl_result *nl_profile_setup_table(void)
{
    static const struct nl_result_column columns[] = {{"fact", NULL, NL_MEANS_TEXT},
                                                      {"value", NULL, NL_MEANS_TEXT}};
    return nl_result_new("setup", "What was run", columns, 2);
}

void nl_profile_add_fact(struct nl_result *table, const char *fact, const char *value)
{
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_str(fact));
    if (*value)
        cell[1] = nl_cell_text(table, nl_str(value));
}

const char *nl_profile_stop_text(const struct ort_outcome *outcome)
{
    static const char *const texts[] = {
        [ORT_STOP_TIGHT] = "the 95 % interval of the median is within 1 %",
        [ORT_STOP_TIME] = "--max-time was reached",
        [ORT_STOP_RUNS] = "--max-runs was reached",
    };
    return texts[outcome->stop];
}

const char *nl_profile_stop_remark(struct nl_profile_work *work, const struct ort_outcome *outcome,
                                   const struct nl_profile_latency *latency)
{
    char cost[NL_UNIT_TEXT];
    return nl_arena_format(&work->arena, "stopped because %s; the profiler costs %s per run",
                           nl_profile_stop_text(outcome), nl_format_ns(cost, latency->cost_ns));
}

static void add_headlines(const struct nl_profile_answer *answer, struct nl_report *report)
{
    const struct nl_profile_work *work = answer->work;
    const struct nl_median_range *runs = answer->runs;
    char median[NL_UNIT_TEXT], low[NL_UNIT_TEXT], high[NL_UNIT_TEXT];
    report->headlines[report->headline_count++] =
        nl_arena_format(&report->arena, "%s: median %s per run (95 %%: %s to %s) on %s", work->name,
                        nl_format_ns(median, runs->median), nl_format_ns(low, runs->low),
                        nl_format_ns(high, runs->high), answer->runtime);
    if (answer->remark)
        report->headlines[report->headline_count++] = answer->remark;
    if (work->added.id[0])
        report->headlines[report->headline_count++] =
            nl_arena_format(&report->arena, "kept as run %s; `neurolens analyze %s` asks on",
                            work->added.short_id, work->added.short_id);
}

static bool print(const struct nl_profile_work *work, const struct nl_report *report,
                  const char *rows, struct nl_err *err)
{
    struct nl_output output;
    const struct nl_call *call = work->call;
    if (!nl_output_open(&output, call, &work->model, 1, err))
        return false;
    bool one = strcmp(output.view->name, "csv") == 0;
    struct nl_view_options options = {.section = one ? rows : NULL,
                                      .width = output.width,
                                      .color = output.color,
                                      .all = call->settings.all};
    bool done = output.view->render_report(output.stream, NULL, report, &options, err);
    return nl_output_close(&output, call, done, err);
}

bool nl_profile_answer(const struct nl_profile_answer *answer, struct nl_err *err)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "profile";
    report->title = "Profile";
    report->results = nl_arena_alloc(&report->arena, 3 * sizeof(struct nl_result *));
    add_headlines(answer, report);
    report->results[report->result_count++] = answer->latencies;
    report->results[report->result_count++] = answer->operators;
    report->results[report->result_count++] = answer->setup;
    nl_progress_quiet(answer->work->call->progress);
    bool done = print(answer->work, report, answer->operators->name, err);
    nl_report_free(report);
    return done;
}
