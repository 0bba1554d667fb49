/* filled: patterns with numbers in them are the texts they stand for, in
 * memory, in a file and in SQL. */
#include "check.h"

#include <fcntl.h>
#include <float.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "derive/derive.h"
#include "sql/db.h"
#include "store/builder.h"
#include "store/tracefile.h"

#define PATTERN "{\"a\":\1,\"b\":[\2,\1],\"c\":\"x\"}"

static size_t pack(unsigned char *to, int64_t a, double b, int64_t c)
{
    size_t len = nl_filled_put_i64(to, a);
    len += nl_filled_put_f64(to + len, b);
    return len + nl_filled_put_i64(to + len, c);
}

static void numbers_are_what_went_in(void)
{
    static const struct {
        int64_t a;
        double b;
        int64_t c;
        const char *text;
    } cases[] = {
        {0, 0.5, -1, "{\"a\":0,\"b\":[0.5,-1],\"c\":\"x\"}"},
        {63, 1e300, 64, "{\"a\":63,\"b\":[1e+300,64],\"c\":\"x\"}"},
        {INT64_MAX, -3, INT64_MIN,
         "{\"a\":9223372036854775807,\"b\":[-3,-9223372036854775808],\"c\":\"x\"}"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        unsigned char packed[28];
        struct nl_buf out;
        nl_buf_init(&out, 1000);
        size_t len = pack(packed, cases[i].a, cases[i].b, cases[i].c);
        nl_filled_write(&out, nl_str(PATTERN), (struct nl_str){(char *)packed, len});
        CHECK_STR(((struct nl_str){out.ptr, out.len}), cases[i].text);
        nl_buf_release(&out);
    }
}

/* Any bytes, cut anywhere, give some text. */
static void damage_is_harmless(void)
{
    unsigned char packed[40];
    size_t len = pack(packed, INT64_MIN, DBL_MAX, 77);
    for (size_t flip = 0; flip <= len; flip++)
        for (size_t cut = 0; cut <= len; cut++) {
            struct nl_buf out;
            char *exact = memcpy(nl_alloc(cut + 1), packed, cut); /* its end is watched */
            exact = nl_realloc(exact, cut ? cut : 1);
            if (flip < cut)
                exact[flip] = (char)0xff;
            nl_buf_init(&out, 1000);
            nl_filled_write(&out, nl_str(PATTERN), (struct nl_str){exact, cut});
            CHECK(out.len > strlen("{\"a\":,\"b\":[,],\"c\":\"x\"}"));
            nl_buf_release(&out);
            nl_free(exact);
        }
}

static struct nl_trace *made(struct nl_err *err)
{
    static struct nl_job job = {.threads = 1};
    struct nl_builder *b = nl_builder_new(&job);
    uint32_t source = nl_builder_source(b, "test", "test");
    struct nl_stage *stage = nl_stage_new(b);
    nl_stage_begin(stage, source, 0);
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = nl_builder_process(b, source, 1),
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    uint32_t lane = nl_builder_lane(b, &key);
    for (int64_t i = 0; i < 40; i++) {
        unsigned char packed[28];
        struct nl_slice_row slice = nl_slice_row();
        struct nl_arg_row arg = nl_arg_row();
        slice.ts = i * 10;
        slice.dur = 5;
        slice.lane = lane;
        slice.kind = NL_KIND_COLLECTIVE;
        slice.name = nl_stage_name(stage, nl_str("work"));
        arg.slice = nl_stage_slice(stage, &slice);
        size_t len = pack(packed, i % 4, 0.25, 40 - i);
        arg.text = i % 2
                       ? nl_stage_name(stage, nl_str("plain"))
                       : nl_stage_filled(stage, nl_stage_name(stage, nl_str(PATTERN)), packed, len);
        nl_stage_arg(stage, &arg);
    }
    return nl_builder_finish(b, err);
}

/* The first cell of an answer, a text. */
static void check_answer(const struct nl_trace *trace, const char *sql, const char *want)
{
    struct nl_err err;
    struct nl_db_options options = {0};
    nl_err_clear(&err);
    struct nl_db *db = nl_db_open(trace, &options, NULL, &err);
    REQUIRE(db != NULL);
    struct nl_result *result = nl_db_query(db, sql, &err);
    check_case(sql);
    CHECK(result && result->rows);
    if (result && result->rows)
        CHECK_STR(nl_result_cell(result, 0, 0)->text, want);
    check_case(NULL);
    nl_result_free(result);
    nl_db_close(db);
}

static void check_answers(const struct nl_trace *trace)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"SELECT text FROM args WHERE slice = 6", "{\"a\":2,\"b\":[0.25,34],\"c\":\"x\"}"},
        {"SELECT text FROM args WHERE slice = 7", "plain"},
        {"SELECT CAST(count(*) AS TEXT) FROM args WHERE text = 'plain'", "20"},
        {"SELECT CAST(slice AS TEXT) FROM args WHERE text = "
         "'{\"a\":2,\"b\":[0.25,34],\"c\":\"x\"}'",
         "6"},
        {"SELECT CAST(count(*) AS TEXT) FROM args WHERE text LIKE '%\"a\":2,%'", "10"},
        {"SELECT CAST(count(*) AS TEXT) FROM args WHERE text IN ('plain', 'other')", "20"},
        {"SELECT CAST(count(*) AS TEXT) FROM args WHERE text IS NULL", "0"},
        {"SELECT CAST(count(DISTINCT text) AS TEXT) FROM args", "21"},
        {"SELECT text FROM args ORDER BY text DESC LIMIT 1",
         "{\"a\":2,\"b\":[0.25,6],\"c\":\"x\"}"},
        {"SELECT text FROM args ORDER BY text LIMIT 1", "plain"},
        {"SELECT CAST(max(n) AS TEXT) FROM (SELECT count(*) n FROM args GROUP BY text)", "20"},
        {"SELECT CAST(sum(text ->> '$.b[1]') AS TEXT) FROM args WHERE text <> 'plain'", "420"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        check_answer(trace, cases[i].sql, cases[i].want);
}

