/* The highest rowid of each table: of tables that were filled once and never
 * thinned it is the number of rows. Those of Nsight Systems and nvprof are; ids of
 * rocpd and rpd are made otherwise. */
#include "ingest/estimatedb.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define MAGIC "SQLite format 3"
#define STEPS 100000 /* of SQLite's machine, for all tables: a file that asks for more is odd */

/* Tables of names and descriptions, which are no events; by a part of their names. */
static const char *const others[] = {"string",    "enum",    "meta",      "info",   "_arg",
                                     "diagnos",   "track",   "sqlite",    "header", "config",
                                     "callchain", "process", "threadname"};

static bool holds_events(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (nl_str_find_nocase(nl_str(name), others[i]) >= 0)
            return false;
    return true;
}

static int give_up(void *left)
{
    return --*(int *)left < 0;
}

static double highest_row(sqlite3 *sql, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    double rows = 0;
    char *text = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", name);
    if (text && sqlite3_prepare_v2(sql, text, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        rows = sqlite3_column_double(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    return rows > 0 && rows < 1e12 ? rows : 0;
}

static double all_tables(sqlite3 *sql)
{
    static const char query[] = "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
                                "sql LIKE 'CREATE TABLE%' AND rootpage > 0";
    sqlite3_stmt *stmt = NULL;
    double rows = 0;
    if (sqlite3_prepare_v2(sql, query, -1, &stmt, NULL) == SQLITE_OK)
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(stmt, 0);
            if (name && holds_events(name))
                rows += highest_row(sql, name);
        }
    sqlite3_finalize(stmt);
    return rows;
}

/* A name that SQLite takes for no more than a file. */
static void put_uri(struct nl_buf *uri, const char *path)
{
    nl_buf_text(uri, "file:");
    for (const char *at = path; *at; at++) {
        if (strchr("%?#", *at))
            nl_buf_format(uri, "%%%02X", (unsigned char)*at);
        else
            nl_buf_char(uri, *at);
    }
    nl_buf_text(uri, "?immutable=1&mode=ro");
}

bool nl_estimate_tables(const char *path, const char *format, const struct nl_input *input,
                        double *rows)
{
    struct nl_buf uri;
    sqlite3 *sql = NULL;
    int left = STEPS / 1000;
    if ((strcmp(format, "nsys") != 0 && strcmp(format, "nvprof") != 0) ||
        strcmp(input->encoding, "plain") != 0 || input->head_len < sizeof MAGIC ||
        memcmp(input->head, MAGIC, sizeof MAGIC) != 0)
        return false;
    nl_buf_init(&uri, 65536);
    put_uri(&uri, path);
    bool done =
        !uri.overflow &&
        sqlite3_open_v2(uri.ptr, &sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK;
    if (done) {
        sqlite3_exec(sql, "PRAGMA trusted_schema=OFF;PRAGMA query_only=ON", NULL, NULL, NULL);
        sqlite3_progress_handler(sql, 1000, give_up, &left);
        *rows = all_tables(sql);
        done = *rows > 0;
    }
    sqlite3_close(sql);
    nl_buf_release(&uri);
    return done;
}
