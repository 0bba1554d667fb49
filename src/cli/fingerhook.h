/*
 * fingerhook — how fingerprints get into the ledger, which keeps them without knowing what they are.
 */
#ifndef NL_FINGERHOOK_H
#define NL_FINGERHOOK_H

#include "fingerprint/fingerprint.h"
#include "ledger/runprint.h"

/* A nl_ledger_print_fn; its form is NL_PRINT_FORM. */
NL_MUST_CHECK bool nl_print_hook(const struct nl_trace *trace, struct nl_ledger_print *print,
                                 struct nl_job *job, struct nl_err *err);

#endif
