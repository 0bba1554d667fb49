/*
 * ledgergc — what the ledger no longer needs goes: runs in the bin, artefacts that no run needs, and
 * temporary files of writers that died.
 *
 * An artefact lies on the disk before the run that needs it is written, so a young one without a run
 * is left alone (NL_LEDGER_GRACE_S). It is removed inside a transaction that may write, as adding
 * looks at its artefacts inside one: neither can happen between the other's look and its act.
 */
#ifndef NL_LEDGERGC_H
#define NL_LEDGERGC_H

#include "ledger/ledger.h"

#define NL_LEDGER_GRACE_S 86400

struct nl_ledger_sweep {
    uint64_t runs;                      /* emptied from the bin */
    uint64_t artefacts, artefact_bytes; /* removed, and their size on the disk */
    uint64_t kept, kept_bytes;
};

/* `dry`: nothing goes, it is only counted. */
NL_MUST_CHECK bool nl_ledger_sweep(struct nl_ledger *ledger, bool dry,
                                   struct nl_ledger_sweep *sweep, struct nl_err *err);

#endif
