/* fingerprint: load the profile, work out its vectors, show them. */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "fingerprint/fingerprint.h"

static const char *const print_sections[] = {"device", "op_device",  "op", "layer",
                                             "parts",  "components", NULL};

static const struct nl_option fingerprint_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME", "only this table, such as device",
     print_sections},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

/* The report with that table alone. */
static bool keep_section(struct nl_report *report, const char *section, struct nl_err *err)
{
    size_t kept = 0;
    if (!nl_report_result(report, section))
        return nl_fail(err, NL_USAGE,
                       "--section: a fingerprint has no '%s'; there are device, op_device, op, "
                       "layer, parts, components",
                       section);
    for (size_t i = 0; i < report->result_count; i++)
        if (strcmp(report->results[i]->name, section) == 0)
            report->results[kept++] = report->results[i];
        else
            nl_result_free(report->results[i]);
    report->result_count = kept;
    return true;
}

static bool show_fingerprint(const struct nl_call *call, struct nl_output *output,
                             const struct nl_profile *profile, struct nl_report *report,
                             struct nl_err *err)
{
    const char *section = call->settings.section;
    if (section && !keep_section(report, section, err))
        return false;
    struct nl_view_options options = {.section = section,
                                      .width = output->width,
                                      .color = output->color,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit};
    nl_report_cut(report, (size_t)call->settings.limit);
    return output->view->render_report(output->stream, profile, report, &options, err);
}

static bool fingerprint_trace(const struct nl_input_words *input, const struct nl_trace *trace,
                              const struct nl_call *call, struct nl_output *output,
                              struct nl_err *err)
{
    struct nl_window window;
    if (!nl_input_window(input, trace, call, &window, err))
        return false;
    nl_job_phase(call->job, "comparing", 0);
    struct nl_runfingerprint *print = nl_runfingerprint_new(trace, &window, call->job, err);
    if (!print)
        return false;
    struct nl_report *report = nl_runfingerprint_report(print);
    struct nl_profile *profile = nl_profile_new(trace, &window);
    nl_progress_quiet(call->progress);
    bool done = show_fingerprint(call, output, profile, report, err);
    nl_profile_free(profile);
    nl_report_free(report);
    nl_runfingerprint_free(print);
    return done;
}

static bool fingerprint_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_output output;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err) &&
                nl_output_open(&output, call, input.paths, input.count, err);
    if (done) {
        struct nl_trace *trace = nl_input_load(&input, call, err);
        done = trace && fingerprint_trace(&input, trace, call, &output, err);
        done = nl_output_close(&output, call, done, err);
        if (trace)
            nl_trace_free(trace);
    }
    nl_input_release(&input);
    return done;
}

const struct nl_command nl_command_fingerprint = {
    .name = "fingerprint",
    .group = "Compare",
    .summary = "performance fingerprint of a run: per kernel, operator and layer",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    .tables = NL_TABLES(fingerprint_options, nl_profile_options, nl_common_options),
    .help =
        "Shows for every kernel, operator and layer its signature (its name without the parts "
        "that\n"
        "differ between tools, builds and instances), its share of the time, its latency and, "
        "where\n"
        "the profile has them, arithmetic intensity, occupancy, warp efficiency, L2 hit rate and\n"
        "memory throughput, also relative to the device's peak. Unknown values are empty. --join\n"
        "adds counters from an Nsight Compute report. docs/fingerprint.md defines every number.",
    .examples = "neurolens fingerprint trace.json.gz\n"
                "neurolens fingerprint run.sqlite --join kernels.ncu-rep --format json\n"
                "neurolens fingerprint @ --format csv --section op_device",
    .run = fingerprint_run,
};
