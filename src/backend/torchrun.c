/* Files in a folder are the whole protocol: a model may print, exit or crash as it likes. */
#define _GNU_SOURCE
#include "backend/torchrun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/units.h"

#define DRIVER      "torchdriver.py"
#define STAGE_BYTES 512
#define LINE        8192
#define OWN_WORDS   16

extern const char nl_torch_driver_text[];

_Static_assert(offsetof(struct torch_shared, runs) == 128, "torchdriver.py writes the count there");
_Static_assert(sizeof(struct torch_shared) <= STAGE_BYTES, "the file is as long");

/* ---- finding ---- */

static bool can_run(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static const char *on_path(const char *name, struct nl_arena *arena)
{
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        size_t len = strcspn(rest, ":");
        const char *path =
            nl_arena_format(arena, "%.*s/%s", len ? (int)len : 1, len ? rest : ".", name);
        if (can_run(path))
            return path;
        rest += len + (rest[len] == ':');
    }
    return NULL;
}

const char *torch_find_python(const char *given, struct nl_arena *arena, struct nl_err *err)
{
    const char *environment = getenv("VIRTUAL_ENV");
    const char *found = given && !strchr(given, '/') ? on_path(given, arena) : given;
    if (given) {
        if (found && can_run(found))
            return found;
        (void)nl_fail(err, NL_ENVIRONMENT, "--python: %.300s is not an executable program", given);
        return NULL;
    }
    if (environment && *environment) {
        found = nl_arena_format(arena, "%s/bin/python", environment);
        if (can_run(found))
            return found;
    }
    found = on_path("python3", arena);
    if (!found)
        found = on_path("python", arena);
    if (!found)
        (void)nl_fail(err, NL_ENVIRONMENT,
                      "no python3 found on PATH; --python FILE names the one that has PyTorch");
    return found;
}

/* ---- before ---- */

static const char *in_folder(const struct torch_plan *plan, const char *name,
                             struct nl_arena *arena)
{
    return nl_arena_format(arena, "%s/%s", plan->folder, name);
}

static bool write_driver(const char *path, struct nl_err *err)
{
    struct nl_out out;
    if (!nl_out_open(&out, path, err))
        return false;
    fputs(nl_torch_driver_text, out.stream);
    return nl_out_commit(&out, err);
}

struct torch_shared *torch_prepare(const struct torch_plan *plan, struct nl_arena *arena,
                                   struct nl_err *err)
{
    const char *path = in_folder(plan, "stage", arena);
    void *memory = MAP_FAILED;
    if (!write_driver(in_folder(plan, DRIVER, arena), err))
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, STAGE_BYTES) == 0)
        memory = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory != MAP_FAILED)
        return memory;
    nl_err_at(err, path, -1);
    (void)nl_fail(err, NL_WRITE, "cannot write there: %s", strerror(errno));
    return NULL;
}

void torch_unmap(struct torch_shared *shared)
{
    if (shared)
        munmap(shared, STAGE_BYTES);
}

char **torch_command(const struct torch_plan *plan, struct nl_arena *arena)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"warm_up", plan->warm_up},
                   {"max_runs", plan->max_runs},
                   {"profiled_runs", plan->profiled_runs},
                   {"max_ns", plan->max_ns},
                   {"threads", plan->threads}};
    size_t count = 0;
    char **words =
        nl_arena_alloc(arena, (OWN_WORDS + plan->input_count + plan->dim_count) * sizeof *words);
    words[count++] = nl_arena_format(arena, "%s", plan->python);
    words[count++] = nl_arena_format(arena, "%s/" DRIVER, plan->folder);
    words[count++] = nl_arena_format(arena, "%s", plan->folder);
    words[count++] = nl_arena_format(arena, "%s", plan->model);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        words[count++] = nl_arena_format(arena, "%s=%" PRId64, numbers[i].name, numbers[i].value);
    if (plan->device)
        words[count++] = nl_arena_format(arena, "device=%s", plan->device);
    for (size_t i = 0; i < plan->input_count; i++)
        words[count++] = nl_arena_format(arena, "input=%s", plan->inputs[i]);
    for (size_t i = 0; i < plan->dim_count; i++)
        words[count++] = nl_arena_format(arena, "dim=%s", plan->dims[i]);
    words[count] = NULL;
    return words;
}

/* ---- after ---- */

