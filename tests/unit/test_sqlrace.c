/*
 * A race: random statements run on our virtual tables and on real SQLite tables with the same rows,
 * and have to give the same answers, cell for cell.
 */
#define _GNU_SOURCE
#include <float.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

#include "check.h"
#include "devicetrace.h"

#include "sql/db.h"
#include "store/tracefile.h"

static struct nl_err err;

struct race {
    struct nl_db *ours;
    sqlite3 *theirs;
    uint64_t state;
    char sql[4096];
    size_t len;
};

static const char *const raced_tables[] = {"slices",   "kernels", "copies",    "api",        "nvtx",
                                           "counters", "lanes",   "processes", "collectives"};

static uint64_t draw(struct race *race, uint64_t below)
{
    race->state ^= race->state << 13;
    race->state ^= race->state >> 7;
    race->state ^= race->state << 17;
    return (race->state >> 11) % below;
}

static void put(struct race *race, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct race *race, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(race->sql + race->len, sizeof race->sql - race->len, format, args);
    va_end(args);
    race->len += (size_t)wrote;
    if (race->len >= sizeof race->sql)
        race->len = sizeof race->sql - 1;
}

static void bind(sqlite3_stmt *insert, int at, const struct nl_cell *cell)
{
    switch (cell->type) {
    case NL_CELL_I64: sqlite3_bind_int64(insert, at, cell->i64); break;
    case NL_CELL_F64: sqlite3_bind_double(insert, at, cell->f64); break;
    case NL_CELL_TEXT:
        sqlite3_bind_text(insert, at, cell->text.ptr, (int)cell->text.len, SQLITE_STATIC);
        break;
    case NL_CELL_NULL: sqlite3_bind_null(insert, at); break;
    }
}

