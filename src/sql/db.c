/*
 * One SQLite connection per trace: an in-memory database whose tables are the trace's columns.
 * Opening makes the tables and then locks the connection (guard.c); after that only SELECT works.
 */
#include "sql/db.h"

#include <math.h>
#include <string.h>

#include "sql/functions.h"
#include "sql/vtab.h"

#define CACHE_KIB 131072 /* what SQLite's sorter may use before it writes to a temporary file */

static bool exec(struct nl_db *db, const char *sql, struct nl_err *err)
{
    if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return nl_fail(err, NL_INTERNAL, "SQL set-up failed: %s", sqlite3_errmsg(db->sqlite));
}

/* What makes a table, with its columns, so that sqlite_schema.sql shows them. */
static void describe_table(struct nl_buf *sql, enum nl_table_id id)
{
    const struct nl_table_def *table = &nl_tables[id];
    nl_buf_format(sql, "CREATE VIRTUAL TABLE %s USING %s(", table->sql, table->sql);
    if (nl_table_has_id(id))
        nl_buf_text(sql, "id INTEGER, ");
    for (unsigned i = 0; i < table->count; i++) {
        const struct nl_column_def *column = &nl_columns[table->first + i];
        nl_buf_format(sql, "%s\"%s\" %s", i ? ", " : "", column->name, nl_column_sql_type(column));
    }
    nl_buf_char(sql, ')');
}

/* Into the schema, as SQLite writes it there for a CREATE VIRTUAL TABLE. */
static bool list_table(sqlite3_stmt *insert, const char *name, const struct nl_buf *sql)
{
    return sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(insert, 2, sql->ptr, (int)sql->len, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
}

static bool list_tables(sqlite3_stmt *insert)
{
    struct nl_buf sql;
    bool done = true;
    nl_buf_init(&sql, 1 << 16);
    for (unsigned i = 0; i < NL_TABLE_COUNT && done; i++) {
        nl_buf_clear(&sql);
        describe_table(&sql, (enum nl_table_id)i);
        done = list_table(insert, nl_tables[i].sql, &sql);
    }
    for (size_t i = 0; nl_table_functions[i] && done; i++) {
        const struct nl_table_function *function = nl_table_functions[i];
        nl_buf_clear(&sql);
        nl_buf_format(&sql, "CREATE VIRTUAL TABLE %s USING %s", function->name, function->name);
        done = !function->listed || list_table(insert, function->name, &sql);
    }
    nl_buf_release(&sql);
    return done;
}

/* SQLite's own table functions are declared when first used, which the authorizer would take for a
 * CREATE TABLE; naming them once before it is there declares them for good. */
static bool declare_builtins(struct nl_db *db, struct nl_err *err)
{
    static const char *const names[] = {"json_each('[]')",   "json_tree('[]')",
                                        "pragma_table_info", "pragma_table_xinfo",
                                        "pragma_table_list", "pragma_function_list"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char sql[80];
        sqlite3_snprintf(sizeof sql, sql, "SELECT 1 FROM %s LIMIT 0", names[i]);
        if (!exec(db, sql, err))
            return false;
    }
    return true;
}

/* Writes the schema and lets SQLite read it as that of a database which is opened: it then declares
 * a table where a statement names it. To create them declares all, which takes most of the time of
 * a question about a small profile. */
static bool make_tables(struct nl_db *db, struct nl_err *err)
{
    sqlite3_stmt *insert = NULL;
    if (!exec(db, "PRAGMA writable_schema = ON; BEGIN", err))
        return false;
    bool done = sqlite3_prepare_v2(db->sqlite,
                                   "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)"
                                   " VALUES ('table', ?1, ?1, 0, ?2)",
                                   -1, &insert, NULL) == SQLITE_OK &&
                list_tables(insert);
    if (!done)
        (void)nl_fail(err, NL_INTERNAL, "SQL set-up failed: %s", sqlite3_errmsg(db->sqlite));
    sqlite3_finalize(insert);
    return done && exec(db, "COMMIT; PRAGMA writable_schema = RESET", err);
}

struct nl_db *nl_db_open(const struct nl_trace *trace, const struct nl_db_options *options,
                         struct nl_job *job, struct nl_err *err)
{
    char pragmas[80];
    struct nl_db *db = nl_zalloc(sizeof *db);
    db->trace = trace;
    if (options)
        db->options = *options;
    db->job = job;
    db->origin = db->options.absolute ? 0 : trace->first_ts;
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(":memory:", &db->sqlite, flags, NULL) != SQLITE_OK ||
        nl_vtab_register(db) != SQLITE_OK || nl_functions_register(db) != SQLITE_OK ||
        nl_tablefunctions_register(db) != SQLITE_OK) {
        (void)nl_fail(err, NL_INTERNAL, "SQLite cannot be set up: %s",
                      db->sqlite ? sqlite3_errmsg(db->sqlite) : "no memory");
        nl_db_close(db);
        return NULL;
    }
    sqlite3_snprintf(sizeof pragmas, pragmas, "PRAGMA cache_size = -%d", CACHE_KIB);
    if (!exec(db, pragmas, err) || !make_tables(db, err) || !declare_builtins(db, err) ||
        !exec(db, "PRAGMA query_only = ON", err)) {
        nl_db_close(db);
        return NULL;
    }
    nl_guard_install(db);
    db->watch = nl_stopwatch_new(db->sqlite, job);
    return db;
}

