/* Fingerprints: a row each. The walk over them is runlist.c's, which knows the filters. */
#include "ledger/runfingerprint.h"

#include "fingerprint/fingerprint_pack.h"
#include "ledger/ledgerdb.h"

#define MAX_PRINT ((size_t)16 << 20)

void nl_ledger_fingerprint_init(struct nl_ledger_fingerprint *print, int64_t form)
{
    print->form = form;
    nl_buf_init(&print->items, MAX_PRINT);
    nl_buf_init(&print->names, MAX_PRINT);
}

void nl_ledger_fingerprint_release(struct nl_ledger_fingerprint *print)
{
    nl_buf_release(&print->items);
    nl_buf_release(&print->names);
}

void nl_ledger_fingerprint_pack(struct nl_ledger_fingerprint *print,
                                const struct nl_runfingerprint *made)
{
    print->form = NL_FINGERPRINT_FORM;
    nl_fingerprint_pack(made, &print->items, &print->names);
}

bool nl_ledger_fingerprint_make(struct nl_ledger_fingerprint *print, const struct nl_trace *trace,
                                struct nl_job *job, struct nl_err *err)
{
    struct nl_runfingerprint *made = nl_runfingerprint_new(trace, NULL, job, err);
    if (!made)
        return false;
    nl_ledger_fingerprint_pack(print, made);
    nl_runfingerprint_free(made);
    return true;
}

bool nl_ledger_fingerprint_put(struct nl_ledger *ledger, int64_t run,
                               const struct nl_ledger_fingerprint *print, struct nl_err *err)
{
    struct nl_str items = {print->items.ptr, print->items.len};
    struct nl_str names = {print->names.ptr, print->names.len};
    if (print->items.overflow || print->names.overflow)
        return nl_fail(err, NL_LIMIT, "the fingerprint is over %zu bytes", MAX_PRINT);
    return nl_ledgerdb_do(ledger, err,
                          "INSERT OR REPLACE INTO fingerprints SELECT ?1, ?2, ?3, ?4 "
                          "WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?1)",
                          "iibb", run, print->form, &items, &names);
}

bool nl_ledger_fingerprint_keep(struct nl_ledger *ledger, int64_t run,
                                const struct nl_ledger_fingerprint *print, struct nl_err *err)
{
    return nl_ledgerdb_begin(ledger, err) &&
           nl_ledgerdb_end(ledger, nl_ledger_fingerprint_put(ledger, run, print, err), err);
}

bool nl_ledger_fingerprint_get(struct nl_ledger *ledger, int64_t run, int64_t form,
                               struct nl_buf *items, struct nl_buf *names, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT items, names FROM fingerprints WHERE run = ?1 AND form = ?2", "ii",
        run, form);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        nl_buf_add(items, sqlite3_column_blob(rows, 0), (size_t)sqlite3_column_bytes(rows, 0));
        nl_buf_add(names, sqlite3_column_blob(rows, 1), (size_t)sqlite3_column_bytes(rows, 1));
        sqlite3_reset(rows);
    }
    return rows && ok;
}

bool nl_ledger_fingerprint_can(struct nl_ledger *ledger, int64_t run, bool *can, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(
        ledger, &count, 0, err,
        "SELECT count(*) FROM runs r WHERE run = ?1 AND (form = 'profile' OR EXISTS "
        "(SELECT 1 FROM artefacts a WHERE a.run = r.run AND role = 'trace'))",
        "i", run);
    *can = count > 0;
    return done;
}
