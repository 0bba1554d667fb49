/*
 * One SQLite module for all table functions. Their arguments are hidden columns, so both
 * `time_breakdown(0, 1000)` and `time_breakdown WHERE …` work; the module collects the arguments,
 * calls `open` once per scan and then reads cells row by row.
 */
#include <string.h>

#include "base/mem.h"
#include "sql/functions.h"

const struct nl_table_function *const nl_table_functions[] = {
    &nl_tf_time_breakdown, &nl_tf_detected_steps, &nl_tf_kernel_summary,
    &nl_tf_name_stats,     &nl_tf_self_time,      &nl_tf_launch_ranges,
    &nl_tf_kernel_owner,   &nl_tf_union,          &nl_tf_intersect,
    &nl_tf_subtract,       &nl_tf_gaps,           &nl_tf_idle_gaps,
    &nl_tf_idle_causes,    &nl_tf_account,        &nl_tf_op_work,
    &nl_tf_roofline,       &nl_tf_llm_steps,      NULL};

struct module {
    struct nl_db *db;
    const struct nl_table_function *function;
};

struct table {
    sqlite3_vtab base;
    struct module *module;
    int columns; /* visible ones; arguments follow */
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct nl_tf_call call;
    bool open;
    size_t row;
};

static int declare(const struct module *module)
{
    const struct nl_table_function *function = module->function;
    struct nl_buf sql;
    nl_buf_init(&sql, 1 << 14);
    nl_buf_text(&sql, "CREATE TABLE t(");
    for (const struct nl_tf_column *column = function->columns; column->name; column++)
        nl_buf_format(&sql, "%s\"%s\" %s", column == function->columns ? "" : ", ", column->name,
                      column->type);
    for (const struct nl_tf_column *argument = function->arguments; argument->name; argument++)
        nl_buf_format(&sql, ", \"%s\" HIDDEN", argument->name);
    nl_buf_char(&sql, ')');
    int rc = nl_db_declare(module->db, sql.ptr);
    nl_buf_release(&sql);
    return rc;
}

static int connect(sqlite3 *sqlite, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    struct module *module = context;
    int rc = declare(module);
    if (rc != SQLITE_OK)
        return rc;
    struct table *table = nl_zalloc(sizeof *table);
    table->module = module;
    while (module->function->columns[table->columns].name)
        table->columns++;
    sqlite3_vtab_config(sqlite, SQLITE_VTAB_DIRECTONLY);
    *out = &table->base;
    return SQLITE_OK;
}

/* Not the same function as connect, which would make listed functions eponymous: those are created
 * by name, so that sqlite_schema has them. */
static int create(sqlite3 *sqlite, void *context, int argc, const char *const *argv,
                  sqlite3_vtab **out, char **message)
{
    return connect(sqlite, context, argc, argv, out, message);
}

static int disconnect(sqlite3_vtab *base)
{
    nl_free(base);
    return SQLITE_OK;
}

/* idxNum has a bit per given argument; argv holds them in ascending order. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct table *table = (const struct table *)base;
    int at[NL_MAX_ARGUMENTS], given = 0;
    for (int argument = 0; argument < NL_MAX_ARGUMENTS; argument++)
        at[argument] = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraint[i].iColumn - table->columns;
        if (argument < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT; /* argument not bound yet: ask for another plan */
        at[argument] = i;
    }
    for (int argument = 0; argument < NL_MAX_ARGUMENTS; argument++) {
        if (at[argument] < 0)
            continue;
        info->aConstraintUsage[at[argument]].argvIndex = ++given;
        info->aConstraintUsage[at[argument]].omit = 1;
        info->idxNum |= 1 << argument;
    }
    info->estimatedCost = 1e6; /* each scan computes everything anew: outermost, please */
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    struct cursor *cursor = nl_zalloc(sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static void close_call(struct cursor *cursor)
{
    const struct table *table = (const struct table *)cursor->base.pVtab;
    if (cursor->open)
        table->module->function->close(&cursor->call);
    cursor->open = false;
    cursor->call = (struct nl_tf_call){.db = table->module->db};
    cursor->row = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    close_call((struct cursor *)base);
    nl_free(base);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int given, const char *text, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    const struct nl_table_function *function = table->module->function;
    sqlite3_value *args[NL_MAX_ARGUMENTS] = {NULL};
    unsigned first_missing = 0;
    (void)text;
    close_call(cursor);
    for (int argument = 0, next = 0; argument < NL_MAX_ARGUMENTS && next < argc; argument++)
        if (given >> argument & 1)
            args[argument] = argv[next++];
    while (first_missing < NL_MAX_ARGUMENTS && args[first_missing])
        first_missing++;
    if (first_missing < function->required)
        sqlite3_snprintf(sizeof cursor->call.message, cursor->call.message,
                         "argument %u (%s) is missing", first_missing + 1,
                         function->arguments[first_missing].name);
    else
        cursor->open = function->open(&cursor->call, args);
    if (cursor->open)
        return SQLITE_OK;
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = sqlite3_mprintf("%s: %s", function->signature, cursor->call.message);
    return SQLITE_ERROR;
}

static int next(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->row++;
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;
    return cursor->row >= cursor->call.rows;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct table *table = (const struct table *)base->pVtab;
    if (number < table->columns)
        table->module->function->column(&cursor->call, cursor->row, number, context);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((const struct cursor *)base)->row;
    return SQLITE_OK;
}

/* Listed functions are tables with a fixed name; the others exist without CREATE. */
static const sqlite3_module listed_module = {.xCreate = create,
                                             .xConnect = connect,
                                             .xBestIndex = best_index,
                                             .xDisconnect = disconnect,
                                             .xDestroy = disconnect,
                                             .xOpen = open_cursor,
                                             .xClose = close_cursor,
                                             .xFilter = filter,
                                             .xNext = next,
                                             .xEof = eof,
                                             .xColumn = column,
                                             .xRowid = rowid};
static const sqlite3_module eponymous_module = {.xConnect = connect,
                                                .xBestIndex = best_index,
                                                .xDisconnect = disconnect,
                                                .xDestroy = disconnect,
                                                .xOpen = open_cursor,
                                                .xClose = close_cursor,
                                                .xFilter = filter,
                                                .xNext = next,
                                                .xEof = eof,
                                                .xColumn = column,
                                                .xRowid = rowid};

int nl_tablefunctions_register(struct nl_db *db)
{
    for (size_t i = 0; nl_table_functions[i]; i++) {
        const struct nl_table_function *function = nl_table_functions[i];
        struct module *module = nl_alloc(sizeof *module);
        *module = (struct module){db, function};
        int rc = sqlite3_create_module_v2(db->sqlite, function->name,
                                          function->listed ? &listed_module : &eponymous_module,
                                          module, nl_free);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}
