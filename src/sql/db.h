/*
 * db — SQL over a trace: SQLite with virtual tables on the columns, read-only by construction.
 *
 * Every table of schema.def is there under its SQL name, plus the views time_breakdown and
 * kernel_summary and the functions listed in docs/sql.md. ATTACH, extensions, PRAGMA writes and any
 * write statement are refused by an authorizer. Names come back as text, unknown as NULL, times
 * relative to the trace's first event unless `absolute`.
 */
#ifndef NL_DB_H
#define NL_DB_H

#include "base/err.h"
#include "base/job.h"
#include "tables/result.h"
#include "store/trace.h"

struct nl_db;
struct nl_window;

struct nl_db_options {
    bool absolute;         /* times as in the store, not relative to the first event */
    int64_t time_limit_ms; /* per statement; 0 = none */
    /* Id of the finding that claims each row of nl_account_new(trace, window); nl_free
     * the array. NULL: unknown. */
    const char **(*claims)(const struct nl_trace *trace, const struct nl_window *window,
                           struct nl_job *job, size_t *count);
    uint64_t row_limit; /* rows returned per statement; 0 = none; the rest is cut and said */
};

/* Borrows the trace. */
struct nl_db *nl_db_open(const struct nl_trace *trace, const struct nl_db_options *options,
                         struct nl_job *job, struct nl_err *err);
void nl_db_close(struct nl_db *db);

/* Runs all statements of `sql`; the result is the last one's that returned columns (NULL result
 * with no error when none did). Errors: NL_QUERY with SQLite's message and the position,
 * NL_TIMEOUT, NL_INTERRUPTED. */
struct nl_result *nl_db_query(struct nl_db *db, const char *sql, struct nl_err *err);

enum nl_db_row { NL_DB_MORE, NL_DB_ENOUGH, NL_DB_TOO_LARGE };

/* Takes the rows of an answer one by one. `begin` is called for each statement that returns
 * columns, before its first row: what came before is no longer the answer. Columns and the cells'
 * texts live until the call returns; of a cell only the type counts, whatever its column means.
 * `row` says whether it takes more. */
struct nl_db_sink {
    void *context;
    void (*begin)(void *context, const struct nl_result_column *columns, size_t count);
    enum nl_db_row (*row)(void *context, const struct nl_cell *cells);
};

/* As nl_db_query, without keeping anything; options.row_limit is the sink's own affair. */
NL_MUST_CHECK bool nl_db_rows(struct nl_db *db, const char *sql, const struct nl_db_sink *sink,
                              struct nl_err *err);

/* For the shell: completion candidates starting with `prefix` (tables, columns, keywords); the
 * array and its texts live in `arena`. */
size_t nl_db_complete(struct nl_db *db, const char *prefix, struct nl_arena *arena,
                      const char ***candidates);

/* The Markdown of docs/sql.md, generated from schema.def and the function table. */
void nl_db_document(struct nl_buf *out);

#endif
