/*
 * How many rows a profile has before it is loaded (ingest/estimate.h): by what is in the file, by
 * its first part, by its size alone, by files like it. Numbers are worked out by hand from the
 * constants of estimate.c, or are those of files that are made here.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "ingest/estimate.h"
#include "ingest/inputs.h"

#define FIXED (4.0 * (1 << 20)) /* bytes of any profile */

static struct nl_err err;

/* What is said of these files; the caller releases both. */
static bool estimate_of(struct nl_estimate *estimate, struct nl_inputs *inputs,
                        const char *const *paths, size_t count, enum nl_job_sandbox sandbox)
{
    struct nl_job job = {.threads = 1, .sandbox = sandbox};
    nl_err_clear(&err);
    bool done = nl_inputs_expand(inputs, paths, count, &err) &&
                nl_ingest_estimate(estimate, inputs, &job, &err);
    if (!done)
        printf("    %s\n", err.text);
    return done;
}

static void check_amount(struct nl_amount got, double low, double likely, double high)
{
    CHECK_NEAR(got.low, low, 1e-6 * (1 + low));
    CHECK_NEAR(got.likely, likely, 1e-6 * likely);
    CHECK_NEAR(got.high, high, 1e-6 * high);
}

/* A file of tests/corpus. */
static void corpus_path(char path[512], const char *name)
{
    snprintf(path, 512, "%s/corpus/%s", check_folder, name);
}

/* Bytes a row; a packed file holds eight times its size. A quarter to four times as many rows, 100
 * bytes for each in memory beside the file; the least is not known. */
static void by_size_alone(void)
{
    static const struct {
        const char *name, *format;
        double bytes_a_row;
    } cases[] = {
        {"chrome/every_phase.json", "kineto", 60},
        {"nsys/graph-nodes.sqlite", "nsys", 60},
        {"perfetto/tracks.pftrace", "perfetto", 60},
        {"perfetto/tracks.pftrace.gz", "perfetto", 60 / 8.0},
        {"pickle/memory.pickle", "torch-memory", 200},
        {"rocjson/results.json", "rocprofv3", 850},
        {"pstats/version0.prof", "pstats", 40},
        {"ncu/two-kernels.ncu-rep", "ncu", 350},
        {"torchet/flat.json", "execution-trace", 1500},
        {"v8profile/node.cpuprofile", "v8profile", 20},
        {"rocpd/one_process.db", "rocpd", 66},
        {"rpd/every_table.rpd", "rpd", 60},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char path[512];
        const char *const paths[] = {path};
        struct nl_inputs inputs;
        struct nl_estimate estimate;
        corpus_path(path, cases[i].name);
        check_case(cases[i].name);
        REQUIRE(estimate_of(&estimate, &inputs, paths, 1, NL_SANDBOX_ALL));
        const struct nl_file_estimate *file = &estimate.files[0];
        double bytes = (double)nl_file_bytes(path), rows = bytes / cases[i].bytes_a_row;
        double plain = bytes * (strstr(path, ".gz") ? 8 : 1), memory = rows * 100 + plain;
        CHECK_TEXT(file->format, cases[i].format);
        CHECK_TEXT(nl_estimate_how_text(file->how), "its size alone");
        CHECK_INT(file->bytes, bytes);
        check_amount(file->rows, rows / 4, rows, rows * 4);
        check_amount(file->memory, 0, memory + FIXED, memory * 2.5 + FIXED);
        check_amount(estimate.rows, rows / 4, rows, rows * 4);
        check_amount(estimate.memory, 0, memory + FIXED, memory * 2.5 + FIXED);
        CHECK_INT(estimate.bytes, bytes);
        CHECK_INT(estimate.count, 1);
        nl_estimate_release(&estimate);
        nl_inputs_free(&inputs);
    }
}

/* Highest row ids of the tables of events, as sqlite3 gives them, added by hand. */
static void by_tables(void)
{
    static const struct {
        const char *name, *format;
        double rows;
    } cases[] = {
        {"nsys/graph-nodes.sqlite", "nsys", 28},
        {"nsys/era-3.25-all.sqlite", "nsys", 48},
        {"nvprof/every_table.nvvp", "nvprof", 21},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char path[512];
        const char *const paths[] = {path};
        struct nl_inputs inputs;
        struct nl_estimate estimate;
        double rows = cases[i].rows;
        corpus_path(path, cases[i].name);
        check_case(cases[i].name);
        REQUIRE(estimate_of(&estimate, &inputs, paths, 1, NL_SANDBOX_RISKY));
        CHECK_TEXT(estimate.files[0].format, cases[i].format);
        CHECK_TEXT(nl_estimate_how_text(estimate.files[0].how), "rows of its tables");
        check_amount(estimate.rows, rows / 1.5, rows, rows * 1.5);
        check_amount(estimate.memory, rows * 25, rows * 100 + FIXED, rows * 250 + FIXED);
        nl_estimate_release(&estimate);
        nl_inputs_free(&inputs);
    }
}

