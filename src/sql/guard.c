/*
 * What a statement may do: read. The authorizer knows the few actions of a SELECT and refuses every
 * other, so a new kind of statement is refused until somebody adds it here. Limits bound what one
 * text can ask for, and a handler that SQLite calls every few thousand steps ends what takes too
 * long.
 */
#define _GNU_SOURCE
#include <string.h>

#include "base/clock.h"
#include "sql/dbstate.h"

#define STEPS_BETWEEN_CHECKS 4000

bool nl_db_must_stop(struct nl_db *db)
{
    if (nl_job_cancelled(db->job))
        db->interrupted = true;
    else if (db->deadline_ns && nl_monotonic_ns() > db->deadline_ns)
        db->timed_out = true;
    return db->interrupted || db->timed_out;
}

static int on_progress(void *db)
{
    return nl_db_must_stop(db);
}

static bool is_in(const char *const *list, const char *name)
{
    for (; name && *list; list++)
        if (sqlite3_stricmp(*list, name) == 0)
            return true;
    return false;
}

static const char *const readable_pragmas[] = {"table_info",    "table_xinfo",     "table_list",
                                               "function_list", "module_list",     "pragma_list",
                                               "database_list", "compile_options", NULL};
static const char *const refused_functions[] = {"load_extension", "fts3_tokenizer", NULL};

static int refuse_action(struct nl_db *db, const char *what, const char *detail)
{
    sqlite3_snprintf(sizeof db->refused, db->refused, "%s%s%.60s", what, detail ? " " : "",
                     detail ? detail : "");
    return SQLITE_DENY;
}

static int authorise(void *context, int action, const char *first, const char *second,
                     const char *schema, const char *source)
{
    struct nl_db *db = context;
    (void)schema;
    (void)source;
    if (db->declaring)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_in(refused_functions, second) ? refuse_action(db, "function", second) : SQLITE_OK;
    case SQLITE_PRAGMA:
        return is_in(readable_pragmas, first) ? SQLITE_OK : refuse_action(db, "PRAGMA", first);
    case SQLITE_ATTACH: return refuse_action(db, "ATTACH", NULL);
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return sqlite3_strnicmp(first, "sqlite_", 7) == 0
                   ? refuse_action(db, "this statement", NULL)
                   : refuse_action(db, "a change of", first);
    default: return refuse_action(db, "this statement", NULL);
    }
}

int nl_db_declare(struct nl_db *db, const char *sql)
{
    db->declaring = true;
    int rc = sqlite3_declare_vtab(db->sqlite, sql);
    db->declaring = false;
    return rc;
}

static const struct {
    int limit, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 80 << 20}, /* over the longest name of a dictionary */
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},  {SQLITE_LIMIT_COLUMN, 500},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},      {SQLITE_LIMIT_COMPOUND_SELECT, 100},
    {SQLITE_LIMIT_VDBE_OP, 1000000},     {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 100}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static const struct {
    int option, value;
} settings[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},  {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
};

void nl_guard_install(struct nl_db *db)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db->sqlite, limits[i].limit, limits[i].value);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sqlite3_db_config(db->sqlite, settings[i].option, settings[i].value, NULL);
    sqlite3_progress_handler(db->sqlite, STEPS_BETWEEN_CHECKS, on_progress, db);
    sqlite3_set_authorizer(db->sqlite, authorise, db);
}

int64_t nl_deadline_ns(int64_t limit_ms)
{
    return limit_ms > 0 ? nl_monotonic_ns() + limit_ms * 1000000 : 0;
}
