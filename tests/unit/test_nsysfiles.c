/*
 * Whole nsys exports: generated ones (tools/make_nsys.py) and the real ones of ../shared, read in
 * both ways and on one and several threads; damaged ones; recognition; reports through nsys export.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <sys/stat.h>

#include "check.h"
#include "nsysmake.h"
#include "derive/derive.h"
#include "ingest/formats.h"

#define SOUND                                                                                      \
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "           \
    "VALUES(1,'k');"                                                                               \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,"        \
    " contextId INTEGER, streamId INTEGER, globalPid INTEGER, demangledName INTEGER);"             \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,5,0,1,7,83886080,1);"

static void same_either_way(const char *path)
{
    struct nl_err err;
    struct nl_trace *fast = nsysmake_load(path, DBFILE_FASTEST, 3, &err);
    CHECK(fast != NULL);
    if (!fast) {
        printf("    %s\n", err.text);
        return;
    }
    struct nl_trace *alone = nsysmake_load(path, DBFILE_FASTEST, 1, &err);
    struct nl_trace *step = nsysmake_load(path, DBFILE_STEP, 2, &err);
    REQUIRE(alone && step);
    const char *difference = nsysmake_difference(fast, alone);
    CHECK_TEXT(difference ? difference : "none", "none");
    difference = nsysmake_difference(fast, step);
    CHECK_TEXT(difference ? difference : "none", "none");
    nl_trace_free(fast);
    nl_trace_free(alone);
    nl_trace_free(step);
}

/* Generates an export; false when there is no Python here. */
static bool generate(const char *name, const char *options)
{
    char command[512];
    snprintf(command, sizeof command, "python3 %s/../tools/make_nsys.py %s %s >/dev/null 2>&1",
             check_folder, nsysmake_path(name), options);
    return system(command) == 0;
}

static void generated_exports(void)
{
    static const char *const options[] = {
        "--era 2021",
        "--era 2.9 --all --ranks 2",
        "--era 3.0 --all --page-size 512",
        "--era 3.4 --all --eager --graph node",
        "--era 3.7 --all --ranks 3 --gpus 2 --page-size 65536",
        "--era 3.11 --all --graph graph --inline-text",
        "--era 3.17 --all --ranks 2 --gpus 2 --visible one --without-rowid",
        "--era 3.24 --all --utf16",
        "--era 3.25 --all --steps 60 --ranks 2",
        "--all --wal",
    };
    for (size_t i = 0; i < CHECK_LENGTH(options); i++) {
        check_case(options[i]);
        if (!generate("generated.sqlite", options[i])) {
            check_skip("no python3");
            return;
        }
        same_either_way(nsysmake_path("generated.sqlite"));
    }
}

static void real_exports(void)
{
    char pattern[512];
    glob_t found;
    const char *shared = getenv("NEUROLENS_SHARED");
    snprintf(pattern, sizeof pattern, "%s%s/samples/nsys/*.sqlite", shared ? shared : check_folder,
             shared ? "" : "/../../shared");
    if (glob(pattern, 0, NULL, &found) != 0) {
        check_skip("no ../shared");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_case(strrchr(found.gl_pathv[i], '/'));
        same_either_way(found.gl_pathv[i]);
    }
    globfree(&found);
}

static void nothing_is_written_beside_the_input(void)
{
    if (!generate("quiet.sqlite", "--all --wal")) {
        check_skip("no python3");
        return;
    }
    const char *path = nsysmake_path("quiet.sqlite");
    struct nl_map before = nsysmake_bytes(path);
    unsigned char *copy = nl_alloc(before.size);
    memcpy(copy, before.bytes, before.size);
    struct stat log_before, log_after;
    char log_path[200];
    snprintf(log_path, sizeof log_path, "%s-wal", path);
    REQUIRE(stat(log_path, &log_before) == 0);
    struct nl_err err;
    struct nl_trace *t = nsysmake_load(path, DBFILE_FASTEST, 1, &err);
    REQUIRE(t);
    CHECK(t->kernel.rows > 0);
    nl_trace_free(t);
    struct nl_map after = nsysmake_bytes(path);
    CHECK(after.size == before.size && memcmp(after.bytes, copy, after.size) == 0);
    REQUIRE(stat(log_path, &log_after) == 0);
    CHECK_INT(log_after.st_size, log_before.st_size);
    CHECK_INT(log_after.st_mtim.tv_nsec, log_before.st_mtim.tv_nsec);
    nl_map_close(&before);
    nl_map_close(&after);
    nl_free(copy);
}

