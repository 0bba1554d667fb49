/*
 * roofsof — attaches the measured roofs of a profile's host to its trace.
 */
#ifndef NL_ROOFSOF_H
#define NL_ROOFSOF_H

#include "cli/command.h"
#include "ledger/ledger.h"

/* Looks in the ledger for roofs of the host that `run` or the trace records, else that --host
 * names. `ledger` and `run` NULL: a file; the call's ledger is asked, if there is one. A ledger
 * that cannot be read only costs the roofs: -v says why. */
void nl_roofs_of(struct nl_trace *trace, struct nl_ledger *ledger, const struct nl_ledger_run *run,
                 const struct nl_call *call);

#endif