bool torch_told_error(const struct torch_plan *plan, struct nl_arena *arena, struct nl_err *err)
{
    char line[LINE];
    FILE *file = fopen(in_folder(plan, "error", arena), "rb");
    bool told = file && fgets(line, sizeof line, file) && line[0] >= '1' && line[0] <= '9' &&
                line[1] == ' ';
    if (file)
        fclose(file);
    if (told)
        (void)nl_fail(err,
                      line[0] == '2'   ? NL_USAGE
                      : line[0] == '4' ? NL_FORMAT
                                       : NL_ENVIRONMENT,
                      "%.900s", line + 2);
    return told;
}

static const char *const stop_names[] = {
    [ORT_STOP_TIGHT] = "tight", [ORT_STOP_TIME] = "time", [ORT_STOP_RUNS] = "runs"};

struct reading {
    struct ort_outcome *outcome;
    struct torch_facts *facts;
    struct nl_arena *arena;
    bool done;
};

static void keep_text_fact(struct reading *reading, struct nl_str key, struct nl_str value)
{
    struct torch_facts *facts = reading->facts;
    const struct {
        const char *key, **text;
    } texts[] = {{"version", &facts->version}, {"python", &facts->python},
                 {"kind", &facts->kind},       {"inputs", &facts->inputs},
                 {"device", &facts->device},   {"profiler", &facts->profiler},
                 {"mode", &facts->mode}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (nl_str_is(key, texts[i].key))
            *texts[i].text = nl_arena_text(reading->arena, value.ptr, value.len);
}

static void take_fact(struct reading *reading, struct nl_str key, struct nl_str value)
{
    struct ort_outcome *outcome = reading->outcome;
    int64_t number = 0;
    bool whole = nl_parse_i64(value, &number);
    if (nl_str_is(key, "batch"))
        outcome->batch = whole ? number : INT64_MIN;
    else if (nl_str_is(key, "load_ns"))
        outcome->load_ns = number;
    else if (nl_str_is(key, "turns"))
        reading->facts->in_turns = number == 1;
    else if (nl_str_is(key, "done"))
        reading->done = number == 1;
    else if (nl_str_is(key, "stop"))
        for (int i = 0; i <= ORT_STOP_RUNS; i++)
            if (nl_str_is(value, stop_names[i]))
                outcome->stop = (enum ort_stop)i;
    keep_text_fact(reading, key, value);
}

static void read_facts(struct reading *reading, FILE *file)
{
    char line[LINE];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        size_t key = strcspn(line, " ");
        const char *value = line[key] ? line + key + 1 : line + key;
        take_fact(reading, (struct nl_str){line, key}, nl_str(value));
    }
}

/* "u START DUR" or, with the profiler, "p START DUR". */
static void read_runs(struct ort_outcome *outcome, FILE *file)
{
    char kind;
    struct ort_run run;
    while (fscanf(file, " %c %" SCNd64 " %" SCNd64, &kind, &run.start_ns, &run.dur_ns) == 3) {
        if (run.dur_ns < 0)
            continue;
        if (kind == 'u' && outcome->plain_count < ORT_MAX_RUNS)
            outcome->plain[outcome->plain_count++] = run;
        else if (kind == 'p' && outcome->profiled_count < ORT_MAX_PROFILED)
            outcome->profiled[outcome->profiled_count++] = run;
    }
}

static bool with_file(const struct torch_plan *plan, const char *name, struct reading *reading,
                      struct nl_err *err)
{
    FILE *file = fopen(in_folder(plan, name, reading->arena), "rb");
    if (!file)
        return nl_fail(err, NL_ENVIRONMENT,
                       "Python ended before the model was measured (something in it called "
                       "os._exit(0), or replaced the process)");
    if (strcmp(name, "facts") == 0)
        read_facts(reading, file);
    else
        read_runs(reading->outcome, file);
    fclose(file);
    return true;
}

bool torch_read(const struct torch_plan *plan, struct ort_outcome *outcome,
                struct torch_facts *facts, struct nl_arena *arena, struct nl_err *err)
{
    struct reading reading = {outcome, facts, arena, false};
    *facts = (struct torch_facts){"", "", "", "", "", "", "", false};
    outcome->batch = INT64_MIN;
    if (!with_file(plan, "facts", &reading, err) || !with_file(plan, "runs", &reading, err))
        return false;
    return (reading.done && outcome->plain_count && outcome->profiled_count) ||
           nl_fail(err, NL_ENVIRONMENT,
                   "what Python measured was not written to its end; is the "
                   "temporary folder full?");
}
