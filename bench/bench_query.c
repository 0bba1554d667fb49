/*
 * What SQL and the native aggregates cost per row, beside a real in-memory SQLite table with the
 * same rows, in one run.
 *
 *     bench_query [ROWS] [NAMES]        10,000,000 slices and 500 kernel names when not given
 *
 * Times are CPU times, so that other work on the machine does not decide. One device, four streams
 * that overlap; one kernel in ten is communication. Every line: what, ours
 * in ns/row (and ms), the real table's in ns/row, and the ratio.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "derive/derive.h"
#include "timeline/attribution.h"
#include "timeline/breakdown.h"
#include "timeline/groupstats.h"
#include "sql/db.h"
#include "store/builder.h"

#define STREAMS 4

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_query: %s\n", what);
    exit(1);
}

static struct nl_trace *make_trace(uint32_t rows, uint32_t names)
{
    static struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "bench", "bench"), lanes[STREAMS];
    uint32_t device = nl_builder_device(builder, source, 0, 0);
    uint32_t process = nl_builder_process(builder, source, 1), *ids = nl_alloc(names * sizeof *ids);
    int64_t at[STREAMS] = {0};
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, source, 0);
    for (unsigned i = 0; i < STREAMS; i++) {
        struct nl_lane_key key = {NL_LANE_STREAM, process, NL_NULL_ROW, device, 1, 7 + i, 0};
        lanes[i] = nl_builder_lane(builder, &key);
    }
    for (uint32_t i = 0; i < names; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "%s_%u_void at::native::vectorized_elementwise_kernel<4, "
                 "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >",
                 i % 10 ? "kernel" : "ncclDevKernel", i);
        ids[i] = nl_stage_name(stage, nl_str(text));
    }
    for (uint32_t i = 0; i < rows; i++) {
        unsigned stream = (unsigned)draw(STREAMS);
        uint32_t name = (uint32_t)draw(names);
        struct nl_slice_row row = nl_slice_row();
        struct nl_kernel_row kernel = nl_kernel_row();
        row.ts = at[stream];
        row.dur = (int64_t)(2000 + name * 40 + draw(1000));
        row.kind = NL_KIND_KERNEL;
        row.lane = lanes[stream];
        row.name = ids[name];
        at[stream] += row.dur + (int64_t)draw(1500);
        kernel.slice = nl_stage_slice(stage, &row);
        kernel.correlation = i + 1;
        nl_stage_kernel(stage, &kernel);
    }
    nl_free(ids);
    struct nl_trace *trace = nl_builder_finish(builder, &err);
    if (!trace)
        die(err.text);
    return trace;
}

/* The yardstick: the columns of slices that the statements below use. */
static sqlite3 *make_table(const struct nl_trace *trace)
{
    sqlite3 *sqlite;
    sqlite3_stmt *insert;
    if (sqlite3_open(":memory:", &sqlite) != SQLITE_OK ||
        sqlite3_exec(
            sqlite,
            "CREATE TABLE slices(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT,"
            " kind TEXT, lane INTEGER, depth INTEGER, parent INTEGER); BEGIN",
            NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(sqlite, "INSERT INTO slices VALUES(?,?,?,?,'kernel',?,0,NULL)", -1,
                           &insert, NULL) != SQLITE_OK)
        die("SQLite cannot be set up");
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->slice.name[row]);
        sqlite3_bind_int64(insert, 1, row);
        sqlite3_bind_int64(insert, 2, trace->slice.ts[row]);
        sqlite3_bind_int64(insert, 3, trace->slice.dur[row]);
        sqlite3_bind_text(insert, 4, name.ptr, (int)name.len, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 5, trace->slice.lane[row]);
        if (sqlite3_step(insert) != SQLITE_DONE)
            die("insert failed");
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_exec(sqlite, "COMMIT", NULL, NULL, NULL);
    return sqlite;
}

static double run_real(sqlite3 *sqlite, const char *sql)
{
    sqlite3_stmt *statement;
    double start = now();
    if (sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(sqlite));
    while (sqlite3_step(statement) == SQLITE_ROW)
        ;
    sqlite3_finalize(statement);
    return now() - start;
}

static double run_ours(struct nl_db *db, const char *sql)
{
    struct nl_err err;
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double start = now();
        struct nl_result *result = nl_db_query(db, sql, &err);
        double took = now() - start;
        if (!result)
            die(err.text);
        nl_result_free(result);
        best = took < best ? took : best;
    }
    return best;
}

static void report(const char *what, double ours, double real, uint32_t rows)
{
    printf("%-44s %8.2f ns/row %8.1f ms", what, ours * 1e9 / rows, ours * 1e3);
    if (real > 0)
        printf("   real table %8.2f ns/row   ratio %.1f", real * 1e9 / rows, real / ours);
    printf("\n");
    fflush(stdout);
}

