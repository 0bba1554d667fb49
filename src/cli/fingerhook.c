/* fingerhook — see fingerhook.h. */
#include "cli/fingerhook.h"

#include "fingerprint/fingerpack.h"

bool nl_print_hook(const struct nl_trace *trace, struct nl_ledger_print *print, struct nl_job *job,
                   struct nl_err *err)
{
    struct nl_runprint *made = nl_runprint_new(trace, NULL, job, err);
    if (!made)
        return false;
    nl_print_pack(made, &print->items, &print->names);
    nl_runprint_free(made);
    return true;
}