void nl_db_close(struct nl_db *db)
{
    if (!db)
        return;
    nl_stopwatch_free(db->watch);
    sqlite3_close(db->sqlite);
    nl_db_free_sets(db);
    nl_free(db->name_ranks);
    nl_free(db->name_order);
    nl_free(db);
}

/* ---- Answers ---- */

/* What a column's numbers mean: from its declared type, else from the unit its name ends with. */
static enum nl_meaning meaning_of(const char *type, const char *name)
{
    static const struct {
        const char *type, *ending;
        enum nl_meaning meaning;
    } rules[] = {{"INTEGER NS", NULL, NL_MEANS_NS},    {"INTEGER BYTES", NULL, NL_MEANS_BYTES},
                 {"REAL SHARE", NULL, NL_MEANS_SHARE}, {"INTEGER", NULL, NL_MEANS_INTEGER},
                 {"TEXT", NULL, NL_MEANS_TEXT},        {"REAL", NULL, NL_MEANS_NUMBER},
                 {NULL, "_ns", NL_MEANS_NS},           {NULL, "_bytes", NL_MEANS_BYTES},
                 {NULL, "_share", NL_MEANS_SHARE}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].type && type && strcmp(rules[i].type, type) == 0)
            return rules[i].meaning;
        if (rules[i].ending && nl_str_ends(nl_str(name), rules[i].ending))
            return rules[i].meaning;
    }
    return NL_MEANS_ANY;
}

/* The answer of a statement as it is made: the sink's, and what its rows need meanwhile. */
struct answer {
    const struct nl_db_sink *sink;
    struct nl_cell *cells; /* of the row */
    struct nl_buf *blobs;  /* a text per column, of those that held bytes */
    size_t count;
};

static void start_answer(struct answer *answer, sqlite3_stmt *statement)
{
    size_t count = (size_t)sqlite3_column_count(statement);
    struct nl_result_column *columns = nl_zalloc(count * sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(statement, (int)i);
        columns[i].name = name ? name : "";
        columns[i].meaning =
            meaning_of(sqlite3_column_decltype(statement, (int)i), columns[i].name);
    }
    answer->count = count;
    answer->cells = nl_zalloc(count * sizeof *answer->cells);
    answer->blobs = nl_zalloc(count * sizeof *answer->blobs);
    for (size_t i = 0; i < count; i++)
        nl_buf_init(&answer->blobs[i], SIZE_MAX);
    answer->sink->begin(answer->sink->context, columns, count);
    nl_free(columns);
}

