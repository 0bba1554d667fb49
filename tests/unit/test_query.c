/*
 * SQL over a trace. The main test is a race: random statements run on our tables and on real SQLite
 * tables with the same rows, and have to give the same answers, cell for cell.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <unistd.h>

#include "check.h"
#include "devicetrace.h"

#include "base/mem.h"
#include "query/breakdown.h"
#include "query/db.h"
#include "store/tracefile.h"

/* ---- Running statements ---- */

static struct nl_err err;

static struct nl_db *open_db(const struct nl_trace *trace, struct nl_db_options options)
{
    nl_err_clear(&err);
    return nl_db_open(trace, &options, NULL, &err);
}

/* The first cell of the only row, as text; "error: …" or "NULL" otherwise. */
static const char *scalar(struct nl_db *db, const char *sql)
{
    static char text[1024];
    nl_err_clear(&err);
    struct nl_result *result = nl_db_query(db, sql, &err);
    if (!result) {
        snprintf(text, sizeof text, "%s", err.code ? err.text : "nothing");
        return text;
    }
    const struct nl_cell *cell = result->rows ? nl_result_cell(result, 0, 0) : NULL;
    if (!cell)
        snprintf(text, sizeof text, "no row");
    else if (cell->type == NL_CELL_I64)
        snprintf(text, sizeof text, "%" PRId64, cell->i64);
    else if (cell->type == NL_CELL_F64)
        snprintf(text, sizeof text, "%.17g", cell->f64);
    else if (cell->type == NL_CELL_TEXT)
        snprintf(text, sizeof text, "%.*s", (int)cell->text.len, cell->text.ptr);
    else
        snprintf(text, sizeof text, "NULL");
    nl_result_free(result);
    return text;
}

/* ---- The race ---- */

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
        put(race, "SELECT a.rowid, b.rowid, b.\"%s\" FROM %s a %s JOIN %s b ON a.\"%s\" %s b.\"%s\"",
            some_column(race, b), a, draw(race, 3) ? "" : "LEFT", b, mine,
            draw(race, 6) ? "=" : draw(race, 2) ? "IS" : "<", other);
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
    race.ours = open_db(trace, (struct nl_db_options){.absolute = absolute});
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
        run_race(trace, seed, seed % 2, 700);
        nl_trace_free(trace);
    }
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
    run_race(trace, 6, false, 500);
    nl_trace_free(trace);
}

/* ---- Names and values ---- */

static void contract_names(void)
{
    static const char *const statements[] = {
        "SELECT id, ts, dur, name, kind, lane, depth, parent FROM slices",
        "SELECT ts, dur, name, class, device, stream, context, process, rank, correlation, graph, "
        "grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, "
        "dynamic_shared_bytes, occupancy FROM kernels",
        "SELECT ts, dur, bytes, kind, src_memory, dst_memory, device, stream, rank, correlation "
        "FROM copies",
        "SELECT * FROM memsets",
        "SELECT * FROM syncs",
        "SELECT ts, dur, name, process, thread, rank, correlation FROM api",
        "SELECT ts, dur, name, thread, rank, shapes, dtypes, flops, bytes FROM ops",
        "SELECT * FROM layers",
        "SELECT ts, dur, name, domain, thread, rank FROM nvtx",
        "SELECT * FROM python",
        "SELECT ts, dur, name, operation, bytes, dtype, ranks, device, stream, rank FROM "
        "collectives",
        "SELECT ts, name, value, lane FROM counters",
        "SELECT \"index\", ts, dur, name, rank FROM steps",
        "SELECT * FROM lanes",
        "SELECT * FROM devices",
        "SELECT * FROM processes",
        "SELECT * FROM threads",
        "SELECT key, value FROM metadata",
        "SELECT item, count, detail FROM coverage",
        "SELECT rank, device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns FROM "
        "time_breakdown",
        "SELECT name, count, total_ns, min_ns, median_ns, p95_ns, max_ns, stddev_ns FROM "
        "kernel_summary"};
    struct nl_trace *trace = devicetrace(3, 50, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(statements); i++) {
        check_case(statements[i]);
        struct nl_result *result = nl_db_query(db, statements[i], &err);
        CHECK(result);
        nl_result_free(result);
    }
    nl_db_close(db);
    nl_trace_free(trace);
}