/* Rows of all kinds together, which the files' rows in tests/corpus_expect add up to: counters
 * alone, samples, memory, nodes, slices with counters, a slice with metrics. */
static void counted(void)
{
    static const struct {
        const char *name;
        double rows;
    } cases[] = {
        {"gputelemetry/dcgmi.txt", 14},  {"torchtimeline/cut.raw.json", 7},
        {"pprof/modern.pb.gz", 5},       {"torchet/flat.json", 2},
        {"tensorrt/cut_times.json", 12}, {"chrome/every_phase.json", 10},
        {"ncu/details-2020.csv", 2},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char path[512];
        const char *const paths[] = {path};
        struct nl_inputs inputs;
        struct nl_estimate estimate;
        corpus_path(path, cases[i].name);
        check_case(cases[i].name);
        REQUIRE(estimate_of(&estimate, &inputs, paths, 1, NL_SANDBOX_RISKY));
        CHECK_TEXT(nl_estimate_how_text(estimate.files[0].how), "counted");
        check_amount(estimate.rows, cases[i].rows, cases[i].rows, cases[i].rows);
        nl_estimate_release(&estimate);
        nl_inputs_free(&inputs);
    }
}

/* ---- made files ---- */

static char folder[] = "/tmp/nl-estimate-XXXXXX";

/* Events of 80 bytes, with `more` in the name of those from `thin` on. */
static void put_events(const char *name, unsigned count, unsigned thin, const char *more)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("[\n", file);
    for (unsigned i = 0; i < count; i++)
        fprintf(file,
                "{\"ph\": \"X\", \"name\": \"k%u%s\", \"pid\": 1, \"tid\": 1, \"ts\": %9u, "
                "\"dur\": %4u}%s\n",
                i % 9, i < thin ? "" : more, i * 10, 1 + i % 7, i + 1 < count ? "," : "]");
    fclose(file);
}

static void put_stacks(const char *name, unsigned count)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "main;function_%06u;leaf %u\n", i, 1 + i % 9);
    fclose(file);
}

static void put_little(unsigned char *to, unsigned value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

/* The same in gzip's form, as it writes what it cannot pack: blocks of up to 60000 bytes, each with
 * its size twice. The sum at the end is not that of the text: a first part is never read so far. */
static void pack(const char *path)
{
    static unsigned char bytes[60000];
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    char packed[120];
    unsigned char frame[8];
    unsigned size = 0;
    snprintf(packed, sizeof packed, "%s.gz", path);
    FILE *from = fopen(path, "r"), *to = fopen(packed, "w");
    REQUIRE(from && to);
    fwrite(head, 1, sizeof head, to);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, from)) > 0; size += (unsigned)got) {
        frame[0] = 0;
        put_little(frame + 1, (unsigned)got, 2);
        put_little(frame + 3, ~(unsigned)got, 2);
        fwrite(frame, 1, 5, to);
        fwrite(bytes, 1, got, to);
    }
    fwrite("\1\0\0\377\377", 1, 5, to);
    put_little(frame, 0, 4);
    put_little(frame + 4, size, 4);
    fwrite(frame, 1, 8, to);
    fclose(from);
    CHECK(fclose(to) == 0 && rename(packed, path) == 0);
}

/* How a made file is judged, and how far its rows are from the truth. */
static void first_parts(void)
{
    static const char padding[] = "____________________________________________________________"
                                  "____________________________________________________________"
                                  "____________________________________________________________";
    static const struct {
        const char *what, *how;
        unsigned count, thin;
        bool stacks, packed;
        double range, near; /* of the rows: to either side; what is likely is off by no more */
    } cases[] = {
        {"the whole file", "counted", 60, 60, false, false, 1, 1e-9},
        {"fewer than are asked of a part", "counted", 3, 3, false, false, 1, 1e-9},
        {"up to a part", "counted", 13000, 13000, false, false, 1, 1e-9},
        {"more than a part", "its first part", 16000, 16000, false, false, 2.5, 0.01},
        {"much more than that", "its first part", 50000, 50000, false, false, 2.5, 0.01},
        {"thinner behind the first part", "its first part", 40000, 14000, false, false, 2.5, 0.08},
        {"packed, more than a part", "its first part", 50000, 50000, false, true, 2.5, 0.01},
        {"lines", "counted", 500, 0, true, false, 1, 1e-9},
        {"more lines than a part", "its first part", 90000, 0, true, false, 2.5, 0.02},
    };
    REQUIRE(mkdtemp(folder));
    char path[100];
    const char *const paths[] = {path};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_inputs inputs;
        struct nl_estimate estimate;
        check_case(cases[i].what);
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].stacks ? "a.folded" : "a.json");
        if (cases[i].stacks)
            put_stacks("a.folded", cases[i].count);
        else
            put_events("a.json", cases[i].count, cases[i].thin, padding);
        if (cases[i].packed)
            pack(path);
        REQUIRE(estimate_of(&estimate, &inputs, paths, 1, NL_SANDBOX_RISKY));
        const struct nl_file_estimate *file = &estimate.files[0];
        CHECK_TEXT(nl_estimate_how_text(file->how), cases[i].how);
        CHECK_NEAR(file->rows.likely, cases[i].count, cases[i].count * cases[i].near);
        check_amount(file->rows, file->rows.likely / cases[i].range, file->rows.likely,
                     file->rows.likely * cases[i].range);
        /* what is likely stands between the least and the most, which begin
         * with what any profile takes */
        double bytes = file->memory.likely - FIXED;
        CHECK(bytes > 0 && file->memory.low <= bytes / 4 * 1.000001);
        CHECK_NEAR(file->memory.high, bytes * 2.5 + FIXED, 1);
        nl_estimate_release(&estimate);
        nl_inputs_free(&inputs);
        remove(path);
    }
}

