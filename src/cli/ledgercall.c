/* What the ledger's commands share. */
#include "cli/ledgercall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/folders.h"

/* The user's own ledger is empty until something is written into it; one that was named must be
 * there. */
static bool named_is_there(const struct nl_call *call, const char *folder, struct nl_err *err)
{
    const char *variable = getenv("NEUROLENS_LEDGER");
    bool named = call->settings.ledger || (variable && *variable);
    if (!named || access(folder, F_OK) == 0 || errno != ENOENT)
        return true;
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_IO,
                   "there is no ledger here; check %s, or create one with `neurolens add PROFILE`",
                   call->settings.ledger ? "--ledger" : "$NEUROLENS_LEDGER");
}

struct nl_ledger *nl_ledgercall_open(const struct nl_call *call, enum nl_ledger_mode mode,
                                     struct nl_err *err)
{
    char *folder = nl_ledger_folder(call->settings.ledger, err);
    if (folder && mode == NL_LEDGER_READ && !named_is_there(call, folder, err)) {
        nl_free(folder);
        return NULL;
    }
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