/* A real table with the same columns, types, rowids and rows. */
static bool copy_table(struct race *race, const char *table)
{
    sqlite3_stmt *insert;
    char sql[sizeof race->sql + 100];
    snprintf(sql, sizeof sql, "SELECT name, type FROM pragma_table_info('%s')", table);
    struct nl_result *columns = nl_db_query(race->ours, sql, &err);
    snprintf(sql, sizeof sql, "SELECT rowid AS r, * FROM %s", table);
    struct nl_result *rows = nl_db_query(race->ours, sql, &err);
    if (!columns || !rows)
        return false;
    race->len = 0;
    for (size_t i = 0; i < columns->rows; i++)
        put(race, "%s\"%s\" %s", i ? "," : "", nl_result_cell(columns, i, 0)->text.ptr,
            nl_result_cell(columns, i, 1)->text.ptr);
    snprintf(sql, sizeof sql, "CREATE TABLE %s(%s)", table, race->sql);
    bool done = sqlite3_exec(race->theirs, sql, NULL, NULL, NULL) == SQLITE_OK;
    race->len = 0;
    put(race, "INSERT INTO %s(rowid", table);
    for (size_t i = 0; i < columns->rows; i++)
        put(race, ",\"%s\"", nl_result_cell(columns, i, 0)->text.ptr);
    put(race, ") VALUES(?");
    for (size_t i = 0; i < columns->rows; i++)
        put(race, ",?");
    put(race, ")");
    done = done && sqlite3_prepare_v2(race->theirs, race->sql, -1, &insert, NULL) == SQLITE_OK;
    for (size_t row = 0; done && row < rows->rows; row++) {
        for (size_t i = 0; i < rows->column_count; i++)
            bind(insert, (int)i + 1, nl_result_cell(rows, row, i));
        done = sqlite3_step(insert) == SQLITE_DONE;
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    nl_result_free(columns);
    nl_result_free(rows);
    return done;
}

/* A column of a table by chance; ids over int64 are left out (REAL in a real table). */
static const char *some_column(struct race *race, const char *table)
{
    static char names[8][64];
    static unsigned turn;
    char *name = names[turn++ % 8];
    sqlite3_stmt *statement;
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT name FROM pragma_table_info('%s') WHERE name != 'graph' LIMIT 1 OFFSET %d %% "
             "(SELECT count(*) FROM pragma_table_info('%s'))",
             table, (int)draw(race, 1000), table);
    snprintf(name, 64, "rowid");
    if (sqlite3_prepare_v2(race->theirs, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        snprintf(name, 64, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return name;
}

/* A literal: mostly a value that occurs in the column, at times bent. */
static void put_value(struct race *race, const char *table, const char *column)
{
    static const char *const odd[] = {"NULL",
                                      "0",
                                      "-1",
                                      "1e300",
                                      "-1e300",
                                      "'abc'",
                                      "''",
                                      "'12'",
                                      "x'00'",
                                      "2.5",
                                      "'kernel'",
                                      "' 7 '",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "'gemm'",
                                      "1.0"};
    sqlite3_stmt *statement;
    char sql[300];
    if (draw(race, 4) == 0) {
        put(race, "%s", odd[draw(race, CHECK_LENGTH(odd))]);
        return;
    }
    const char *form[] = {"quote(\"%s\")", "quote(\"%s\"+0.5)", "quote(cast(\"%s\" AS TEXT))",
                          "quote(\"%s\")"};
    char expression[120];
    snprintf(expression, sizeof expression, form[draw(race, 4)], column);
    snprintf(sql, sizeof sql,
             "SELECT %s FROM %s LIMIT 1 OFFSET %d %% max((SELECT count(*) FROM %s), 1)", expression,
             table, (int)draw(race, 7000), table);
    if (sqlite3_prepare_v2(race->theirs, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        put(race, "%s", (const char *)sqlite3_column_text(statement, 0));
    else
        put(race, "%d", (int)draw(race, 1000));
    sqlite3_finalize(statement);
}

static void put_term(struct race *race, const char *table, const char *alias)
{
    static const char *const operators[] = {"=", "=", "<", "<=", ">", ">=", "IS", "IS NOT", "!="};
    static const char *const patterns[] = {
        "LIKE 'cuda%'", "LIKE '%e%'", "GLOB '*[a-m]*'",          "GLOB 'g*'",
        "LIKE 'GEMM'",  "LIKE '_e%'", "LIKE '%\\%' ESCAPE '\\'", "LIKE 5",
        "GLOB NULL"};
    const char *column = some_column(race, table);
    put(race, "%s.\"%s\" ", alias, column);
    switch (draw(race, 8)) {
    case 0: put(race, "IS NULL"); break;
    case 1: put(race, "IS NOT NULL"); break;
    case 2: put(race, "%s", patterns[draw(race, CHECK_LENGTH(patterns))]); break;
    case 3: {
        put(race, "IN (");
        for (uint64_t left = draw(race, 5) + 1; left-- > 0;) {
            put_value(race, table, column);
            put(race, "%s", left ? "," : ")");
        }
        break;
    }
    case 4:
        put(race, "BETWEEN ");
        put_value(race, table, column);
        put(race, " AND ");
        put_value(race, table, column);
        break;
    default:
        put(race, "%s ", operators[draw(race, CHECK_LENGTH(operators))]);
        put_value(race, table, column);
    }
    if (draw(race, 15) == 0)
        put(race, " COLLATE NOCASE");
}

static void put_where(struct race *race, const char *table, const char *alias, const char *word)
{
    for (uint64_t left = draw(race, 4); left-- > 0; word = draw(race, 4) ? "AND" : "OR") {
        put(race, " %s ", word);
        put_term(race, table, alias);
    }
}

static void put_order(struct race *race, const char *table, const char *alias)
{
    put(race, " ORDER BY ");
    for (uint64_t left = draw(race, 3); left-- > 0;)
        put(race, "%s.\"%s\" %s, ", alias, some_column(race, table),
            draw(race, 2) ? "DESC" : "ASC");
    put(race, "%s.rowid", alias);
}

static void make_statement(struct race *race)
{
    static const char *const joined[] = {"ts", "name", "dur", "slice", "rowid", "correlation"};
    const char *a = raced_tables[draw(race, CHECK_LENGTH(raced_tables))];
    const char *b = raced_tables[draw(race, CHECK_LENGTH(raced_tables))];
    race->len = 0;
    switch (draw(race, 4)) {
    case 0: {
        const char *key = some_column(race, a);
        put(race, "SELECT a.\"%s\" AS k, count(*), min(a.rowid), max(a.\"%s\") FROM %s a", key,
            some_column(race, a), a);
        put_where(race, a, "a", "WHERE");
        put(race, " GROUP BY a.\"%s\" ORDER BY 1, 2, 3", key);
        break;
    }
    case 1: {
        const char *mine = some_column(race, a), *other = some_column(race, b);
        if (draw(race, 4)) /* one that both have */
            mine = other = joined[draw(race, CHECK_LENGTH(joined))];
        put(race,
            "SELECT a.rowid, b.rowid, b.\"%s\" FROM %s a %s JOIN %s b ON a.\"%s\" %s b.\"%s\"",
            some_column(race, b), a, draw(race, 3) ? "" : "LEFT", b, mine,
            draw(race, 6)   ? "="
            : draw(race, 2) ? "IS"
                            : "<",
            other);
        put_where(race, b, "b", "AND");
        put_where(race, a, "a", "WHERE");
        put_order(race, a, "a");
        put(race, ", b.rowid LIMIT 400");
        break;
    }
    case 2: {
        const char *key = some_column(race, a);
        put(race, "SELECT DISTINCT a.\"%s\", a.\"%s\" FROM %s a", key, some_column(race, a), a);
        put_where(race, a, "a", "WHERE");
        put(race, " ORDER BY 1%s, 2", draw(race, 2) ? " DESC" : "");
        break;
    }
    default:
        put(race, "SELECT a.rowid, a.* FROM %s a", a);
        put_where(race, a, "a", "WHERE");
        put_order(race, a, "a");
        put(race, " LIMIT %d OFFSET %d", (int)draw(race, 200) + 1, (int)draw(race, 3));
    }
}

static bool same_cell(const struct nl_cell *cell, sqlite3_stmt *statement, int i)
{
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_NULL: return cell->type == NL_CELL_NULL;
    case SQLITE_INTEGER:
        return cell->type == NL_CELL_I64 && cell->i64 == sqlite3_column_int64(statement, i);
    case SQLITE_FLOAT:
        if (cell->type == NL_CELL_TEXT) /* an id over int64, see some_column */
            return true;
        return cell->type == NL_CELL_F64 && cell->f64 == sqlite3_column_double(statement, i);
    default:
        return cell->type == NL_CELL_TEXT &&
               nl_str_eq(cell->text, (struct nl_str){sqlite3_column_blob(statement, i),
                                                     (size_t)sqlite3_column_bytes(statement, i)});
    }
}

static bool same_answer(struct race *race)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(race->theirs, race->sql, -1, &statement, NULL) != SQLITE_OK)
        return nl_db_query(race->ours, race->sql, &err) == NULL;
    nl_err_clear(&err);
    struct nl_result *result = nl_db_query(race->ours, race->sql, &err);
    size_t row = 0;
    bool same = result != NULL;
    while (sqlite3_step(statement) == SQLITE_ROW && same) {
        same = row < result->rows;
        for (int i = 0; same && i < sqlite3_column_count(statement); i++)
            same = same_cell(nl_result_cell(result, row, (size_t)i), statement, i);
        row++;
    }
    same = same && row == result->rows;
    sqlite3_finalize(statement);
    nl_result_free(result);
    return same;
}

static void run_race(const struct nl_trace *trace, uint64_t seed, bool absolute,
                     unsigned statements)
{
    struct race race = {.state = seed * 77 + 12345};
    const struct nl_db_options options = {.absolute = absolute};
    race.ours = nl_db_open(trace, &options, NULL, &err);
    REQUIRE(race.ours);
    REQUIRE(sqlite3_open(":memory:", &race.theirs) == SQLITE_OK);
    for (size_t i = 0; i < CHECK_LENGTH(raced_tables); i++)
        REQUIRE(copy_table(&race, raced_tables[i]));
    for (unsigned i = 0; i < statements; i++) {
        make_statement(&race);
        if (!same_answer(&race)) {
            check_case(race.sql);
            CHECK_TEXT(err.code ? err.text : "another answer", "the answer of real tables");
            break;
        }
    }
    sqlite3_close(race.theirs);
    nl_db_close(race.ours);
}

static void race_built(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct nl_trace *trace = devicetrace(seed, seed == 1 ? 20 : 350, 1000000, &err);
        REQUIRE(trace);
        run_race(trace, seed, seed % 2, (unsigned)check_draws(700));
        nl_trace_free(trace);
    }
}

/* The least and the greatest values that are known, in some rows of a column that is
 * stored and refers to no row. */
static void stretch_column(const struct nl_trace *trace, const struct nl_column_def *def)
{
    bool own = def->hop == NL_HOP_NONE && def->table != NL_T_slice && def->table != NL_T_lane;
    void *cells = own ? (void *)(uintptr_t)nl_trace_column(trace, def) : NULL;
    for (uint32_t row = 3; cells && row < nl_trace_rows(trace, def->table); row += 7)
        switch (def->type) {
        case NL_TYPE_I64: ((int64_t *)cells)[row] = row % 2 ? NL_NULL_I64 + 1 : INT64_MAX; break;
        case NL_TYPE_U64: ((uint64_t *)cells)[row] = row % 2 ? INT64_MAX : 0; break;
        case NL_TYPE_U32: ((uint32_t *)cells)[row] = row % 2 ? NL_NULL_U32 - 1 : 0; break;
        case NL_TYPE_F64: ((double *)cells)[row] = row % 2 ? -DBL_MAX : DBL_MAX; break;
        default: break;
        }
}

static void race_extreme(void)
{
    struct nl_trace *trace = devicetrace(7, 300, 1000000, &err);
    REQUIRE(trace);
    for (int table = 0; table < NL_TABLE_COUNT; table++)
        for (unsigned i = 0; i < nl_tables[table].count; i++)
            stretch_column(trace, &nl_columns[nl_tables[table].first + i]);
    run_race(trace, 7, false, (unsigned)check_draws(700));
    nl_trace_free(trace);
}

/* The dictionary of a trace file has no hash table: names are found by other means. */
static void race_mapped(void)
{
    char path[] = "/tmp/neurolens-query-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    struct nl_trace *trace = devicetrace(6, 300, 1000000, &err);
    REQUIRE(trace);
    bool saved = nl_trace_save(trace, path, &err);
    nl_trace_free(trace);
    trace = saved ? nl_trace_open(path, true, 1, &err) : NULL;
    unlink(path);
    REQUIRE(trace);
    run_race(trace, 6, false, (unsigned)check_draws(500));
    nl_trace_free(trace);
}

CHECK_MAIN("sqlrace", {"race with real tables", race_built}, {"race on a trace file", race_mapped},
           {"race at the ends of the numbers", race_extreme})
