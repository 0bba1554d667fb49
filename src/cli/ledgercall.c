/* What the ledger's commands share. */
#include "cli/ledgercall.h"

#include <stdio.h>
#include <string.h>

#include "cli/folders.h"

struct nl_ledger *nl_ledgercall_open(const struct nl_call *call, enum nl_ledger_mode mode,
                                     struct nl_err *err)
{
    char *folder = nl_ledger_folder(call->settings.ledger, err);
    struct nl_ledger *ledger = folder ? nl_ledger_open(folder, mode, err) : NULL;
    nl_free(folder);
    return ledger;
}

bool nl_ledgercall_there(const struct nl_call *call, bool *there, struct nl_err *err)
{
    char *folder = nl_ledger_folder(call->settings.ledger, err);
    if (!folder)
        return false;
    *there = nl_ledger_exists(folder);
    nl_free(folder);
    return true;
}

struct nl_ledger *nl_ledgercall_edit(const struct nl_call *call, struct nl_ledger_run *run,
                                     struct nl_err *err)
{
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_WRITE, err);
    if (ledger && nl_ledger_find(ledger, call->argument[0], false, run, err))
        return ledger;
    nl_ledger_close(ledger);
    return NULL;
}

bool nl_ledgercall_print(const struct nl_call *call, const struct nl_result *result,
                         const char *line, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    bool done = true;
    if (line && strcmp(output.view->name, "text") == 0) {
        fprintf(output.stream, "%s\n", line);
    } else {
        struct nl_view_options options = {
            .width = output.width, .color = output.color, .all = call->settings.all};
        done = output.view->render_result(output.stream, NULL, result, &options, err);
    }
    return nl_output_close(&output, call, done, err);
}