static void end_answer(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        nl_buf_release(&answer->blobs[i]);
    nl_free(answer->blobs);
    nl_free(answer->cells);
}

static struct nl_cell blob_cell(struct nl_buf *text, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    nl_buf_clear(text);
    nl_buf_text(text, "X'");
    for (size_t i = 0; i < len; i++) {
        nl_buf_char(text, digits[bytes[i] >> 4]);
        nl_buf_char(text, digits[bytes[i] & 15]);
    }
    nl_buf_char(text, '\'');
    return (struct nl_cell){.type = NL_CELL_TEXT, .text = {text->ptr, text->len}};
}

static struct nl_cell read_cell(struct nl_buf *blob, sqlite3_stmt *statement, int i)
{
    struct nl_str text;
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
        return (struct nl_cell){.type = NL_CELL_I64, .i64 = sqlite3_column_int64(statement, i)};
    case SQLITE_FLOAT: {
        double value = sqlite3_column_double(statement, i); /* beyond all doubles: no number */
        return isfinite(value) ? nl_cell_f64(value) : (struct nl_cell){.type = NL_CELL_NULL};
    }
    case SQLITE_TEXT:
        text.ptr = sqlite3_column_blob(statement, i);
        text.len = (size_t)sqlite3_column_bytes(statement, i);
        return (struct nl_cell){.type = NL_CELL_TEXT, .text = text.ptr ? text : nl_str("")};
    case SQLITE_BLOB:
        return blob_cell(blob, sqlite3_column_blob(statement, i),
                         (size_t)sqlite3_column_bytes(statement, i));
    default: return (struct nl_cell){.type = NL_CELL_NULL};
    }
}

/* Runs one statement. */
static int run_statement(struct nl_db *db, sqlite3_stmt *statement, const struct nl_db_sink *sink)
{
    int rc;
    struct answer answer = {.sink = sink};
    bool more = sqlite3_column_count(statement) > 0;
    if (more)
        start_answer(&answer, statement);
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (size_t i = 0; i < answer.count; i++)
            answer.cells[i] = read_cell(&answer.blobs[i], statement, (int)i);
        enum nl_db_row taken = answer.count ? sink->row(sink->context, answer.cells) : NL_DB_MORE;
        if (taken == NL_DB_MORE)
            continue;
        db->too_large = taken == NL_DB_TOO_LARGE;
        rc = db->too_large ? SQLITE_NOMEM : SQLITE_DONE;
        break;
    }
    end_answer(&answer);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Its first placeholder, NULL without. SQLite would take NULL for what has no value, and
 * answer another question. */
static const char *placeholder(sqlite3_stmt *statement)
{
    if (!statement || !sqlite3_bind_parameter_count(statement))
        return NULL;
    const char *name = sqlite3_bind_parameter_name(statement, 1);
    return name ? name : "?";
}

static void begin_statement(struct nl_db *db)
{
    db->timed_out = db->interrupted = db->too_large = false;
    db->refused[0] = '\0';
    db->deadline_ns = nl_deadline_ns(db->options.time_limit_ms);
    nl_stopwatch_set(db->watch, db->deadline_ns);
}

