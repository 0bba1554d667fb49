/*
 * runnames — the words that name runs, for completion in shells.
 */
#ifndef NL_RUNNAMES_H
#define NL_RUNNAMES_H

#include "ledger/ledger.h"

/* A line each: `@` when there is a run, all tags, and the short ids of the newest `most` runs. */
NL_MUST_CHECK bool nl_ledger_names(struct nl_ledger *ledger, int64_t most, struct nl_buf *out,
                                   struct nl_err *err);

#endif
