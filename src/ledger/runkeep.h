/*
 * runkeep — a read run into the database: its rows, what it keeps as artefacts, its provenance.
 * Private to ledger/.
 */
#ifndef NL_RUNKEEP_H
#define NL_RUNKEEP_H

#include "ledger/runload.h"

#define NL_MAX_KEPT 3 /* kinds of artefacts */

/* What is on the disk for a run before its rows are written. */
struct nl_runkept {
    struct nl_artefact document, trace;
    bool has_trace;
    struct nl_artefact *sources; /* one per used file, or NULL */
    size_t source_count;
};

/* Artefacts of a loaded run: document, trace and files as the options say. */
NL_MUST_CHECK bool nl_runkeep_artefacts(struct nl_runkept *kept, const char *folder,
                                        const struct nl_runload *load,
                                        const struct nl_add_options *options, struct nl_job *job,
                                        struct nl_err *err);
void nl_runkept_release(struct nl_runkept *kept);

/* All rows in one transaction. With `run` > 0 those of that run are replaced, otherwise one is
 * made; *other is set (and nothing written) when somebody else made a run of this id meanwhile,
 * *gone when an artefact was swept away and has to be kept again. */
NL_MUST_CHECK bool nl_runkeep_rows(struct nl_ledger *ledger, int64_t run,
                                   const struct nl_runload *load, const struct nl_runkept *kept,
                                   const char *command, bool *other, bool *gone,
                                   struct nl_err *err);

/* A line of provenance; inside a transaction. */
NL_MUST_CHECK bool nl_runkeep_event(struct nl_ledger *ledger, int64_t run, const char *command,
                                    struct nl_err *err);

#endif