static void values(void)
{
    struct nl_trace *trace = devicetrace(3, 200, 100000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    CHECK_TEXT(scalar(db, "SELECT min(ts) FROM slices"), "0");
    CHECK_TEXT(scalar(db, "SELECT max(graph) FROM kernels WHERE graph LIKE '18446744073709551%'"),
               scalar(db, "SELECT max(graph) FROM kernels"));
    CHECK_TEXT(scalar(db, "SELECT typeof(graph) FROM kernels WHERE graph IS NOT NULL LIMIT 1"),
               "text");
    CHECK_TEXT(scalar(db,
                      "SELECT count(*) > 0 FROM kernels k WHERE graph = (SELECT max(graph) FROM "
                      "kernels) AND graph > 9223372036854775807"),
               "1");
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM kernels WHERE name = ''"), "0");
    CHECK_TEXT(scalar(db, "SELECT count(*) > 0 FROM kernels WHERE name IS NULL"), "1");
    CHECK_TEXT(scalar(db, "SELECT count(*) > 0 FROM kernels WHERE occupancy IS NULL"), "1");
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM kernels WHERE occupancy = 0 AND occupancy IS NULL"),
               "0");
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM kernels k JOIN slices s ON s.id = k.slice WHERE "
                          "s.ts != k.ts OR s.kind != 'kernel'"),
               "0");
    CHECK_TEXT(
        scalar(db, "SELECT group_concat(DISTINCT class) FROM kernels WHERE name GLOB 'nccl*'"),
        "communication");
    CHECK_TEXT(scalar(db,
                      "SELECT idle_ns + compute_ns + exposed_comm_ns + exposed_copy_ns - wall_ns "
                      "FROM time_breakdown"),
               "0");
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM time_breakdown(NULL, NULL, 1)"), "1");
    CHECK_TEXT(scalar(db, "SELECT max(wall_ns) <= 500 FROM time_breakdown(1000, 1500)"), "1");
    CHECK_TEXT(scalar(db, "SELECT sum(count) = (SELECT count(*) FROM kernels) FROM kernel_summary"),
               "1");
    nl_db_close(db);
    db = open_db(trace, (struct nl_db_options){.absolute = true});
    char first[32];
    snprintf(first, sizeof first, "%" PRId64, trace->first_ts);
    CHECK_TEXT(scalar(db, "SELECT min(ts) FROM slices"), first);
    nl_db_close(db);
    nl_trace_free(trace);
}

static void functions(void)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"SELECT busy(x, y) FROM (SELECT 0 x, 10 y UNION ALL SELECT 5, 10 UNION ALL SELECT NULL, 3 "
         "UNION ALL SELECT 40, 2)",
         "17"},
        {"SELECT interval_length(intervals(x, 10)) FROM (SELECT 0 x UNION ALL SELECT 3)", "13"},
        {"SELECT interval_count(intervals(x, 1)) FROM (SELECT 0 x UNION ALL SELECT 3)", "2"},
        {"SELECT interval_length(intervals(1, 1)) FROM (SELECT 1 WHERE 0)", "0"},
        {"SELECT busy(1, 1) FROM (SELECT 1 WHERE 0)", "0"},
        {"SELECT overlap_ns((SELECT intervals(0, 10)), (SELECT intervals(5, 10)))", "5"},
        {"SELECT interval_length(interval_subtract((SELECT intervals(0, 10)), (SELECT intervals(5, "
         "1))))",
         "9"},
        {"SELECT interval_length(interval_gaps(intervals(5, 1), 0, 10))", "9"},
        {"SELECT group_concat(ts || '+' || dur) FROM interval_gaps((SELECT intervals(5, 1)), 0, "
         "10)",
         "0+5,6+4"},
        {"SELECT group_concat(ts || '+' || dur) FROM interval_union((SELECT intervals(5, 1)), "
         "(SELECT "
         "intervals(6, 2)))",
         "5+3"},
        {"SELECT sum(dur) FROM interval_intersect((SELECT intervals(0, 10)), (SELECT intervals(8, "
         "20)))",
         "2"},
        {"SELECT median(x) FROM (SELECT 1 x UNION ALL SELECT 2 UNION ALL SELECT 4 UNION ALL SELECT "
         "NULL)",
         "2"},
        {"SELECT median(x) FROM (SELECT 1 x UNION ALL SELECT 2.5)", "1.75"},
        {"SELECT median(x) FROM (SELECT -1.5 x UNION ALL SELECT -2.5 UNION ALL SELECT 7)", "-1.5"},
        {"SELECT percentile(x, 25) FROM (SELECT 10 x UNION ALL SELECT 20 UNION ALL SELECT 30)",
         "15"},
        {"SELECT percentile(x, 100) FROM (SELECT 10 x UNION ALL SELECT 20)", "20"},
        {"SELECT p95(x) FROM (SELECT 1 x WHERE 0)", "NULL"},
        {"SELECT stddev(x) FROM (SELECT 1 x UNION ALL SELECT 3)", "1.4142135623730951"},
        {"SELECT stddev(1)", "NULL"},
        {"SELECT percentile(1, 101)", "percentile(x, p): p has to be a number from 0 to 100"},
        {"SELECT median('a')", "quantiles are of numbers, not of text"},
        {"SELECT sum(self_ns) = (SELECT busy(ts, dur) FROM slices WHERE lane = 0) FROM "
         "self_time(NULL, "
         "0)",
         "1"},
        {"SELECT count(*) = (SELECT count(*) FROM slices WHERE kind = 'api') FROM self_time('api')",
         "1"},
        {"SELECT count(*) FROM launch_ranges('nvtx') r JOIN slices s ON s.id = r.range_slice WHERE "
         "s.kind != 'nvtx'",
         "0"},
        {"SELECT count(range_slice) > 0 FROM launch_ranges", "1"},
        {"SELECT sum(count) = (SELECT count(*) FROM api) FROM name_stats('api')", "1"},
        {"SELECT count(*) FROM json_each('[1, 2]')", "2"},
        {"SELECT count(*) > 20 FROM sqlite_schema WHERE type = 'table'", "1"},
    };
    struct nl_trace *trace = devicetrace(3, 200, 100000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].sql);
        CHECK_TEXT(scalar(db, cases[i].sql), cases[i].want);
    }
    nl_db_close(db);
    nl_trace_free(trace);
}

