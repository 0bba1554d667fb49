/*
 * Names to files (ingest/inputs.c): what a folder, a pattern and a name give, and in which order;
 * ranks in names; files that hold what another one holds.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "ingest/inputs.h"

static void ranks_in_names(void)
{
    static const struct {
        const char *name;
        int64_t rank;
    } cases[] = {
        {"rank0.json", 0},
        {"rank9.json", 9},
        {"trace_rank_10_of_16.json", 10},
        {"rank-3", 3},
        {"rank=7.nsys-rep", 7},
        {"Rank_-=5.json", 5},
        {"RANK4", 4},
        {"rank00012", 12},
        {"worker2.pt.trace.json", 2},
        {"host_worker-1.json", 1},
        {"worker3_rank5.json", 5}, /* a rank says more than a worker */
        {"ranking_worker8.json", 8},
        {"8.rank.json", INT64_MIN},
        {"rank", INT64_MIN},
        {"rank-", INT64_MIN},
        {"worker", INT64_MIN},
        {"rank.1", INT64_MIN},
        {"rank 3", INT64_MIN},
        {"rankx3", INT64_MIN},
        {"rank99999999999999999999", INT64_MIN}, /* more than a number holds */
        {"", INT64_MIN},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        CHECK_INT(nl_rank_in_name(cases[i].name), cases[i].rank);
    }
}

/* What stands in for the first of these files of a folder, NULL for nothing. */
static const char *twin_of(const char *const names[4], bool from_folder)
{
    static char found[100];
    struct nl_inputs inputs = {0};
    nl_arena_init(&inputs.arena);
    for (size_t i = 0; i < 4 && names[i]; i++)
        nl_inputs_add_plain(&inputs, &(struct nl_path){.path = names[i],
                                                       .where = names[i],
                                                       .name = names[i],
                                                       .from_folder = from_folder});
    const struct nl_path *twin = nl_inputs_twin(&inputs, 0);
    snprintf(found, sizeof found, "%s", twin ? twin->where : "");
    nl_inputs_free(&inputs);
    return *found ? found : NULL;
}

static void twins_of_files(void)
{
    static const struct {
        const char *names[4], *twin;
    } cases[] = {
        {{"d/a.trace.json.gz", "d/a.xplane.pb"}, "d/a.xplane.pb"},
        {{"d/a.nsys-rep", "d/a.sqlite"}, "d/a.sqlite"},
        {{"d/a.qdrep", "d/a.sqlite"}, "d/a.sqlite"},
        {{"d/a_results.json", "d/a_results.db"}, "d/a_results.db"},
        {{"d/a_results.pftrace", "d/a_results.db"}, "d/a_results.db"},
        {{"d/a_results.pftrace", "d/a_results.json"}, "d/a_results.json"},
        {{"d/a_results.pftrace", "d/a_results.json", "d/a_results.db"}, "d/a_results.db"},
        {{"d/a.json.run.json", "d/a.json"}, "d/a.json"},
        {{"d/a.json.gz", "d/a.json"}, "d/a.json"},
        {{"d/a.json.zst", "d/a.json"}, "d/a.json"},
        {{"d/a.trace.json.gz", "d/b", "d/a.trace.json"}, "d/a.trace.json"},
        {{"d/a.sqlite", "d/a.nsys-rep"}, NULL}, /* the other way round it is none */
        {{"d/a_results.db", "d/a_results.json"}, NULL},
        {{"d/a.json", "d/a.json.gz"}, NULL},
        {{"d/a.nsys-rep", "d/b.sqlite"}, NULL},
        {{"d/a.nsys-rep", "e/a.sqlite"}, NULL},
        {{"d/anything", "d/a"}, NULL},
        {{".gz", ""}, NULL},
        {{"a.gz", "a"}, "a"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].names[0]);
        const char *twin = twin_of(cases[i].names, true);
        CHECK_TEXT(twin ? twin : "none", cases[i].twin ? cases[i].twin : "none");
        CHECK(!twin_of(cases[i].names, false)); /* a file that was named is read */
    }
}

/* A table of rocprofv3 beside the file that holds all of them. */
static void twins_of_tables(void)
{
    static const char *const tables[] = {
        "agent_info",           "kernel_trace",      "memory_copy_trace", "hip_api_trace",
        "hsa_api_trace",        "marker_api_trace",  "rccl_api_trace",    "memory_allocation_trace",
        "scratch_memory_trace", "counter_collection"};
    for (size_t i = 0; i < CHECK_LENGTH(tables); i++) {
        char csv[60];
        snprintf(csv, sizeof csv, "d/1_%s.csv", tables[i]);
        check_case(csv);
        CHECK_TEXT(twin_of((const char *const[4]){csv, "d/1_results.json", "d/1_results.db"}, true),
                   "d/1_results.db");
        CHECK_TEXT(twin_of((const char *const[4]){csv, "d/1_results.json"}, true),
                   "d/1_results.json");
        CHECK(!twin_of((const char *const[4]){csv, "d/2_results.json"}, true));
    }
    CHECK(!twin_of((const char *const[4]){"d/1_other.csv", "d/1_results.json"}, true));
}

/* ---- names ---- */

static char folder[] = "/tmp/nl-inputs-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void put_folder(const char *name)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

/* The files' places behind the folder's, each with "+" when a folder or a pattern gave it; or what
 * is wrong. `words` has names by blanks, each behind the folder. */
