/* The ledger's connection: statements compiled once, results of SQLite as errors of ours. */
#define _GNU_SOURCE
#include "ledger/ledgerdb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ledger/runcard.h"

bool nl_ledgerdb_fail(struct nl_err *err, struct nl_ledger *ledger, int code)
{
    nl_err_at(err, ledger->folder, -1);
    const char *says = ledger->db ? sqlite3_errmsg(ledger->db) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return nl_fail(err, NL_ENVIRONMENT,
                       "another process has been writing to this ledger for %d s; try again when "
                       "it is done",
                       NL_LEDGER_PATIENCE_MS / 1000);
    case SQLITE_FULL:
        return nl_fail(err, NL_WRITE,
                       "no room for the ledger; free some and repeat the command "
                       "(nothing was changed)");
    case SQLITE_IOERR:
        return nl_fail(err, NL_WRITE,
                       "the ledger cannot be written: %s; is the disk full? (nothing was changed)",
                       says);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return nl_fail(
            err, NL_ENVIRONMENT,
            "the ledger cannot be written here: %s; ask for permission or choose another "
            "with --ledger",
            says);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return nl_fail(
            err, NL_FORMAT,
            "ledger.db is damaged: %s; restore it, or `neurolens ledger rebuild` makes a "
            "new one from the artefacts",
            says);
    case SQLITE_NOMEM: return nl_fail(err, NL_MEMORY, "no memory for the ledger");
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return nl_fail(err, NL_FORMAT,
                       "rows of ledger.db do not fit each other: %s; restore it, or move it away "
                       "and add the runs again",
                       says);
    default: return nl_fail(err, NL_INTERNAL, "the ledger's SQL failed: %s", says);
    }
}

bool nl_ledgerdb_script(struct nl_ledger *ledger, const char *sql, struct nl_err *err)
{
    int code = sqlite3_exec(ledger->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK || nl_ledgerdb_fail(err, ledger, code);
}

/* The compiled form of a literal, reset. */
static sqlite3_stmt *compiled(struct nl_ledger *ledger, const char *sql, struct nl_err *err)
{
    for (size_t i = 0; i < ledger->cached_count; i++) {
        if (ledger->cached[i].sql != sql)
            continue;
        sqlite3_reset(ledger->cached[i].statement);
        return ledger->cached[i].statement;
    }
    if (ledger->cached_count == NL_LEDGERDB_STATEMENTS)
        NL_BUG("more statements than the ledger keeps");
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) {
        (void)nl_ledgerdb_fail(err, ledger, code);
        return NULL;
    }
    ledger->cached[ledger->cached_count].sql = sql;
    ledger->cached[ledger->cached_count++].statement = statement;
    return statement;
}

static void bind(sqlite3_stmt *statement, const char *types, va_list values)
{
    for (int i = 0; types[i]; i++) {
        if (types[i] == 't') {
            sqlite3_bind_text(statement, i + 1, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
        } else if (types[i] == 'i') {
            int64_t number = va_arg(values, int64_t);
            if (number == INT64_MIN)
                sqlite3_bind_null(statement, i + 1);
            else
                sqlite3_bind_int64(statement, i + 1, number);
        } else if (types[i] == 'b') {
            const struct nl_str *bytes = va_arg(values, const struct nl_str *);
            sqlite3_bind_blob64(statement, i + 1, bytes->len ? bytes->ptr : "", bytes->len,
                                SQLITE_TRANSIENT);
        } else {
            sqlite3_bind_double(statement, i + 1, va_arg(values, double)); /* NaN becomes NULL */
        }
    }
}

sqlite3_stmt *nl_ledgerdb_ask(struct nl_ledger *ledger, struct nl_err *err, const char *sql,
                              const char *types, ...)
{
    sqlite3_stmt *statement = compiled(ledger, sql, err);
    va_list values;
    va_start(values, types);
    if (statement)
        bind(statement, types, values);
    va_end(values);
    return statement;
}

bool nl_ledgerdb_next(struct nl_err *err, struct nl_ledger *ledger, sqlite3_stmt *rows, bool *ok)
{
    int code = sqlite3_step(rows);
    *ok = code == SQLITE_ROW || code == SQLITE_DONE;
    if (code == SQLITE_ROW)
        return true;
    if (!*ok)
        (void)nl_ledgerdb_fail(err, ledger, code);
    sqlite3_reset(rows);
    return false;
}

bool nl_ledgerdb_do(struct nl_ledger *ledger, struct nl_err *err, const char *sql,
                    const char *types, ...)
{
    sqlite3_stmt *statement = compiled(ledger, sql, err);
    if (!statement)
        return false;
    bool ok;
    va_list values;
    va_start(values, types);
    bind(statement, types, values);
    va_end(values);
    while (nl_ledgerdb_next(err, ledger, statement, &ok))
        ;
    return ok;
}

bool nl_ledgerdb_number(struct nl_ledger *ledger, int64_t *value, int64_t absent,
                        struct nl_err *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *rows = compiled(ledger, sql, err);
    if (!rows)
        return false;
    bool ok;
    va_list values;
    va_start(values, types);
    bind(rows, types, values);
    va_end(values);
    *value = absent;
    if (nl_ledgerdb_next(err, ledger, rows, &ok) && sqlite3_column_type(rows, 0) != SQLITE_NULL)
        *value = sqlite3_column_int64(rows, 0);
    sqlite3_reset(rows);
    return ok;
}

bool nl_ledgerdb_begin(struct nl_ledger *ledger, struct nl_err *err)
{
    return nl_ledgerdb_do(ledger, err, "BEGIN IMMEDIATE", "");
}

void nl_ledgerdb_touch(struct nl_ledger *ledger, int64_t run)
{
    for (size_t i = 0; i < ledger->touched_count; i++)
        if (ledger->touched[i] == run)
            return;
    nl_grow(&ledger->touched, &ledger->touched_cap, ledger->touched_count + 1);
    ledger->touched[ledger->touched_count++] = run;
}

/* Inside the transaction, so that no other process writes the same card at the same time. A card
 * that cannot be written loses nothing: the rows are there, and `ledger check` says so. */
static void write_cards(struct nl_ledger *ledger, bool done)
{
    struct nl_err ignored;
    nl_err_clear(&ignored);
    for (size_t i = 0; done && i < ledger->touched_count; i++)
        if (!nl_runcard_save(ledger, ledger->touched[i], &ignored))
            break;
    ledger->touched_count = 0;
}

bool nl_ledgerdb_end(struct nl_ledger *ledger, bool done, struct nl_err *err)
{
    write_cards(ledger, done);
    if (done && nl_ledgerdb_do(ledger, err, "COMMIT", ""))
        return true;
    /* A failure of the disk may have rolled back already. */
    if (!sqlite3_get_autocommit(ledger->db))
        sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

const char *nl_ledgerdb_text(struct nl_arena *arena, sqlite3_stmt *rows, int column)
{
    const char *text = (const char *)sqlite3_column_text(rows, column);
    return text ? nl_arena_text(arena, text, (size_t)sqlite3_column_bytes(rows, column)) : NULL;
}
