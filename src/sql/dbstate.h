/*
 * dbstate — what the parts of an SQL connection share: the trace, the limits of the statement that
 * runs, and what lives until it ends. Private to sql/.
 */
#ifndef NL_DBSTATE_H
#define NL_DBSTATE_H

#include <sqlite3.h>

#include "sql/db.h"
#include "sql/stopwatch.h"
#include "timeline/interval.h"

/* sqlite3_vtab_in, _rhs_value, _distinct and sqlite3_error_offset came with 3.38. */
#if SQLITE_VERSION_NUMBER >= 3038000
#define NL_SQLITE_338 1
#else
#define NL_SQLITE_338 0
#endif

struct nl_index;

/* A set of intervals made by an SQL aggregate or function. It lives until the statement ends (not
 * as long as SQLite keeps the value), so a pointer value in SQL can never dangle. */
struct nl_sql_set {
    struct nl_intervals set;
    struct nl_sql_set *next;
};

struct nl_db_table {
    struct nl_db *db;
    enum nl_table_id table;
};

struct nl_db {
    sqlite3 *sqlite;
    const struct nl_trace *trace;
    struct nl_db_options options;
    struct nl_job *job;
    struct nl_db_table tables[NL_TABLE_COUNT];
    bool declaring; /* a module gives SQLite its columns; not the user's doing */
    int64_t origin; /* subtracted from times that SQL sees */

    /* Of the statement that runs. */
    struct nl_stopwatch *watch;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; 0 = none */
    bool timed_out, interrupted;
    bool too_large;    /* an answer or an aggregate, for the memory budget */
    char refused[160]; /* what the authorizer said no to, "" = nothing */
    struct nl_sql_set *sets;
    uint64_t set_bytes;

    /* Made when first needed, kept. */
    uint32_t *name_ranks; /* place of each dictionary id in the order of texts */
    uint32_t *name_order; /* and the ids in that order */
    unsigned name_lookups;
};

/* sqlite3_declare_vtab past the authorizer, which would see a CREATE TABLE. */
int nl_db_declare(struct nl_db *db, const char *sql);

/* True when the statement has to stop (cancelled or out of time); remembers why. */
bool nl_db_must_stop(struct nl_db *db);

/* A new set owned by the running statement. */
struct nl_intervals *nl_db_new_set(struct nl_db *db);
/* Accounts for the set's memory after it was filled; false when sets take too much. */
bool nl_db_set_filled(struct nl_db *db, const struct nl_intervals *set);
void nl_db_free_sets(struct nl_db *db);

/* Place of each name in the order of texts, unknown first. */
const uint32_t *nl_db_name_ranks(struct nl_db *db);
/* Id of a name, NL_NO_NAME when no row can have it. Fast also for trace files, whose dictionary has
 * no hash table: after a few lookups by halves. */
uint32_t nl_db_find_name(struct nl_db *db, struct nl_str text);

#define NL_SET_POINTER "neurolens intervals" /* type tag of sqlite3_value_pointer */

/* Registration; SQLite result codes. */
int nl_vtab_register(struct nl_db *db);      /* vtab.c: one module per table */
int nl_functions_register(struct nl_db *db); /* functions.c: scalars and aggregates */
int nl_tablefunctions_register(struct nl_db *db);
void nl_guard_install(struct nl_db *db);  /* guard.c: authorizer, limits, progress handler */
int64_t nl_deadline_ns(int64_t limit_ms); /* guard.c: from now, 0 for no limit */

/* What a statement error means, as an error of ours: the message, where, and the nearest name. */
NL_MUST_CHECK bool nl_db_explain(struct nl_db *db, const char *sql, size_t at, int code,
                                 struct nl_err *err);

#endif
