/* SQL over a trace: names, values, functions, what is refused, limits, messages, help. */
#include <unistd.h>

#include "check.h"
#include "devicetrace.h"

#include "base/mem.h"
#include "derive/derive.h"
#include "timeline/breakdown.h"
#include "sql/db.h"
#include "sql/functions.h"

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

static void run_example(struct nl_db *db, const char *sql, size_t len)
{
    static char statement[2000];
    snprintf(statement, sizeof statement, "%.*s", (int)len, sql);
    check_case(statement);
    nl_err_clear(&err);
    struct nl_result *result = nl_db_query(db, statement, &err);
    CHECK_TEXT(err.code ? err.text : "an answer", "an answer");
    nl_result_free(result);
}

/* What the document shows has to work. */
static void examples(void)
{
    struct nl_buf text;
    struct nl_trace *trace = devicetrace(3, 50, 10000, &err);
    REQUIRE(trace);
    struct nl_db *db = open_db(trace, (struct nl_db_options){0});
    REQUIRE(db);
    nl_buf_init(&text, 1 << 20);
    nl_db_document(&text);
    unsigned blocks = 0;
    for (const char *at = text.ptr; (at = strstr(at, "```sql\n")) != NULL; blocks++) {
        at += 7;
        run_example(db, at, (size_t)(strstr(at, "```") - at));
    }
    CHECK(blocks > 8);
    nl_buf_release(&text);
    const struct nl_function *lists[] = {nl_interval_functions, nl_statistic_functions};
    for (size_t i = 0; i < CHECK_LENGTH(lists); i++)
        for (const struct nl_function *function = lists[i]; function->name; function++)
            run_example(db, function->example, strlen(function->example));
    nl_db_close(db);
    nl_trace_free(trace);
}

CHECK_MAIN("query", {"contract names", contract_names}, {"values", values},
           {"functions", functions}, {"SQL and native intervals agree", intervals_agree},
           {"refused statements", refused}, {"limits", limits}, {"messages", messages},
           {"empty trace", empty_trace}, {"completion and document", help},
           {"examples of the document", examples})
