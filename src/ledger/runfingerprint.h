/*
 * runfingerprint — fingerprints of runs, as packed bytes (fingerprint/fingerprint_pack.h): `items`
 * are what is compared, `names` what is shown of the few that are near. `form` is the number of the
 * way they are made; what has another is as good as none.
 */
#ifndef NL_RUNFINGERPRINT_H
#define NL_RUNFINGERPRINT_H

#include "ledger/ledger.h"
#include "fingerprint/fingerprint.h"
#include "store/trace.h"

struct nl_ledger_fingerprint {
    int64_t form;
    struct nl_buf items, names;
};

void nl_ledger_fingerprint_init(struct nl_ledger_fingerprint *print, int64_t form);
void nl_ledger_fingerprint_release(struct nl_ledger_fingerprint *print);

/* Packs a fingerprint that was made. */
void nl_ledger_fingerprint_pack(struct nl_ledger_fingerprint *print,
                                const struct nl_runfingerprint *made);

/* Makes the fingerprint of a trace, in the newest form; false with err only when cancelled. */
NL_MUST_CHECK bool nl_ledger_fingerprint_make(struct nl_ledger_fingerprint *print,
                                              const struct nl_trace *trace, struct nl_job *job,
                                              struct nl_err *err);

/* Stores it in the place of the one that the run has; inside a transaction. */
NL_MUST_CHECK bool nl_ledger_fingerprint_put(struct nl_ledger *ledger, int64_t run,
                                             const struct nl_ledger_fingerprint *print,
                                             struct nl_err *err);
/* The same in a separate transaction; nothing when the run is gone. */
NL_MUST_CHECK bool nl_ledger_fingerprint_keep(struct nl_ledger *ledger, int64_t run,
                                              const struct nl_ledger_fingerprint *print,
                                              struct nl_err *err);

/* Both texts of a run, added to the buffers; they stay empty when it has none of that form. */
NL_MUST_CHECK bool nl_ledger_fingerprint_get(struct nl_ledger *ledger, int64_t run, int64_t form,
                                             struct nl_buf *items, struct nl_buf *names,
                                             struct nl_err *err);

/* Can it be made of what is kept? Not when the run came as a document that
 * lists only some events. */
NL_MUST_CHECK bool nl_ledger_fingerprint_can(struct nl_ledger *ledger, int64_t run, bool *can,
                                             struct nl_err *err);

/* A run on the way through the ledger; `items` is empty when it has no fingerprint of the form. */
struct nl_ledger_fingerprint_row {
    const struct nl_ledger_run *run;
    struct nl_str items;
};

#endif
