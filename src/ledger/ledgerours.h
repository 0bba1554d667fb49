/*
 * ledgerours — does a folder contain a ledger as this program makes it?
 *
 * A ledger may have come with somebody else's files (a clone, an archive), so before SQLite opens
 * it its files are looked at, and after that its schema:
 *
 *   - ledger.db, its -wal, -shm and -journal, artefacts/, runs/ and cache/ are files and folders, no links;
 *   - a -journal names no other file (SQLite deletes the super-journal that a journal names);
 *   - tables and indexes are those of ledgerschema.c to the letter: no view, trigger or expression of
 *     somebody else runs.
 *
 * What rows say is checked where it is read (runopen.c, artefact.c).
 */
#ifndef NL_LEDGEROURS_H
#define NL_LEDGEROURS_H

#include "ledger/ledger.h"

/* Fails with NL_FORMAT, naming the file. A folder that is not there, or empty, is fine. */
NL_MUST_CHECK bool nl_ledger_files_ours(const char *folder, struct nl_err *err);

/* Of an open ledger of the newest version; NL_FORMAT when its schema is another. */
NL_MUST_CHECK bool nl_ledger_schema_ours(struct nl_ledger *ledger, struct nl_err *err);

#endif
