/*
 * nsysdb — a SQLite database being written, a table at a time, values in order of columns.
 *
 *     nsysdb_open(&db, trace, err);
 *     nsysdb_table(&db, "StringIds", "id INTEGER PRIMARY KEY, value TEXT");
 *     nsysdb_number(&db, 7);
 *     nsysdb_text(&db, nl_str("x"));
 *     nsysdb_row(&db);
 *     ... other tables ...
 *     nsysdb_close(&db, done, stream, err);       // ends the database and copies it to the stream
 *
 * The first failure is kept and reported at the end; what comes after it does nothing. The database
 * is a nameless temporary file ($TMPDIR, else /tmp): SQLite writes pages in any order, streams take
 * them in one.
 */
#ifndef NL_NSYSDB_H
#define NL_NSYSDB_H

#include <sqlite3.h>
#include <stdio.h>

#include "base/mem.h"
#include "store/trace.h"

struct nsys_db {
    const struct nl_trace *trace;
    sqlite3 *handle;
    sqlite3_stmt *insert;
    int descriptor, at; /* at: columns of the row that are bound */
    bool failed;
    unsigned char *used, *versioned; /* bit per name: it is in StringIds, also with a version */
    struct nl_buf room;
};

NL_MUST_CHECK bool nsysdb_open(struct nsys_db *db, const struct nl_trace *trace,
                               struct nl_err *err);
/* `good`: the database is whole; else it is thrown away and err stays as it is. */
NL_MUST_CHECK bool nsysdb_close(struct nsys_db *db, bool good, FILE *out, struct nl_err *err);

/* Makes a table and writes rows to it from now on. Columns as SQL. */
void nsysdb_table(struct nsys_db *db, const char *name, const char *columns);
void nsysdb_row(struct nsys_db *db);

void nsysdb_none(struct nsys_db *db);
void nsysdb_number(struct nsys_db *db, int64_t value);
void nsysdb_known(struct nsys_db *db, int64_t value); /* NL_NULL_I64 is NULL */
void nsysdb_known_u64(struct nsys_db *db, uint64_t value);
void nsysdb_known_u32(struct nsys_db *db, uint32_t value);
void nsysdb_text(struct nsys_db *db, struct nl_str text);
void nsysdb_name_text(struct nsys_db *db, uint32_t name); /* NULL for NL_NO_NAME */
void nsysdb_name_id(struct nsys_db *db, uint32_t name);   /* its id in StringIds */
void nsysdb_call_id(struct nsys_db *db, uint32_t name);   /* … as the name of an API call */

#endif
