/*
 * ledgermerge — the runs of one ledger put into another (`neurolens ledger merge FROM INTO`).
 *
 * Runs that INTO does not have are copied whole: artefacts (checked on the way), rows, tags, notes,
 * settings, findings, provenance, fingerprint. Runs that both have are the same content: INTO's
 * document stays, and it gets the other's tags, notes and provenance. Runs in FROM's trash are left
 * out. A tag that both use means the run that got it last; FROM's order comes after INTO's. FROM is
 * not changed.
 */
#ifndef NL_LEDGERMERGE_H
#define NL_LEDGERMERGE_H

#include "base/job.h"
#include "ledger/ledger.h"

struct nl_ledger_merged {
    uint64_t runs;   /* copied */
    uint64_t joined; /* in both, and given tags, notes or provenance */
    uint64_t same;   /* in both, nothing new */
    uint64_t artefact_bytes;
};

NL_MUST_CHECK bool nl_ledger_merge(struct nl_ledger *from, struct nl_ledger *into,
                                   const char *command, struct nl_ledger_merged *merged,
                                   struct nl_job *job, struct nl_err *err);

#endif
