/* ls and show: what the ledger holds. */
#include <stdio.h>
#include <string.h>

#include "cli/ledgercall.h"
#include "ledger/runlist.h"
#include "ledger/runshow.h"

struct ls_options {
    const char *sort, *columns;
    bool trash;
};

static const struct ls_options *ls_own(const struct nl_call *call)
{
    return call->own;
}

#define LS_ROWS 50 /* for eyes, unless asked for more */

static bool is_for_eyes(const struct nl_call *call)
{
    const char *format = nl_format_names[call->settings.format];
    return strcmp(format, "text") == 0 || strcmp(format, "md") == 0;
}

static bool list(const struct nl_call *call, struct nl_ledger *ledger, struct nl_err *err)
{
    bool eyes = is_for_eyes(call);
    struct nl_list_options options = {.filters = (const char *const *)call->argument,
                                      .filter_count = (size_t)call->count,
                                      .sort = ls_own(call)->sort,
                                      .columns = ls_own(call)->columns,
                                      .limit = (uint64_t)call->settings.limit,
                                      .trash = ls_own(call)->trash,
                                      .short_texts = eyes};
    if (!options.limit && eyes && !call->settings.all)
        options.limit = LS_ROWS;
    struct nl_result *result = nl_ledger_list(ledger, &options, err);
    if (!result)
        return false;
    const char *none = ls_own(call)->trash ? "the trash is empty"
                       : call->count       ? "no run matches"
                                           : "no runs; `neurolens add PROFILE` puts one in";
    bool done = nl_ledgercall_print(call, result, result->rows ? NULL : none, err);
    nl_result_free(result);
    return done;
}

static bool ls_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done = ledger && list(call, ledger, err);
    nl_ledger_close(ledger);
    return done;
}

static bool show_report(const struct nl_call *call, const struct nl_report *report,
                        struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    const char *section = call->settings.section;
    if (!section && strcmp(output.view->name, "csv") == 0)
        section = "metadata"; /* csv is one table */
    struct nl_view_options options = {.section = section,
                                      .width = output.width,
                                      .color = output.color,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit};
    bool done = output.view->render_report(output.stream, NULL, report, &options, err);
    return nl_output_close(&output, call, done, err);
}

static bool show_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_run run;
    struct nl_report *report = NULL;
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done =
        ledger && nl_ledger_find(ledger, call->argument[0], false, &run, err) &&
        (report = nl_ledger_show(ledger, &run, call->settings.section, is_for_eyes(call), err)) &&
        show_report(call, report, err);
    nl_report_free(report);
    nl_ledger_close(ledger);
    return done;
}

static const struct nl_option ls_options[] = {
    {"sort", 0, NL_OPTION_TEXT, NL_OWN(ls_options, sort), "KEY",
     "order by KEY, -KEY the largest first (default: the newest)", NULL},
    {"columns", 'c', NL_OPTION_TEXT, NL_OWN(ls_options, columns), "KEYS",
     "columns, comma-separated; +KEYS adds to the default ones", NULL},
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N",
     "at most N runs (default: 50 in text and md)", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every run, and columns without a value",
     NULL},
    {"trash", 0, NL_OPTION_FLAG, NL_OWN(ls_options, trash), NULL, "the runs in the trash", NULL},
    {"bin", 0, NL_OPTION_FLAG, NL_OWN(ls_options, trash), NULL, NULL, NULL}, /* its former name */
    NL_OPTIONS_END,
};

const struct nl_command nl_command_ls = {
    .name = "ls",
    .group = "Ledger",
    .summary = "list runs",
    .usage = "[FILTER…]",
    .least = 0,
    .most = -1,
    NL_DEFAULTS(ls_options, 0),
    .tables = NL_TABLES(ls_options, nl_common_options),
    .help = "Lists the runs, the newest first. FILTER is KEY=VALUE, or with != > >= < <= or ~\n"
            "(contains); all of them must hold. KEY is id, name, added, tag, finding, anomaly (a\n"
            "metric that was unusual in the run), or a name that `neurolens show` lists, of which\n"
            "the last part is enough: batch_size=32. A value with * is a pattern; numbers take\n"
            "units: 'mean_step_ns>200ms'; 'a|b' is one of several, 16..64 a range; `added` takes\n"
            "today and -7d. Quote > < and |.",
    .examples = "neurolens ls tag=nightly 'added>-7d' git_branch=main\n"
                "neurolens ls 'model=llama*|qwen*' batch_size=16..64\n"
                "neurolens ls 'device_name=*H100*' 'mean_step_ns>200ms' --sort -mean_step_ns\n"
                "neurolens ls --columns id,name,idle_share --format csv",
    .run = ls_run,
};

static const struct nl_option show_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME", "only this table, such as metrics",
     NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_show = {
    .name = "show",
    .group = "Ledger",
    .summary = "show one run in full",
    .usage = "RUN",
    .least = 1,
    .most = 1,
    .tables = NL_TABLES(show_options, nl_common_options),
    .help =
        "Shows metadata, metrics, steps, findings, notes, operators, the source files, what the\n"
        "ledger keeps of the run, and its history. RUN is @ (newest), @~3 (three before it), the\n"
        "first 6 or more digits of an id, or a tag.",
    .examples = "neurolens show @\n"
                "neurolens show baseline --format csv --section metrics",
    .run = show_run,
};