static void race(struct nl_db *db, sqlite3 *real, uint32_t rows)
{
    static const struct {
        const char *what, *ours, *real; /* real NULL = the same text */
    } statements[] = {
        {"count(*)", "SELECT count(*) FROM slices", NULL},
        {"sum(dur)", "SELECT sum(dur) FROM slices", NULL},
        {"sum of 4 columns", "SELECT sum(ts), sum(dur), sum(lane), sum(depth) FROM slices", NULL},
        {"where name = …",
         "SELECT count(*), sum(dur) FROM slices WHERE name = (SELECT name FROM slices "
         "WHERE id = 77)",
         NULL},
        {"where name glob …", "SELECT count(*) FROM slices WHERE name GLOB 'ncclDevKernel_1*'",
         NULL},
        {"where dur > … (1 in 5 rows)", "SELECT count(*) FROM slices WHERE dur > 18000", NULL},
        {"where ts between … (1 in 100)",
         "SELECT count(*) FROM slices WHERE ts BETWEEN 1000000000 AND 1200000000", NULL},
        {"where id = …", "SELECT dur FROM slices WHERE id = 4242", NULL},
        {"group by name", "SELECT name, count(*), sum(dur) FROM slices GROUP BY name", NULL},
        {"group by lane", "SELECT lane, count(*), sum(dur) FROM slices GROUP BY lane", NULL},
        {"order by dur desc limit 10", "SELECT id, dur FROM slices ORDER BY dur DESC LIMIT 10",
         NULL},
        {"kernel_summary, top 10", "SELECT * FROM kernel_summary LIMIT 10",
         "SELECT name, count(*), sum(dur), min(dur), max(dur), avg(dur) FROM slices GROUP BY name"},
        {"time_breakdown", "SELECT * FROM time_breakdown",
         "SELECT max(e) FROM (SELECT max(ts + dur) OVER (ORDER BY ts) e FROM slices)"},
        {"busy(ts, dur)", "SELECT busy(ts, dur) FROM slices",
         "SELECT max(e) FROM (SELECT max(ts + dur) OVER (ORDER BY ts) e FROM slices)"},
        {"p95(dur)", "SELECT p95(dur) FROM slices",
         "SELECT dur FROM slices ORDER BY dur LIMIT 1 OFFSET 5000"},
        {"join 10,000 rows on correlation",
         "SELECT count(*) FROM kernels a JOIN kernels b ON b.correlation = a.correlation + 1 WHERE "
         "a.slice < 10000",
         ""},
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const char *sql = statements[i].real ? statements[i].real : statements[i].ours;
        double ours = run_ours(db, statements[i].ours);
        report(statements[i].what, ours, *sql ? run_real(real, sql) : 0, rows);
    }
}

static void race_native(const struct nl_trace *trace)
{
    uint32_t rows = trace->slice.rows;
    struct nl_intervals a, b;
    size_t count;
    double start = now(), best = 1e9, took;
    for (int i = 0; i < 3; i++) {
        start = now();
        nl_free(nl_name_stats(trace, NULL, NL_KIND_KERNEL, &count));
        took = now() - start;
        best = took < best ? took : best;
    }
    report("native: statistics by name (goal 50 ms)", best, 0, rows);
    best = 1e9;
    for (int i = 0; i < 3; i++) {
        start = now();
        nl_free(nl_time_breakdown(trace, NULL, &count));
        took = now() - start;
        best = took < best ? took : best;
    }
    report("native: time breakdown", best, 0, rows);
    nl_intervals_init(&a);
    nl_intervals_init(&b);
    for (uint32_t row = 0; row < rows; row++)
        nl_intervals_add(row % 2 ? &a : &b, (int64_t)row * 10, (int64_t)row * 10 + 9 + row % 7);
    start = now();
    int64_t overlap = nl_intervals_overlap(&a, &b);
    report("native: overlap of two sets (goal 20 ms)", now() - start, 0, rows);
    start = now();
    nl_intervals_normalise(&a);
    report("native: normalise a normal set of half", now() - start, 0, rows);
    start = now();
    nl_free(nl_self_times(trace, 0, rows));
    report("native: self times", now() - start, 0, rows);
    if (overlap == 0)
        die("no overlap");
    nl_intervals_release(&a);
    nl_intervals_release(&b);
}

int main(int argc, char **argv)
{
    uint32_t rows = argc > 1 ? (uint32_t)atol(argv[1]) : 10000000;
    uint32_t names = argc > 2 ? (uint32_t)atol(argv[2]) : 500;
    struct nl_err err;
    double start = now();
    struct nl_trace *trace = make_trace(rows ? rows : 1, names ? names : 1);
    printf("%u slices, %u names, built in %.1f s; SQLite %s\n", trace->slice.rows, names,
           now() - start, sqlite3_libversion());
    start = now();
    struct nl_db *db = nl_db_open(trace, NULL, NULL, &err);
    if (!db)
        die(err.text);
    printf("open: %.2f ms\n", (now() - start) * 1e3);
    race_native(trace);
    sqlite3 *real = make_table(trace);
    race(db, real, rows);
    sqlite3_close(real);
    nl_db_close(db);
    nl_trace_free(trace);
    return 0;
}
