/* What the driver of PyTorch leaves in its folder: whole, damaged, or not there. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/torchrun.h"
#include "check.h"

static char folder[] = "/tmp/neurolens-torchrun-XXXXXX";

static void leave(void)
{
    static const char *const names[] = {"facts", "runs", "error", "stage", "torchdriver.py"};
    char path[128];
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* Made once, for whichever tests run. */
static bool have_folder(void)
{
    static bool made;
    if (!made && mkdtemp(folder)) {
        made = true;
        atexit(leave);
    }
    return made;
}

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!text) {
        unlink(path);
        return;
    }
    FILE *file = fopen(path, "wb");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static const struct {
    const char *name, *facts, *runs;
    bool good;
    const char *error;
    uint32_t plain, profiled;
    int64_t batch;
} folders[] = {
    {"whole", "version 2.4\nbatch 8\nstop runs\ndone 1\n", "u 5 10\nu 20 12\np 40 15\n", true, "",
     2, 1, 8},
    {"no batch", "version 2.4\nbatch \ndone 1\n", "u 5 10\np 40 15\n", true, "", 1, 1, INT64_MIN},
    {"no end of line, odd lines", "nonsense\n\n  \ndone 1", "u 5 10\np 4 5", true, "", 1, 1,
     INT64_MIN},
    {"lengths under 0 do not count", "done 1\n", "u 5 -10\nu 6 1\np 4 5\n", true, "", 1, 1,
     INT64_MIN},
    {"cut runs", "done 1\n", "u 5 10\np 40", false, "not written to its end", 1, 0, 0},
    {"text in the runs", "done 1\n", "u 5 10\nhello\np 40 15\n", false, "not written to its end", 1,
     0, 0},
    {"not done", "version 2.4\n", "u 5 10\np 40 15\n", false, "not written to its end", 0, 0, 0},
    {"no facts", NULL, "u 5 10\np 40 15\n", false, "ended before the model was measured", 0, 0, 0},
    {"no runs", "done 1\n", NULL, false, "ended before the model was measured", 0, 0, 0},
};

static void reads_folders(void)
{
    REQUIRE(have_folder());
    const struct torch_plan plan = {.folder = folder};
    for (size_t i = 0; i < CHECK_LENGTH(folders); i++) {
        struct ort_outcome *outcome = nl_zalloc(sizeof *outcome);
        struct torch_facts facts;
        struct nl_arena arena;
        struct nl_err err;
        nl_err_clear(&err);
        nl_arena_init(&arena);
        check_case(folders[i].name);
        put("facts", folders[i].facts);
        put("runs", folders[i].runs);
        CHECK(torch_read(&plan, outcome, &facts, &arena, &err) == folders[i].good);
        CHECK(strstr(err.text, folders[i].error) != NULL);
        if (folders[i].good) {
            CHECK_INT(outcome->plain_count, folders[i].plain);
            CHECK_INT(outcome->profiled_count, folders[i].profiled);
            CHECK_INT(outcome->batch, folders[i].batch);
        }
        nl_arena_free(&arena);
        nl_free(outcome);
    }
}

static void more_runs_than_there_is_room(void)
{
    REQUIRE(have_folder());
    const struct torch_plan plan = {.folder = folder};
    struct ort_outcome *outcome = nl_zalloc(sizeof *outcome);
    size_t bytes = (ORT_MAX_RUNS + 10) * 8;
    char *text = nl_alloc(bytes + 16), *at = text;
    struct torch_facts facts;
    struct nl_arena arena;
    struct nl_err err;
    nl_err_clear(&err);
    nl_arena_init(&arena);
    for (int i = 0; i < ORT_MAX_RUNS + 10; i++)
        at += snprintf(at, 9, "u 1 %03d\n", i % 1000);
    snprintf(at, 16, "p 1 2\n");
    put("facts", "done 1\n");
    put("runs", text);
    CHECK(torch_read(&plan, outcome, &facts, &arena, &err));
    CHECK_INT(outcome->plain_count, ORT_MAX_RUNS);
    CHECK_INT(outcome->plain[ORT_MAX_RUNS - 1].dur_ns, (ORT_MAX_RUNS - 1) % 1000);
    CHECK_INT(outcome->profiled_count, 1);
    nl_arena_free(&arena);
    nl_free(text);
    nl_free(outcome);
}

