/* ls and show: what the ledger holds. */
#include <stdio.h>
#include <string.h>

#include "cli/ledgercall.h"
#include "ledger/runlist.h"
#include "ledger/runshow.h"

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
                                      .sort = call->settings.ls.sort,
                                      .columns = call->settings.ls.columns,
                                      .limit = (uint64_t)call->settings.limit,
                                      .bin = call->settings.ls.bin,
                                      .short_texts = eyes};
    if (!options.limit && eyes && !call->settings.all)
        options.limit = LS_ROWS;
    struct nl_result *result = nl_ledger_list(ledger, &options, err);
    if (!result)
        return false;
    const char *none = call->settings.ls.bin ? "the trash is empty"
                       : call->count         ? "no run matches"
                                             : "no runs; `neurolens add PROFILE` puts one in";
    bool done = nl_ledgercall_print(call, result, result->rows ? NULL : none, err);
    nl_result_free(result);
    return done;
}

bool nl_cmd_ls(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done = ledger && list(call, ledger, err);
    nl_ledger_close(ledger);
    return done;
}

static bool show(const struct nl_call *call, const struct nl_report *report, struct nl_err *err)
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

bool nl_cmd_show(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_run run;
    struct nl_report *report = NULL;
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done =
        ledger && nl_ledger_find(ledger, call->argument[0], false, &run, err) &&
        (report = nl_ledger_show(ledger, &run, call->settings.section, is_for_eyes(call), err)) &&
        show(call, report, err);
    nl_report_free(report);
    nl_ledger_close(ledger);
    return done;
}