static void damaged_exports(void)
{
    if (!generate("sound.sqlite", "--all --page-size 1024")) {
        check_skip("no python3");
        return;
    }
    struct nl_map map = nsysmake_bytes(nsysmake_path("sound.sqlite"));
    size_t loaded = 0, stride = 1024 * (size_t)(4 / check_draws(4)); /* whole pages */
    for (size_t len = 0; len < map.size; len += stride) {
        struct nl_err err;
        const char *path = nsysmake_write("cut.sqlite", map.bytes, len);
        struct nl_trace *t = nsysmake_load(path, DBFILE_FASTEST, 1, &err);
        if (t) {
            CHECK(nsysmake_coverage(t, "file is cut short") > 0);
            nl_trace_free(t);
            loaded++;
        } else {
            CHECK_INT(err.code, NL_FORMAT);
            CHECK(err.text[0] && strcmp(err.file, path) == 0 && err.offset >= 0);
        }
    }
    CHECK(loaded > map.size / stride / 2);
    unsigned char *copy = nl_alloc(map.size);
    uint64_t state = 3;
    for (int i = 0; i < check_draws(300); i++) {
        memcpy(copy, map.bytes, map.size);
        state = state * 6364136223846793005u + 1442695040888963407u;
        copy[(state >> 20) % map.size] ^= (unsigned char)(1 << (state >> 60 & 7));
        struct nl_err err;
        struct nl_trace *t = nsysmake_load(nsysmake_write("flipped.sqlite", copy, map.size),
                                           i % 2 ? DBFILE_STEP : DBFILE_FASTEST, 1, &err);
        if (t)
            nl_trace_free(t);
    }
    nl_free(copy);
    nl_map_close(&map);
}

static void recognises_by_content(void)
{
    const char *why = NULL;
    struct nl_input input = {.path = "x", .encoding = "plain"};
    const char *other = nsysmake("other.sqlite", "CREATE TABLE t(a);");
    struct nl_map map = nsysmake_bytes(other);
    input.path = other;
    input.head = map.bytes;
    input.head_len = map.size;
    CHECK_INT(nl_format_nsys.sniff(&input, &why), 0);
    CHECK(why != NULL);
    nl_map_close(&map);
    map = nsysmake_bytes(nsysmake("mine.sqlite", SOUND));
    input.head = map.bytes;
    input.head_len = map.size;
    CHECK(nl_format_nsys.sniff(&input, &why) > 50);
    CHECK_INT(nl_format_nsysrep.sniff(&input, &why), 0);
    nl_map_close(&map);
    static const char report[] = "NVIDIA Tegra Profiler Report 1.\n";
    input.head = (const unsigned char *)report;
    input.head_len = sizeof report;
    CHECK_INT(nl_format_nsys.sniff(&input, &why), 0);
    CHECK(nl_format_nsysrep.sniff(&input, &why) > 50);
}

static bool load_report(const char *path, struct nl_err *err, struct nl_trace **trace)
{
    nl_err_clear(err);
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "report.nsys-rep", "nsys-rep");
    struct nl_input input = {.path = path,
                             .place = path,
                             .name = "report.nsys-rep",
                             .encoding = "plain",
                             .rank = NL_NULL_I64};
    struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
    if (nl_reading_load(&reading, &nl_format_nsysrep, err)) {
        *trace = nl_builder_finish(builder, err);
        return *trace != NULL;
    }
    nl_builder_free(builder);
    return false;
}

/* A shell script plays the part of nsys. */
static void reports_go_through_nsys_export(void)
{
    struct nl_err err;
    struct nl_trace *trace = NULL;
    char old[4096], bin[200], text[600];
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    snprintf(bin, sizeof bin, "%s", nsysmake_path("bin"));
    const char *report = nsysmake_write("it's.nsys-rep", "NVIDIA Tegra Profiler Report 1.\n", 32);
    REQUIRE(mkdir(bin, 0700) == 0);
    setenv("PATH", bin, 1);
    CHECK(!load_report(report, &err, &trace));
    CHECK_INT(err.code, NL_ENVIRONMENT);
    CHECK(strstr(err.text, "nsys export --type sqlite -o out.sqlite '") != NULL);
    CHECK(strstr(err.text, "it'\\''s.nsys-rep'") != NULL);
    nsysmake("exported.sqlite", SOUND);
    snprintf(text, sizeof text,
             "#!/bin/sh\n[ \"$1 $2 $3\" = 'export --type sqlite' ] || exit 3\n"
             "exec /bin/cp %s \"$7\"\n",
             nsysmake_path("exported.sqlite"));
    char program[240];
    snprintf(program, sizeof program, "%s/nsys", bin);
    FILE *file = fopen(program, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(program, 0700) == 0);
    CHECK(load_report(report, &err, &trace));
    if (trace) {
        CHECK_INT(trace->kernel.rows, 1);
        nl_trace_free(trace);
    }
    file = fopen(program, "w");
    REQUIRE(file && fputs("#!/bin/sh\nexit 1\n", file) >= 0 && fclose(file) == 0);
    CHECK(!load_report(report, &err, &trace));
    CHECK_INT(err.code, NL_ENVIRONMENT);
    setenv("PATH", old, 1);
}

static void stops_when_asked(void)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_job job = {.threads = 2, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "x", "nsys");
    struct nl_input input = {.path = nsysmake("stop.sqlite", SOUND),
                             .name = "x",
                             .encoding = "plain",
                             .rank = NL_NULL_I64};
    job.cancelled = true;
    struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
    CHECK(!nl_reading_load(&reading, &nl_format_nsys, &err));
    CHECK_INT(err.code, NL_INTERRUPTED);
    nl_builder_free(builder);
}

CHECK_MAIN("nsysfiles", {"recognises by content", recognises_by_content},
           {"reports through nsys export", reports_go_through_nsys_export},
           {"generated exports", generated_exports}, {"real exports", real_exports},
           {"stops when asked", stops_when_asked},
           {"nothing written beside the input", nothing_is_written_beside_the_input},
           {"damaged exports", damaged_exports})