static void texts_are_whole_in_sql_and_files(void)
{
    char path[] = "/tmp/neurolens-filled-XXXXXX";
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = made(&err);
    REQUIRE(trace != NULL);
    CHECK_INT(trace->filled.count, 20);
    check_answers(trace);
    int file = mkstemp(path);
    CHECK(file >= 0 && nl_trace_save(trace, path, &err));
    nl_trace_free(trace);
    trace = nl_trace_open(path, true, 1, &err);
    unlink(path);
    close(file);
    REQUIRE(trace != NULL);
    check_answers(trace);
    nl_trace_free(trace);
}

/* Every byte of a file changed, one at a time: it is refused, or its texts are some texts. */
static void damaged_files_give_some_text(void)
{
    char path[] = "/tmp/neurolens-filled-XXXXXX";
    struct nl_err err;
    struct stat info;
    nl_err_clear(&err);
    struct nl_trace *trace = made(&err);
    int made_file = mkstemp(path);
    REQUIRE(trace != NULL && made_file >= 0 && nl_trace_save(trace, path, &err));
    nl_trace_free(trace);
    close(made_file);
    int file = open(path, O_RDWR);
    REQUIRE(file >= 0 && fstat(file, &info) == 0);
    uint32_t opened = 0;
    for (off_t at = 0; at < info.st_size; at++) {
        unsigned char byte, changed;
        struct nl_buf room;
        CHECK(pread(file, &byte, 1, at) == 1);
        changed = byte ^ (at % 2 ? 0xff : 0x11);
        CHECK(pwrite(file, &changed, 1, at) == 1);
        nl_buf_init(&room, NL_MAX_FILLED);
        trace = nl_trace_open(path, false, 1, &err);
        for (uint32_t i = 0; trace && i < trace->arg.rows; i++)
            CHECK(nl_trace_text(trace, trace->arg.text[i], &room).len <= NL_MAX_FILLED);
        opened += trace != NULL;
        nl_trace_free(trace);
        nl_buf_release(&room);
        CHECK(pwrite(file, &byte, 1, at) == 1);
    }
    CHECK(opened > 0 && opened < info.st_size);
    close(file);
    unlink(path);
}

CHECK_MAIN("filled", {"numbers are what went in", numbers_are_what_went_in},
           {"damage is harmless", damage_is_harmless},
           {"damaged files give some text", damaged_files_give_some_text},
           {"texts are whole in SQL and files", texts_are_whole_in_sql_and_files})
