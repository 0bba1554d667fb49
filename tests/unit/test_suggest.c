/*
 * What is said behind an error of SQLite (sql/suggest.c): the nearest name, what other exports call
 * it, the tables that have a column. A name is near when fewer edits than a third of its letters
 * and two lead to it; of equally near ones the first is named.
 */
#include "check.h"
#include "devicetrace.h"

#include "base/mem.h"
#include "sql/db.h"

static struct nl_err err;
static struct nl_trace *trace;

static struct nl_db *open_db(void)
{
    nl_err_clear(&err);
    trace = devicetrace(3, 5, 10000, &err);
    return trace ? nl_db_open(trace, NULL, NULL, &err) : NULL;
}

static void close_db(struct nl_db *db)
{
    nl_db_close(db);
    nl_trace_free(trace);
}

/* From the first semicolon of the message on. */
static const char *hint(struct nl_db *db, const char *sql)
{
    nl_err_clear(&err);
    struct nl_result *result = nl_db_query(db, sql, &err);
    if (result) {
        nl_result_free(result);
        return "an answer";
    }
    const char *at = strchr(err.text, ';');
    return at ? at : "";
}

static void tables(void)
{
    static const char *const cases[][2] = {
        {"CUPTI_ACTIVITY_KIND_KERNEL", "kernels"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", "copies"},
        {"CUPTI_ACTIVITY_KIND_MEMSET", "memsets"},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "syncs"},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", "api"},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph_launches"},
        {"NVTX_EVENTS", "nvtx"},
        {"TARGET_INFO_GPU", "devices"},
        {"threadnames", "threads"}, /* whatever the case of letters */
        {"META_DATA_CAPTURE", "metadata"},
        {"slice", "slices"},
        {"counter", "counters"},
        {"thread_track", "lanes"},
        {"track", "lanes"},
        {"StringIds", "slices (names are text here)"},
        {"KERNELZ", "kernels"},        /* replaced */
        {"kernls", "kernels"},         /* left out */
        {"kerneels", "kernels"},       /* one too many */
        {"krenels", "kernels"},        /* two turned round */
        {"slicesQQ", "slices"},        /* two of eight */
        {"threadsQQQQ", "threads"},    /* four edits of eleven letters: under 5 */
        {"QQQQthreads", "threads"},    /* in front */
        {"threadsQQQQQ", "threads"},   /* five of twelve: under 6 */
        {"QQQQQQQthreads", NULL},      /* seven of 14: no fewer than 6 */
        {"threadsQQQQQQ", NULL},       /* six of 13: no fewer than 6 */
        {"metadataQQQQQ", "metadata"}, /* five of 13 */
        {"QQQ", NULL},
        {"timeline.slicesQ", NULL},
        {"countersQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", NULL},
    };
    struct nl_db *db = open_db();
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char sql[120], want[120] = "";
        snprintf(sql, sizeof sql, "SELECT 1 FROM %s", cases[i][0]);
        if (cases[i][1])
            snprintf(want, sizeof want, "; did you mean %s?", cases[i][1]);
        check_case(cases[i][0]);
        CHECK_TEXT(hint(db, sql), want);
    }
    close_db(db);
}

static void columns(void)
{
    static const char *const cases[][3] = {
        {"duration", "slices", "; did you mean dur?"},
        {"start", "slices", "; did you mean ts?"},
        {"END_", "slices", ""},
        {"shortName", "kernels", "; did you mean name?"},
        {"DemangledName", "kernels", "; did you mean name?"},
        {"correlationId", "kernels", "; did you mean correlation?"},
        {"text", "nvtx", "; did you mean name?"},
        {"deviceId", "kernels", "; did you mean device?"},
        {"streamId", "kernels", "; did you mean stream?"},
        {"globalTid", "api", "; did you mean thread?"},
        {"gridX", "kernels", "; did you mean grid_x?"},
        {"blockX", "kernels", "; did you mean block_x?"},
        {"\"end\" + k.\"end\"", "kernels k", "; did you mean ts + dur?"},
        {"nmae", "slices", "; did you mean name?"},
        {"k.nmae", "kernels k", "; did you mean name?"},
        {"main.k.nmae", "kernels k", "; did you mean name?"},
        {"grid_w", "kernels", "; did you mean grid_x?"},
        /* only the columns of a table that is named are near, or of a table function */
        {"grid_x", "copies", "; it is a column of kernels"},
        {"registers", "syncs", "; it is a column of kernels"},
        {"idle_nss", "time_breakdown", "; did you mean idle_ns?"},
    };
    struct nl_db *db = open_db();
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char sql[120];
        snprintf(sql, sizeof sql, "SELECT %s FROM %s", cases[i][0], cases[i][1]);
        check_case(cases[i][0]);
        CHECK_TEXT(hint(db, sql), cases[i][2]);
    }
    close_db(db);
}

