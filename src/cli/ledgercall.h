/*
 * ledgercall — the ledger as the commands use it: the one of --ledger and its relatives, runs by
 * their names, and answers that are a table or one line for eyes.
 */
#ifndef NL_LEDGERCALL_H
#define NL_LEDGERCALL_H

#include "cli/output.h"
#include "ledger/ledger.h"

/* The ledger of this call. */
struct nl_ledger *nl_ledgercall_open(const struct nl_call *call, enum nl_ledger_mode mode,
                                     struct nl_err *err);

/* Does it hold a database at all? False with err when there is no place for a ledger. */
NL_MUST_CHECK bool nl_ledgercall_there(const struct nl_call *call, bool *there, struct nl_err *err);

/* Opens it for writing and finds the run that the first argument names. */
struct nl_ledger *nl_ledgercall_edit(const struct nl_call *call, struct nl_ledger_run *run,
                                     struct nl_err *err);

/* Prints a table, or in text (when `line` is not NULL) that line alone. */
NL_MUST_CHECK bool nl_ledgercall_print(const struct nl_call *call, const struct nl_result *result,
                                       const char *line, struct nl_err *err);

#endif
