/*
 * ledgergc — what the ledger let go of is removed: runs in the trash with their artefacts,
 * documents that a newer one replaced, and temporary files of writers that died.
 *
 * An artefact that no run needs goes only when the database says that a command let go of it (table
 * `released`). Any other artefact without a run is left alone and counted as an orphan: it may be
 * all that is left of a lost database, and `ledger rebuild` makes a run of it. With `orphans` those
 * go, too, when they are older than NL_LEDGER_GRACE_S: an artefact is on the disk before its run is
 * written.
 *
 * Artefacts are removed inside a transaction that may write, as adding looks at its artefacts
 * inside one: neither can happen between the other's look and its act.
 */
#ifndef NL_LEDGERGC_H
#define NL_LEDGERGC_H

#include "ledger/ledger.h"

#define NL_LEDGER_GRACE_S 86400
#define NL_LEDGER_YOUNG_S 600 /* an artefact as young as that may wait for its run */

struct nl_ledger_sweep {
    uint64_t runs;                      /* emptied from the trash */
    uint64_t artefacts, artefact_bytes; /* removed, and their size on the disk */
    uint64_t kept, kept_bytes;
    uint64_t orphans,
        orphan_bytes; /* of those kept: no run needs them, and no command released them */
};

struct nl_ledger_sweep_options {
    bool dry;     /* nothing goes, it is only counted */
    bool orphans; /* orphans go, too */
};

NL_MUST_CHECK bool nl_ledger_sweep(struct nl_ledger *ledger,
                                   const struct nl_ledger_sweep_options *options,
                                   struct nl_ledger_sweep *sweep, struct nl_err *err);

#endif
