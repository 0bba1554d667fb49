/*
 * runcard — what the database knows of one run, as a small JSON file next to the artefacts:
 *
 *     <ledger>/runs/<id>.json     {"schema": "neurolens.card/1", "id": …, "tags": […], "notes": […], …}
 *
 * Document and trace are artefacts and need no database; the card holds the rest: tags, notes, what
 * was set, findings, provenance, where the files were, and which artefacts belong to the run. So a
 * ledger whose database is lost can be made again (ledgerrebuild.h), and runs can go to another
 * ledger (ledgermerge.h). The card is written in the transaction that changes the run. It follows
 * from the database: what is in it but not there is taken only by rebuild and merge. Private to
 * ledger/.
 */
#ifndef NL_RUNCARD_H
#define NL_RUNCARD_H

#include <jansson.h>

#include "ledger/ledger.h"

#define NL_CARD_SCHEMA "neurolens.card/1"

/* The card of a run that is there; released with json_decref. NULL with err. */
json_t *nl_runcard_make(struct nl_ledger *ledger, int64_t run, struct nl_err *err);

/* Writes the card's file; false with err when that is impossible, which loses nothing: the run is
 * in the database, and `ledger check` says that the card is missing. */
NL_MUST_CHECK bool nl_runcard_save(struct nl_ledger *ledger, int64_t run, struct nl_err *err);
void nl_runcard_remove(const char *folder, const char *id);

/* What was removed stays so when power is lost; as far as the file system can. */
void nl_runcard_sync(const char *folder);

/* Reads the file of run `id`, checked: NL_IO, NL_FORMAT. */
json_t *nl_runcard_read(const char *folder, const char *id, struct nl_err *err);

/* Is it one: known members of the right types, digests and names that make safe paths? */
NL_MUST_CHECK bool nl_runcard_check(const json_t *card, struct nl_err *err);

/* Inside a transaction: makes the run of the card with all its rows but those of the document. *run
 * is the number it shall have, or 0 for the next one, and then the number it has. */
NL_MUST_CHECK bool nl_runcard_apply(struct nl_ledger *ledger, const json_t *card, int64_t *run,
                                    struct nl_err *err);
/* Inside a transaction: gives a run that is there the card's tags and notes and its provenance. */
NL_MUST_CHECK bool nl_runcard_join(struct nl_ledger *ledger, const json_t *card, int64_t run,
                                   struct nl_err *err);

/* Calls `see` with the id of every card in the folder. */
typedef bool nl_runcard_see(void *context, const char *id, struct nl_err *err);
NL_MUST_CHECK bool nl_runcard_walk(const char *folder, nl_runcard_see *see, void *context,
                                   struct nl_err *err);

#endif