static const struct {
    const char *text;
    bool told;
    enum nl_code code;
    const char *words;
} errors[] = {
    {"2 no such input", true, NL_USAGE, "no such input"},
    {"4 bad file", true, NL_FORMAT, "bad file"},
    {"5 no torch", true, NL_ENVIRONMENT, "no torch"},
    {"", false, NL_OK, ""},
    {"no number", false, NL_OK, ""},
    {"4", false, NL_OK, ""},
    {NULL, false, NL_OK, ""},
};

static void errors_of_the_driver(void)
{
    REQUIRE(have_folder());
    const struct torch_plan plan = {.folder = folder};
    for (size_t i = 0; i < CHECK_LENGTH(errors); i++) {
        struct nl_arena arena;
        struct nl_err err;
        nl_err_clear(&err);
        nl_arena_init(&arena);
        check_case(errors[i].text ? errors[i].text : "no file");
        put("error", errors[i].text);
        CHECK(torch_told_error(&plan, &arena, &err) == errors[i].told);
        CHECK(err.code == errors[i].code);
        CHECK(strcmp(err.text, errors[i].words) == 0);
        nl_arena_free(&arena);
    }
}

static void words_for_the_driver(void)
{
    REQUIRE(have_folder());
    static const char *const inputs[] = {"x=2x3xf32", "a=b=4"}, *const dims[] = {"n=3"};
    const struct torch_plan plan = {.python = "/bin/python3",
                                    .model = "m.pt",
                                    .folder = folder,
                                    .inputs = inputs,
                                    .dims = dims,
                                    .input_count = 2,
                                    .dim_count = 1,
                                    .device = "cuda:0",
                                    .threads = 4,
                                    .warm_up = 1,
                                    .max_runs = 2,
                                    .profiled_runs = 3,
                                    .max_ns = 5};
    static const char *const wanted[] = {"warm_up=1",       "max_runs=2",  "profiled_runs=3",
                                         "max_ns=5",        "threads=4",   "device=cuda:0",
                                         "input=x=2x3xf32", "input=a=b=4", "dim=n=3"};
    struct nl_arena arena;
    nl_arena_init(&arena);
    char **words = torch_command(&plan, &arena);
    CHECK(strcmp(words[0], "/bin/python3") == 0 && strcmp(words[2], folder) == 0 &&
          strcmp(words[3], "m.pt") == 0);
    for (size_t i = 0; i < CHECK_LENGTH(wanted); i++)
        CHECK(strcmp(words[4 + i], wanted[i]) == 0);
    CHECK(words[4 + CHECK_LENGTH(wanted)] == NULL);
    nl_arena_free(&arena);
}

/* The driver is written whole, and what it tells while it runs is seen. */
static void prepares_the_folder(void)
{
    REQUIRE(have_folder());
    const struct torch_plan plan = {.folder = folder};
    struct nl_arena arena;
    struct nl_err err;
    char path[128];
    nl_err_clear(&err);
    nl_arena_init(&arena);
    struct torch_shared *shared = torch_prepare(&plan, &arena, &err);
    REQUIRE(shared);
    CHECK(shared->doing[0] == '\0' && atomic_load(&shared->runs) == 0);
    snprintf(path, sizeof path, "%s/stage", folder);
    FILE *file = fopen(path, "r+b");
    REQUIRE(file);
    const uint32_t runs = 77;
    fputs("warming up", file);
    fseek(file, 128, SEEK_SET);
    fwrite(&runs, sizeof runs, 1, file);
    fclose(file);
    CHECK(strcmp(shared->doing, "warming up") == 0 && atomic_load(&shared->runs) == 77);
    torch_unmap(shared);
    snprintf(path, sizeof path, "%s/torchdriver.py", folder);
    struct stat info;
    CHECK(stat(path, &info) == 0 && info.st_size > 10000);
    unlink(path);
    nl_arena_free(&arena);
}

CHECK_MAIN("torchrun", {"folders", reads_folders},
           {"more runs than there is room", more_runs_than_there_is_room},
           {"errors", errors_of_the_driver}, {"words", words_for_the_driver},
           {"preparing", prepares_the_folder})