bool nl_db_rows(struct nl_db *db, const char *sql, const struct nl_db_sink *sink,
                struct nl_err *err)
{
    const char *rest = sql;
    bool done = true;
    while (done && *rest) {
        const char *tail = rest;
        sqlite3_stmt *statement = NULL;
        begin_statement(db);
        int rc = sqlite3_prepare_v2(db->sqlite, rest, -1, &statement, &tail);
        if (rc == SQLITE_OK && statement && !sqlite3_stmt_readonly(statement)) {
            sqlite3_snprintf(sizeof db->refused, db->refused, "this statement");
            rc = SQLITE_AUTH;
        } else if (rc == SQLITE_OK && placeholder(statement)) {
            done =
                nl_fail(err, NL_QUERY, "placeholder %s has no value; write the value in its place",
                        placeholder(statement));
        } else if (rc == SQLITE_OK && statement) {
            rc = run_statement(db, statement, sink);
        }
        nl_stopwatch_set(db->watch, 0);
        if (rc == SQLITE_INTERRUPT)
            (void)nl_db_must_stop(db); /* says why */
        if (rc != SQLITE_OK)
            done = nl_db_explain(db, sql, (size_t)(rest - sql), rc, err);
        sqlite3_finalize(statement);
        nl_db_free_sets(db);
        rest = tail;
    }
    return done;
}

/* ---- an answer that is held as a whole until it is shown ---- */

struct held {
    const struct nl_db *db;
    struct nl_result *result; /* of the last statement with columns */
};

static void begin_result(void *context, const struct nl_result_column *columns, size_t count)
{
    struct held *held = context;
    nl_result_free(held->result);
    held->result = nl_result_new("sql", NULL, columns, count);
    for (size_t i = 0; i < count; i++)
        held->result->columns[i].name =
            nl_arena_text(&held->result->arena, columns[i].name, strlen(columns[i].name));
}

/* A meaning stays only when every cell has its type; SQL may have put anything there. */
static void check_meanings(struct nl_result *result)
{
    for (size_t column = 0; column < result->column_count; column++) {
        enum nl_meaning meaning = result->columns[column].meaning;
        enum nl_cell_type type = NL_CELL_I64;
        if (meaning == NL_MEANS_TEXT)
            type = NL_CELL_TEXT;
        else if (meaning == NL_MEANS_SHARE || meaning == NL_MEANS_NUMBER)
            type = NL_CELL_F64;
        for (size_t row = 0; row < result->rows && meaning != NL_MEANS_ANY; row++) {
            enum nl_cell_type is = nl_result_cell(result, row, column)->type;
            if (is != NL_CELL_NULL && is != type)
                meaning = result->columns[column].meaning = NL_MEANS_ANY;
        }
    }
}

/* True (and sets `truncated`) once the row limit is reached. */
static bool is_full(const struct nl_db *db, struct nl_result *result)
{
    if (!db->options.row_limit || result->rows < db->options.row_limit)
        return false;
    result->note = nl_arena_format(&result->arena, "cut after %llu rows (the row limit)",
                                   (unsigned long long)result->rows);
    result->truncated = true;
    return true;
}

/* Half of an answer would be taken for all of it. */
static bool is_too_large(const struct nl_db *db, const struct nl_result *result)
{
    uint64_t budget = db->job ? db->job->memory_bytes / 2 : 0;
    return budget && result->arena.used + result->cell_cap * sizeof *result->cells > budget;
}

static enum nl_db_row keep_row(void *context, const struct nl_cell *cells)
{
    struct held *held = context;
    struct nl_result *result = held->result;
    if (is_full(held->db, result))
        return NL_DB_ENOUGH;
    if (is_too_large(held->db, result))
        return NL_DB_TOO_LARGE;
    struct nl_cell *row = nl_result_row(result);
    for (size_t i = 0; i < result->column_count; i++)
        row[i] = cells[i].type == NL_CELL_TEXT ? nl_cell_text(result, cells[i].text) : cells[i];
    return NL_DB_MORE;
}

struct nl_result *nl_db_query(struct nl_db *db, const char *sql, struct nl_err *err)
{
    struct held held = {.db = db};
    struct nl_db_sink sink = {.context = &held, .begin = begin_result, .row = keep_row};
    if (nl_db_rows(db, sql, &sink, err)) {
        if (held.result)
            check_meanings(held.result);
        return held.result;
    }
    nl_result_free(held.result);
    return NULL;
}