/* SQL's own union of intervals against the native breakdown. */
static void intervals_agree(void)
{
    struct nl_trace *trace = devicetrace(8, 400, 100000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    char compute[32];
    snprintf(compute, sizeof compute, "%s",
             scalar(db, "SELECT compute_ns FROM time_breakdown WHERE rank = 1"));
    CHECK_TEXT(scalar(db,
                      "SELECT busy(ts, dur) FROM (SELECT ts, dur FROM kernels WHERE rank = 1 AND "
                      "class = 'compute' UNION ALL SELECT ts, dur FROM graph_launches WHERE rank "
                      "= 1)"),
               compute);
    nl_db_close(db);
    nl_trace_free(trace);
}

/* ---- Safety ---- */

static void refused(void)
{
    static const char *const statements[] = {
        "ATTACH '/tmp/neurolens-x.db' AS x",
        "DETACH main",
        "CREATE TABLE t(x)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
        "CREATE TRIGGER t AFTER INSERT ON slices BEGIN SELECT 1; END",
        "INSERT INTO slices(ts) VALUES (1)",
        "UPDATE slices SET ts = 0",
        "DELETE FROM slices",
        "DELETE FROM sqlite_schema",
        "DROP TABLE slices",
        "ALTER TABLE slices RENAME TO x",
        "VACUUM",
        "VACUUM INTO '/tmp/neurolens-x.db'",
        "ANALYZE",
        "BEGIN",
        "SAVEPOINT s",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = WAL",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA query_only = OFF",
        "SELECT load_extension('libm.so.6')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT 1; DROP TABLE slices"};
    struct nl_trace *trace = devicetrace(3, 50, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    char before[32];
    snprintf(before, sizeof before, "%s", scalar(db, "SELECT count(*) FROM slices"));
    for (size_t i = 0; i < CHECK_LENGTH(statements); i++) {
        check_case(statements[i]);
        nl_err_clear(&err);
        CHECK(!nl_db_query(db, statements[i], &err));
        CHECK_INT(err.code, NL_QUERY);
    }
    CHECK(access("/tmp/neurolens-x.db", F_OK) != 0);
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM slices"), before);
    nl_db_close(db);
    nl_trace_free(trace);
}

static void limits(void)
{
    struct nl_trace *trace = devicetrace(3, 50, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){.row_limit = 7, .time_limit_ms = 100});
    REQUIRE(db);
    struct nl_result *result = nl_db_query(db, "SELECT * FROM slices", &err);
    REQUIRE(result);
    CHECK_INT(result->rows, 7);
    CHECK(result->truncated && result->note);
    nl_result_free(result);
    result = nl_db_query(db, "SELECT * FROM slices LIMIT 7", &err);
    REQUIRE(result);
    CHECK(!result->truncated);
    nl_result_free(result);
    CHECK(!nl_db_query(db,
                       "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
                       "count(*) FROM c",
                       &err));
    CHECK_INT(err.code, NL_TIMEOUT);
    CHECK_TEXT(scalar(db, "SELECT 1"), "1");
    nl_db_close(db);
    struct nl_job job = {.threads = 1};
    atomic_store(&job.cancelled, true);
    db = nl_db_open(trace, NULL, &job, &err);
    REQUIRE(db);
    CHECK(!nl_db_query(db, "SELECT count(*) FROM slices a, slices b, slices c", &err));
    CHECK_INT(err.code, NL_INTERRUPTED);
    nl_db_close(db);
    nl_trace_free(trace);
}

static void messages(void)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"SELECT * FROM kernel", "no such table: kernel; did you mean kernels?"},
        {"SELECT * FROM CUPTI_ACTIVITY_KIND_MEMCPY",
         "no such table: CUPTI_ACTIVITY_KIND_MEMCPY; did you mean copies?"},
        {"SELECT\n durr FROM slices", "no such column: durr (line 2, column 2); did you mean dur?"},
        {"SELECT 1; SELECT mediam(dur) FROM slices",
         "no such function: mediam (line 1, column 18); did you mean median?"},
        {"SELECT index FROM steps",
         "near \"index\": syntax error (line 1, column 8); the column needs quotes: \"index\""},
        {"SELECT * FROM slices WHERE", "incomplete input"},
        {"SELECT * FROM interval_union()", "interval_union(a, b): argument 1 (a) is missing"},
        {"", "nothing"},
        {"-- only a comment", "nothing"},
        {" ; ;", "nothing"},
    };
    struct nl_trace *trace = devicetrace(3, 50, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].sql);
        CHECK_TEXT(scalar(db, cases[i].sql), cases[i].want);
    }
    nl_db_close(db);
    nl_trace_free(trace);
}

