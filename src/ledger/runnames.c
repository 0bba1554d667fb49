/* Names of runs, the shortest way to each first. */
#include "ledger/runnames.h"

#include <stdio.h>

#include "ledger/ledgerdb.h"

bool nl_ledger_names(struct nl_ledger *ledger, int64_t most, struct nl_buf *out, struct nl_err *err)
{
    char id[NL_RUNDOC_ID], text[NL_RUNDOC_ID];
    bool ok = true, done = true;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(ledger, err,
                        "SELECT '@' WHERE EXISTS (SELECT 1 FROM runs WHERE removed_ns IS NULL) "
                        "UNION ALL SELECT * FROM (SELECT DISTINCT tag FROM tags JOIN runs "
                        "USING (run) WHERE removed_ns IS NULL ORDER BY tag)",
                        "");
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok))
        nl_buf_format(out, "%s\n", (const char *)sqlite3_column_text(rows, 0));
    if (!rows || !ok)
        return false;
    rows = nl_ledgerdb_ask(
        ledger, err, "SELECT id FROM runs WHERE removed_ns IS NULL ORDER BY run DESC LIMIT ?1", "i",
        most);
    while (rows && done && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(rows, 0));
        done = nl_ledger_short_id(ledger, id, text, err);
        if (done)
            nl_buf_format(out, "%s\n", text);
    }
    return rows && ok && done;
}