static const char *expand(const char *words)
{
    static char said[600];
    char paths[4][260], text[200];
    const char *given[4];
    size_t count = 0;
    struct nl_inputs inputs;
    struct nl_err err;
    nl_err_clear(&err);
    snprintf(text, sizeof text, "%s", words);
    for (char *word = text, *next; count < 4 && word; word = next, count++) {
        next = strchr(word, ' ');
        if (next)
            *next++ = '\0';
        snprintf(paths[count], sizeof paths[count], "%s%s%s", folder, *word ? "/" : "", word);
        given[count] = paths[count];
    }
    if (!nl_inputs_expand(&inputs, given, count, &err)) {
        snprintf(said, sizeof said, "%s", err.text);
        return said;
    }
    said[0] = '\0';
    for (size_t i = 0; i < inputs.count; i++) {
        const char *place = inputs.items[i].where + strlen(folder) + 1;
        const char *slash = strrchr(place, '/');
        CHECK_TEXT(inputs.items[i].name, slash ? slash + 1 : place);
        CHECK_TEXT(inputs.items[i].path, inputs.items[i].where);
        size_t len = strlen(said);
        snprintf(said + len, sizeof said - len, "%s%s%s", len ? " " : "", place,
                 inputs.items[i].from_folder ? "+" : "");
    }
    nl_inputs_free(&inputs);
    return said;
}

static void names_to_files(void)
{
    static const struct {
        const char *words, *files;
    } cases[] = {
        {"", "r1.json+ r2.json+ r10.json+"},
        {"r2.json", "r2.json"},
        {"r10.json r2.json", "r10.json r2.json"},
        {"r2.json r2.json", "r2.json"},
        {"r2.json ", "r2.json r1.json+ r10.json+"},
        {"r*.json", "r1.json+ r2.json+ r10.json+"},
        {"r?.json", "r1.json+ r2.json+"},
        {"r[12].json", "r1.json+ r2.json+"},
        {"sub", "sub/x+"},
        {"sub/x r1.json", "sub/x r1.json"},
        {"*", "r1.json+ r2.json+ r10.json+"},
        {".hidden", ".hidden"},
        {"neurolens.yaml", "neurolens.yaml"},
        {"neurolens.*", "no input file"},
        {"z*", "no file matches"},
        {"missing", "cannot open: No such file or directory"},
        {"r1.json missing", "cannot open: No such file or directory"},
        {"r1.json/inside", "cannot open: Not a directory"},
        {"://host/file", "this is an address, and only files are read; fetch it first, or pipe it: "
                         "curl -L ADDRESS | "
                         "neurolens analyze -"},
        {"none", "this folder holds no files"},
        {"deep",
         "this folder holds no files; those of the folders in it are not looked at: name one "
         "of them"},
        {"hidden", "this folder holds no files"},
    };
    REQUIRE(mkdtemp(folder));
    put_file("r10.json", "{}"), put_file("r2.json", "{}"), put_file("r1.json", "{}");
    put_file(".hidden", "{}"), put_file("neurolens.yaml", "{}");
    put_folder("sub"), put_file("sub/x", "12345678");
    put_folder("none");
    put_folder("deep"), put_folder("deep/er"), put_file("deep/er/x", "{}");
    put_folder("hidden"), put_folder("hidden/.er"), put_file("hidden/.er/x", "{}");
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].words);
        CHECK_TEXT(expand(cases[i].words), cases[i].files);
    }
}

static void sizes_of_files(void)
{
    char path[100], bytes[10] = "";
    uint64_t size;
    struct nl_err err;
    nl_err_clear(&err);
    REQUIRE(access(folder, F_OK) == 0); /* made by the test before */
    snprintf(path, sizeof path, "%s/sub/x", folder);
    CHECK_INT(nl_file_bytes(path), 8);
    CHECK_INT(nl_file_start(path, bytes, 5), 5);
    CHECK_TEXT(bytes, "12345");
    CHECK_INT(nl_file_start(path, bytes, sizeof bytes), 8);
    CHECK_TEXT(bytes, "12345678");
    CHECK(nl_file_size(path, &size, &err) && size == 8);
    CHECK_INT(nl_file_bytes(folder), 0);
    CHECK_INT(nl_file_start(folder, bytes, 5), 0);
    CHECK(nl_file_size(folder, &size, &err) && size == 0);
    CHECK(nl_file_size("-", &size, &err) && size == 0);
    snprintf(path, sizeof path, "%s/missing", folder);
    CHECK_INT(nl_file_bytes(path), 0);
    CHECK(!nl_file_size(path, &size, &err));
    CHECK_TEXT(err.text, "cannot read: No such file or directory");
}

static void cleans_up(void)
{
    static const char *const names[] = {"deep/er/x",  "deep/er",        "deep",    "hidden/.er/x",
                                        "hidden/.er", "hidden",         "none",    "sub/x",
                                        "sub",        "r10.json",       "r2.json", "r1.json",
                                        ".hidden",    "neurolens.yaml", "."};
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        char path[100];
        snprintf(path, sizeof path, "%s%s%s", folder, names[i][0] == '.' && !names[i][1] ? "" : "/",
                 names[i][0] == '.' && !names[i][1] ? "" : names[i]);
        CHECK(remove(path) == 0);
    }
}

CHECK_MAIN("inputs", {"ranks in names", ranks_in_names}, {"twins of files", twins_of_files},
           {"twins of tables", twins_of_tables}, {"names to files", names_to_files},
           {"sizes of files", sizes_of_files}, {"cleans up", cleans_up})
