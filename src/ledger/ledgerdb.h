/*
 * ledgerdb — the ledger's SQLite connection, as the parts of this room use it. Private to ledger/.
 *
 * Statements are literals with ?1, ?2, …; a format says what is bound to each: 't' a NUL-terminated
 * text (NULL → NULL), 'i' an int64_t (INT64_MIN → NULL), 'f' a double (NaN → NULL), 'b' bytes (a
 * const struct nl_str *). A statement is
 * compiled once per connection and found again by the address of its text.
 *
 *     rows = nl_ledgerdb_ask(ledger, err, "SELECT id FROM runs WHERE run = ?1", "i", run);
 *     while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) ... sqlite3_column_text(rows, 0) ...
 */
#ifndef NL_LEDGERDB_H
#define NL_LEDGERDB_H

#include <sqlite3.h>

#include "ledger/ledger.h"

#define NL_LEDGERDB_STATEMENTS 96 /* twice what the longest command uses */

struct nl_ledger {
    sqlite3 *db;
    char *folder;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } cached[NL_LEDGERDB_STATEMENTS];
    size_t cached_count;
    int64_t
        *touched; /* runs that this transaction changed: their cards are written before it ends */
    size_t touched_count, touched_cap;
};

/* What an SQLite result means, as an error of ours about this ledger. */
bool nl_ledgerdb_fail(struct nl_err *err, struct nl_ledger *ledger, int code);

/* Several statements without parameters or answers. */
NL_MUST_CHECK bool nl_ledgerdb_script(struct nl_ledger *ledger, const char *sql,
                                      struct nl_err *err);

/* One statement without an answer; `sql` is a literal. */
NL_MUST_CHECK bool nl_ledgerdb_do(struct nl_ledger *ledger, struct nl_err *err, const char *sql,
                                  const char *types, ...);

/* A question; NULL with err when it cannot be asked. The rows are the connection's: not finalised
 * by the caller, and ended by the next use of the same literal. */
sqlite3_stmt *nl_ledgerdb_ask(struct nl_ledger *ledger, struct nl_err *err, const char *sql,
                              const char *types, ...);

/* The next row; false at the end, with *ok set if it was one. */
bool nl_ledgerdb_next(struct nl_err *err, struct nl_ledger *ledger, sqlite3_stmt *rows, bool *ok);

/* The first column of the first row as a number; `absent` when there is no row or it is NULL. */
NL_MUST_CHECK bool nl_ledgerdb_number(struct nl_ledger *ledger, int64_t *value, int64_t absent,
                                      struct nl_err *err, const char *sql, const char *types, ...);

/* Remembers that the open transaction changes this run. */
void nl_ledgerdb_touch(struct nl_ledger *ledger, int64_t run);

/* A transaction that may write; waits for other writers. Commits when `done`, rolls back otherwise;
 * the result is whether everything is on the disk. */
NL_MUST_CHECK bool nl_ledgerdb_begin(struct nl_ledger *ledger, struct nl_err *err);
NL_MUST_CHECK bool nl_ledgerdb_end(struct nl_ledger *ledger, bool done, struct nl_err *err);

/* Text of a column in an arena; NULL for NULL. */
const char *nl_ledgerdb_text(struct nl_arena *arena, sqlite3_stmt *rows, int column);

/* Schema versions: steps[i] is SQL that leads from version i to i + 1; `version` is the newest. */
struct nl_ledger_schema {
    const char *const *steps;
    int version;
};
extern const struct nl_ledger_schema nl_ledger_schema;

#endif