static void functions(void)
{
    static const char *const cases[][2] = {
        {"mediam(1)", "median"},
        {"percentle(1, 2)", "percentile"},
        {"cuont(1)", "count"},
        {"ssum(1)", "sum"},
        {"averg(1)", "avg"},
        {"totall(1)", "total"},
        {"ruond(1)", "round"},
        {"lenght('')", "length"},
        {"coalesc(1, 2)", "coalesce"},
        {"substri('', 1)", "substr"},
        {"lowr('')", "lower"},
        {"uppr('')", "upper"},
        {"aabs(1)", "abs"},
        {"printff('')", "printf"},
        {"iiif(1, 2, 3)", "iif"},
        {"ifnul(1, 2)", "ifnull"},
        {"mini(1)", "min"},
        {"maxx(1)", "max"},
        {"stdev(1)", "stddev"},
        {"zzzzzz(1)", NULL},
    };
    struct nl_db *db = open_db();
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char sql[120], want[80] = "";
        snprintf(sql, sizeof sql, "SELECT %s", cases[i][0]);
        if (cases[i][1])
            snprintf(want, sizeof want, "; did you mean %s?", cases[i][1]);
        check_case(cases[i][0]);
        CHECK_TEXT(hint(db, sql), want);
    }
    close_db(db);
}

/* The place is counted in lines and letters from 1, over all statements of the text. */
static void places(void)
{
    static const char *const cases[][2] = {
        {"SELECT nmae FROM slices", " (line 1, column 8)"},
        {"\nSELECT nmae FROM slices", " (line 2, column 8)"},
        {"SELECT 1;\nSELECT\n  nmae FROM slices", " (line 3, column 3)"},
        {"SELECT 1; SELECT nmae FROM slices", " (line 1, column 18)"},
        {"SELECT 1,\n\nnmae FROM slices", " (line 3, column 1)"},
    };
    struct nl_db *db = open_db();
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i][0]);
        (void)hint(db, cases[i][0]);
        const char *at = strchr(err.text, '(');
        if (!at)
            continue; /* SQLite before 3.38 does not know */
        char place[60];
        snprintf(place, sizeof place, " %.*s", (int)(strchr(at, ')') - at) + 1, at);
        CHECK_TEXT(place, cases[i][1]);
    }
    close_db(db);
}

/* All that begin so, in order of their names, joined by blanks. */
static const char *completed(struct nl_db *db, const char *prefix)
{
    static char all[2000];
    struct nl_arena arena;
    const char **candidates;
    nl_arena_init(&arena);
    size_t count = nl_db_complete(db, prefix, &arena, &candidates), len = 0;
    all[0] = '\0';
    for (size_t i = 0; i < count && len < sizeof all; i++)
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i ? " " : "", candidates[i]);
    nl_arena_free(&arena);
    return all;
}

static void completions(void)
{
    static const char *const cases[][2] = {
        {"kernels.grid", "kernels.grid_x kernels.grid_y kernels.grid_z"},
        {"KERNELS.Block_", "KERNELS.block_x KERNELS.block_y KERNELS.block_z"},
        {"k.grid_", "k.grid_x k.grid_y k.grid_z"},
        {"copies.grid", ""},
        {"HAV", "HAVING"},
        {"betw", "BETWEEN"},
        {"ifn", "ifnull"},
        {"interval_u", "interval_union"},
        {"kernel_s", "kernel_summary"},
        {"memset", "memsets"},
        {"qqq", ""},
        {"a.b.grid_", "a.b.grid_x a.b.grid_y a.b.grid_z"},
    };
    struct nl_db *db = open_db();
    REQUIRE(db);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i][0]);
        CHECK_TEXT(completed(db, cases[i][0]), cases[i][1]);
    }
    close_db(db);
}

CHECK_MAIN("suggest", {"tables", tables}, {"columns", columns}, {"functions", functions},
           {"places", places}, {"completions", completions})