static void empty_trace(void)
{
    struct nl_job job = {.threads = 1};
    struct nl_trace *trace = nl_builder_finish(nl_builder_new(&job), &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    for (unsigned i = 0; i < NL_TABLE_COUNT; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT * FROM %s ORDER BY 1)",
                 nl_tables[i].sql);
        check_case(sql);
        const char *count = scalar(db, sql);
        CHECK(count[0] >= '0' && count[0] <= '9');
    }
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM time_breakdown, kernel_summary, self_time"), "0");
    CHECK_TEXT(scalar(db, "SELECT count(*) FROM launch_ranges"), "0");
    nl_db_close(db);
    nl_trace_free(trace);
}

static bool completes(struct nl_db *db, const char *prefix, const char *with)
{
    struct nl_arena arena;
    const char **candidates;
    bool found = false;
    nl_arena_init(&arena);
    size_t count = nl_db_complete(db, prefix, &arena, &candidates);
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(candidates[i], with) == 0;
    nl_arena_free(&arena);
    return found;
}

static void help(void)
{
    struct nl_trace *trace = devicetrace(3, 5, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    CHECK(completes(db, "kern", "kernels"));
    CHECK(completes(db, "KERN", "kernel_summary"));
    CHECK(completes(db, "kernels.gri", "kernels.grid_x"));
    CHECK(completes(db, "k.gri", "k.grid_x"));
    CHECK(completes(db, "sel", "SELECT"));
    CHECK(completes(db, "interval_", "interval_union"));
    CHECK(!completes(db, "copies.", "copies.grid_x"));
    nl_db_close(db);
    nl_trace_free(trace);
    struct nl_buf text;
    nl_buf_init(&text, 1 << 20);
    nl_db_document(&text);
    CHECK(!text.overflow);
    for (unsigned i = 0; i < NL_TABLE_COUNT; i++) {
        char heading[80];
        snprintf(heading, sizeof heading, "\n### %s\n", nl_tables[i].sql);
        check_case(heading);
        CHECK(strstr(text.ptr, heading));
    }
    CHECK(strstr(text.ptr, "percentile(x, p)") && strstr(text.ptr, "### time_breakdown"));
    nl_buf_release(&text);
}

CHECK_MAIN("query", {"race with real tables", race_built}, {"race on a trace file", race_mapped},
           {"contract names", contract_names}, {"values", values}, {"functions", functions},
           {"SQL and native intervals agree", intervals_agree}, {"refused statements", refused},
           {"limits", limits}, {"messages", messages}, {"empty trace", empty_trace},
           {"completion and document", help})
