/*
 * ledger — the runs that were kept: one SQLite database and a folder of artefacts.
 *
 *     <ledger>/ledger.db                   rows (schema: ledgerschema.c)
 *     <ledger>/runs/<id>.json              what the rows say of a run, to make them again (runcard.h)
 *     <ledger>/artefacts/ab/<sha256>.zst   files by the SHA-256 of their content (artefact.h)
 *     <ledger>/cache/                      opened traces; may be deleted at any time
 *
 * The database is in WAL mode: many readers and one writer at a time; a writer waits for another up
 * to NL_LEDGER_PATIENCE_MS. A run is written in one transaction, after its artefacts are on the
 * disk, so a run is either there with everything or not at all. Texts that enter are redacted
 * (redact/redact.h) by whoever makes the rows.
 *
 * A ledger belongs to one thread. Verbs are in runadd.h (add), runlist.h (ls), runshow.h (show),
 * runedit.h (tag, note, rm), runopen.h (`@` as a profile), ledgergc.h (gc), ledgercheck.h,
 * ledgerrebuild.h and ledgermerge.h (ledger check, rebuild, merge).
 *
 * Errors everywhere: NL_ENVIRONMENT (locked for too long, no permission, of a newer version),
 * NL_WRITE (disk full), NL_FORMAT (damaged), and what each function adds.
 */
#ifndef NL_LEDGER_H
#define NL_LEDGER_H

#include "base/mem.h"
#include "base/err.h"
#include "rundoc/rundoc.h"

#define NL_LEDGER_PATIENCE_MS 30000

enum nl_ledger_mode {
    NL_LEDGER_READ,   /* a folder that does not exist reads as an empty ledger */
    NL_LEDGER_WRITE,  /* makes folder and database when they are not there */
    NL_LEDGER_REBUILD /* the same, even if artefacts are there and their database is lost */
};

struct nl_ledger;

/* Brings an older database to the newest schema when it may be written. NULL with err otherwise:
 * what may not be read, or is not a folder, is no empty ledger (NL_ENVIRONMENT), nor is one whose
 * database is gone while its artefacts are there (NL_FORMAT). */
struct nl_ledger *nl_ledger_open(const char *folder, enum nl_ledger_mode mode, struct nl_err *err);
/* Is there a database in that folder? */
bool nl_ledger_exists(const char *folder);
void nl_ledger_close(struct nl_ledger *ledger); /* NULL is fine */

/* Waits until all that was committed so far, by whatever connection, survives a loss of power. If
 * our connections are closed and no other process has one, there is no log any more, and no
 * sync. */
NL_MUST_CHECK bool nl_ledger_sync(const char *folder, struct nl_err *err);

/* A run that a word names. */
struct nl_ledger_run {
    int64_t run; /* key of its rows */
    char id[NL_RUNDOC_ID];
    bool in_trash; /* removed, but not yet for good */
};

/*
 * The run that `word` names: `@` the newest, `@~3` three before it, 6 or more hex digits its id
 * begins with, or a tag (of several runs the one that was given it last). Tags win over ids. The
 * trash is looked at only with `in_trash`, and then nothing else. NL_IO when nothing has that name;
 * NL_USAGE when several ids begin so (they are listed).
 */
NL_MUST_CHECK bool nl_ledger_find(struct nl_ledger *ledger, const char *word, bool in_trash,
                                  struct nl_ledger_run *run, struct nl_err *err);

/* Are these hex digits, enough of them, that an id can begin with? */
bool nl_ledger_begins_id(const char *word);

/* Could the word be a run's name at all: `@…`, or something that is no
 * absolute or ./relative path? */
bool nl_ledger_may_name(const char *word);

/* The shortest beginning of an id, 8 digits or more, that no other run has. */
NL_MUST_CHECK bool nl_ledger_short_id(struct nl_ledger *ledger, const char *id,
                                      char text[NL_RUNDOC_ID], struct nl_err *err);

#endif