/* Twelve files: one of each ending and then such as are spread over all are looked at, eight
 * together; the others have as many rows a byte, from half of the least to twice the most. Numbers:
 * the first has 60 events, each next one 30 more. */
static void files_like_others(void)
{
    static const char *const hows[] = {
        "counted", "files like it", "counted", "counted", "files like it", "counted",
        "counted", "files like it", "counted", "counted", "files like it", "counted"};
    char paths[12][100];
    const char *given[12];
    struct nl_inputs inputs;
    struct nl_estimate estimate;
    double rows = 0, seen = 0, bytes = 0, least = 1, most = 0;
    for (unsigned i = 0; i < 12; i++) {
        char name[20];
        snprintf(name, sizeof name, i < 11 ? "r%02u.json" : "stacks.folded", i);
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, name);
        given[i] = paths[i];
        if (i < 11)
            put_events(name, 60 + 30 * i, 10000, "");
        else
            put_stacks(name, 40);
    }
    REQUIRE(estimate_of(&estimate, &inputs, given, 12, NL_SANDBOX_RISKY));
    REQUIRE(estimate.count == 12);
    for (unsigned i = 0; i < 12; i++) {
        check_case(given[i]);
        CHECK_TEXT(nl_estimate_how_text(estimate.files[i].how), hows[i]);
        CHECK_TEXT(estimate.files[i].format, i < 11 ? "kineto" : "collapsed");
        CHECK_INT(estimate.files[i].bytes, nl_file_bytes(given[i]));
        rows += estimate.files[i].rows.likely;
        if (i == 11 || estimate.files[i].how != NL_ESTIMATE_COUNTED)
            continue;
        double its = (double)nl_file_bytes(given[i]);
        seen += 60 + 30 * i;
        bytes += its;
        least = fmin(least, (60 + 30 * i) / its);
        most = fmax(most, (60 + 30 * i) / its);
    }
    for (unsigned i = 1; i < 11; i += 3) {
        double its = (double)nl_file_bytes(given[i]);
        check_case(given[i]);
        check_amount(estimate.files[i].rows, least * its / 2, seen * its / bytes, most * its * 2);
    }
    CHECK_NEAR(estimate.rows.likely, rows, 1e-6);
    for (unsigned i = 0; i < 12; i++)
        remove(given[i]);
    nl_estimate_release(&estimate);
    nl_inputs_free(&inputs);
}

/* Whether a profile of 4 MB is begun with that much memory. */
static void before_loading(void)
{
    static const struct {
        const char *what;
        double memory;
        enum nl_job_sandbox sandbox;
        bool fits;
    } cases[] = {
        {"no limit", 0, NL_SANDBOX_RISKY, true},
        {"a large one", 1 << 30, NL_SANDBOX_RISKY, true},
        {"a small one", 200000, NL_SANDBOX_RISKY, false},
        {"where nothing is read here", 200000, NL_SANDBOX_ALL, true},
        {"so small that the file is not worth it", 60000, NL_SANDBOX_RISKY, false},
    };
    char path[100];
    const char *const paths[] = {path};
    put_events("large.json", 50000, 50000, "");
    snprintf(path, sizeof path, "%s/large.json", folder);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_inputs inputs;
        struct nl_job job = {
            .threads = 1, .sandbox = cases[i].sandbox, .memory_bytes = (uint64_t)cases[i].memory};
        check_case(cases[i].what);
        nl_err_clear(&err);
        REQUIRE(nl_inputs_expand(&inputs, paths, 1, &err));
        CHECK_INT(nl_estimate_check(&inputs, &job, &err), cases[i].fits);
        if (!cases[i].fits) {
            CHECK_INT(err.code, NL_MEMORY);
            CHECK(strstr(err.text, "(estimated from its first part); give it --memory "));

            CHECK(strstr(err.file, "large.json"));
        }
        nl_inputs_free(&inputs);
    }
    remove(path);
    CHECK(rmdir(folder) == 0);
}

CHECK_MAIN("estimate", {"by size alone", by_size_alone}, {"by tables", by_tables},
           {"counted", counted}, {"first parts", first_parts},
           {"files like others", files_like_others}, {"before loading", before_loading})
