/*
 * doctor: a table of checks. Each looks and says what it found, and how to get what is missing;
 * somebody else's libraries are loaded in a child process only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/units.h"
#include "backend/ortapi.h"
#include "backend/ortfind.h"
#include "backend/torchrun.h"
#include "backend/trtexec.h"
#include "cli/child.h"
#include "cli/doctorkernel.h"
#include "cli/folders.h"
#include "cli/ledgercall.h"
#include "ingest/sandbox.h"
#include "ledger/ledgercheck.h"
#include "cli/progress.h"

#define PROBE_PATIENCE ((int64_t)20 * 1000000000)

struct check {
    const char *what;
    void (*look)(struct nl_call *call, struct nl_checked *checked);
    const char *unlock; /* how to get it, when it is not good */
};

/* ---- libraries, loaded in a child ---- */

struct probe {
    const char *const *names;
    bool (*ask)(void *library, char *text); /* its version; at most NL_CHECKED_TEXT bytes */
    char *text;                             /* shared */
};

static bool run_probe(void *context, struct nl_err *err)
{
    const struct probe *probe = context;
    for (size_t i = 0; probe->names[i]; i++) {
        void *library = dlopen(probe->names[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return probe->ask(library, probe->text) ||
                   nl_fail(err, NL_ENVIRONMENT, "%s is there but does not answer", probe->names[i]);
    }
    return nl_fail(err, NL_ENVIRONMENT, "not found");
}

static void look_for_library(struct nl_call *call, struct nl_checked *checked,
                             const char *const *names, bool (*ask)(void *library, char *text))
{
    struct probe probe = {names, ask, nl_child_share(NL_CHECKED_TEXT)};
    struct nl_child child = {
        .work = run_probe, .context = &probe, .what = names[0], .timeout_ns = PROBE_PATIENCE};
    struct nl_err err;
    nl_err_clear(&err);
    checked->good = probe.text && nl_child_run(&child, call->job, &err);
    nl_checked_say(checked, "%s", checked->good ? probe.text : err.text);
    nl_child_unshare(probe.text, NL_CHECKED_TEXT);
}

/* A function and a data pointer are one size where dlsym exists. */
static void *symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found;
}

/* int f(int *version): 12040 is 12.4. */
static bool ask_driver(void *library, char *text)
{
    int (*ask)(int *) = NULL;
    int version = 0;
    if (!symbol(library, "cuDriverGetVersion", &ask) || ask(&version) != 0)
        return false;
    snprintf(text, NL_CHECKED_TEXT, "supports CUDA %d.%d", version / 1000, version % 1000 / 10);
    return true;
}

static bool ask_cupti(void *library, char *text)
{
    int (*ask)(uint32_t *) = NULL;
    uint32_t version = 0;
    if (!symbol(library, "cuptiGetVersion", &ask) || ask(&version) != 0)
        return false;
    snprintf(text, NL_CHECKED_TEXT, "API version %" PRIu32, version);
    return true;
}

static bool ask_rocprofiler(void *library, char *text)
{
    int (*ask)(uint32_t *, uint32_t *, uint32_t *) = NULL;
    uint32_t major = 0, minor = 0, patch = 0;
    if (!symbol(library, "rocprofiler_get_version", &ask) || ask(&major, &minor, &patch) != 0)
        return false;
    snprintf(text, NL_CHECKED_TEXT, "rocprofiler-sdk %" PRIu32 ".%" PRIu32 ".%" PRIu32 "%s", major,
             minor, patch, major ? "" : "; 1.0 or newer is needed to record");
    return true;
}

static bool ask_nvml(void *library, char *text)
{
    int (*start)(void) = NULL, (*driver)(char *, unsigned) = NULL, (*count)(unsigned *) = NULL;
    char version[96] = "";
    unsigned devices = 0;
    if (!symbol(library, "nvmlInit_v2", &start) ||
        !symbol(library, "nvmlSystemGetDriverVersion", &driver) ||
        !symbol(library, "nvmlDeviceGetCount_v2", &count) || start() != 0 ||
        driver(version, sizeof version) != 0 || count(&devices) != 0)
        return false;
    snprintf(text, NL_CHECKED_TEXT, "driver %s, %u GPU%s", version, devices,
             devices == 1 ? "" : "s");
    return true;
}

static void look_driver(struct nl_call *call, struct nl_checked *checked)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    look_for_library(call, checked, names, ask_driver);
}

static void look_cupti(struct nl_call *call, struct nl_checked *checked)
{
    static const char *const names[] = {"libcupti.so",
                                        "libcupti.so.13",
                                        "libcupti.so.12",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        NULL};
    look_for_library(call, checked, names, ask_cupti);
}

static void look_rocprofiler(struct nl_call *call, struct nl_checked *checked)
{
    static const char *const names[] = {"librocprofiler-sdk.so.1",
                                        "/opt/rocm/lib/librocprofiler-sdk.so.1",
                                        "librocprofiler-sdk.so", NULL};
    look_for_library(call, checked, names, ask_rocprofiler);
}

static void look_nvml(struct nl_call *call, struct nl_checked *checked)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    look_for_library(call, checked, names, ask_nvml);
}

/* ---- ONNX Runtime ---- */

struct ort_probe {
    const char *path;
    char *version; /* shared */
};

static bool probe_ort(void *context, struct nl_err *err)
{
    const struct ort_probe *probe = context;
    struct ort_api api;
    if (!ort_api_open(&api, probe->path, err))
        return false;
    snprintf(probe->version, NL_CHECKED_TEXT, "%s", api.version);
    return true;
}

static bool try_ort(struct nl_call *call, const struct ort_place *place, struct nl_checked *checked)
{
    struct ort_probe probe = {place->path, nl_child_share(NL_CHECKED_TEXT)};
    struct nl_child child = {
        .work = probe_ort, .context = &probe, .what = "ONNX Runtime", .timeout_ns = PROBE_PATIENCE};
    struct nl_err err;
    nl_err_clear(&err);
    bool good = probe.version && nl_child_run(&child, call->job, &err);
    if (good)
        nl_checked_say(checked, "%.40s, %s: %.300s", probe.version, place->from, place->path);
    else
        nl_checked_say(checked, "%.150s: %.200s", place->path, err.text);
    nl_child_unshare(probe.version, NL_CHECKED_TEXT);
    return good;
}

static void look_ort(struct nl_call *call, struct nl_checked *checked)
{
    struct ort_places places;
    ort_places_find(&places);
    nl_checked_say(checked, "not found");
    for (size_t i = 0; i < places.count && !checked->good; i++)
        checked->good = try_ort(call, &places.items[i], checked);
    if (!places.count && places.useless) {
        nl_checked_say(checked, "%.300s, which contains no library", places.useless);
        checked->unlock = "pip install --upgrade onnxruntime (1.19 or newer)";
    }
    ort_places_release(&places);
}

/* ---- TensorRT and PyTorch ---- */

static void look_trtexec(struct nl_call *call, struct nl_checked *checked)
{
    struct nl_arena arena;
    struct nl_err err;
    (void)call;
    nl_err_clear(&err);
    nl_arena_init(&arena);
    const char *path = trtexec_find(NULL, &arena, &err);
    checked->good = path != NULL;
    nl_checked_say(checked, "%.350s", path ? path : "not found");
    nl_arena_free(&arena);
}

struct torch_probe {
    const char *python;
    char *version; /* shared */
};

/* What the package says of itself: importing PyTorch takes seconds. */
static void ask_python(const char *python, int out)
{
    /* By its path: that is how an interpreter finds its virtual environment. */
    char *const words[] = {(char *)(uintptr_t)python, "-c",
                           "import importlib.metadata as m; print(m.version('torch'))", NULL};
    dup2(out, STDOUT_FILENO);
    execv(python, words);
    _exit(127);
}

static bool probe_torch(void *context, struct nl_err *err)
{
    const struct torch_probe *probe = context;
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "no pipe");
    pid_t pid = fork();
    if (pid == 0)
        ask_python(probe->python, ends[1]);
    close(ends[1]);
    ssize_t got = pid < 0 ? 0 : read(ends[0], probe->version, NL_CHECKED_TEXT - 1);
    probe->version[got > 0 ? got : 0] = '\0';
    probe->version[strcspn(probe->version, "\r\n")] = '\0';
    return (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && *probe->version) ||
           nl_fail(err, NL_ENVIRONMENT, "no package torch");
}

static void look_torch(struct nl_call *call, struct nl_checked *checked)
{
    struct nl_arena arena;
    struct nl_err err;
    nl_err_clear(&err);
    nl_arena_init(&arena);
    struct torch_probe probe = {torch_find_python(NULL, &arena, &err),
                                nl_child_share(NL_CHECKED_TEXT)};
    struct nl_child child = {
        .work = probe_torch, .context = &probe, .what = "Python", .timeout_ns = PROBE_PATIENCE};
    if (!probe.python)
        nl_checked_say(checked, "no Python");
    else if (!probe.version || !nl_child_run(&child, call->job, &err))
        nl_checked_say(checked, "%.250s: %.120s", probe.python, err.text);
    else
        checked->good = true;
    if (checked->good)
        nl_checked_say(checked, "%.60s of %.300s", probe.version, probe.python);
    nl_child_unshare(probe.version, NL_CHECKED_TEXT);
    nl_arena_free(&arena);
}

/* ---- programs and packages ---- */

/* The first `name` on PATH; false when there is none. */
static bool find_program(const char *name, char path[NL_CHECKED_TEXT])
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t len = strcspn(list, ":");
        snprintf(path, NL_CHECKED_TEXT, "%.*s/%s", (int)(len < 300 ? len : 300), list, name);
        if (access(path, X_OK) == 0)
            return true;
        list += len + (list[len] == ':');
    }
    return false;
}

/* "torch 2.4.0, " for every PACKAGE-VERSION.dist-info that the pattern finds. */
static void list_packages(struct nl_buf *text, const char *pattern)
{
    glob_t found;
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        const char *dash = strchr(name, '-');
        size_t len = dash ? strcspn(dash + 1, "-") : 0;
        const char *end = dash ? strstr(dash, ".dist-info") : NULL;
        if (end && (size_t)(end - dash - 1) < len)
            len = (size_t)(end - dash - 1);
        if (dash)
            nl_buf_format(text, "%s%.*s %.*s%s", text->len ? ", " : "", (int)(dash - name), name,
                          (int)len, dash + 1,
                          strncmp(name, "neurolens-", 10) == 0
                              ? " (another project: this is neurolens-profiler, import nlens)"
                              : "");
    }
    globfree(&found);
}

static void look_python(struct nl_call *call, struct nl_checked *checked)
{
    char path[NL_CHECKED_TEXT], pattern[NL_CHECKED_TEXT + 200];
    struct nl_buf packages;
    (void)call;
    checked->good = find_program("python3", path);
    if (!checked->good) {
        nl_checked_say(checked, "not found");
        return;
    }
    nl_buf_init(&packages, NL_CHECKED_TEXT / 2);
    size_t folder = strlen(path) - strlen("/python3");
    bool shims = folder > 6 && strncmp(path + folder - 6, "/shims", 6) == 0; /* of pyenv */
    size_t root = folder - strlen(shims ? "/shims" : "/bin");
    snprintf(pattern, sizeof pattern,
             "%.*s{,/local,/versions/*}/lib/python3*/{site,dist}-packages/"
             "{neurolens,neurolens_profiler,torch,tensorflow,jax,onnxruntime,onnxruntime_gpu,onnx}-"
             "[0-9]*.dist-info",
             (int)root, path);
    list_packages(&packages, pattern);
    nl_checked_say(checked, "%.180s; %s%.280s", path, packages.len ? "" : "no ML framework found",
                   packages.len ? packages.ptr : "");
    nl_buf_release(&packages);
}

/* ---- the ledger ---- */

/* Of the folder, or of the nearest one above it that is there. */
static bool free_space(const char *folder, uint64_t *bytes)
{
    struct statvfs info;
    char path[4096];
    snprintf(path, sizeof path, "%s", folder);
    while (statvfs(path, &info) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
    *bytes = (uint64_t)info.f_bavail * info.f_frsize;
    return true;
}

/* The quick check of `ledger check`, in a few words. */
static bool look_ledger_whole(struct nl_call *call, const char *folder, struct nl_checked *checked,
                              char *state, size_t size)
{
    const struct nl_ledger_check_options quick = {.quick = true};
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_ledger *ledger = nl_ledger_open(folder, NL_LEDGER_READ, &err);
    struct nl_result *faults = ledger ? nl_ledger_check(ledger, &quick, call->job, &err) : NULL;
    bool whole = faults && !faults->rows;
    bool made = nl_is_folder(folder);
    if (!faults)
        snprintf(state, size, "%s", err.text);
    else
        snprintf(state, size, "%s", !made ? "not made yet" : faults->note);
    if (!whole)
        checked->unlock =
            "`neurolens ledger check` lists what is wrong, `neurolens ledger rebuild` "
            "makes a lost database again";
    nl_result_free(faults);
    nl_ledger_close(ledger);
    return whole;
}

static void look_ledger(struct nl_call *call, struct nl_checked *checked)
{
    const uint64_t enough = (uint64_t)1 << 30;
    char room[NL_UNIT_TEXT];
    uint64_t bytes = 0;
    struct nl_err err;
    nl_err_clear(&err);
    char *folder = nl_ledger_folder(call->settings.ledger, &err);
    if (!folder) {
        nl_checked_say(checked, "%s", err.text);
        return;
    }
    bool told = free_space(folder, &bytes);
    char state[520];
    bool whole = look_ledger_whole(call, folder, checked, state, sizeof state);
    checked->good = whole && told && bytes >= enough;
    nl_checked_say(checked, "%.180s: %.250s; %s free", folder, state,
                   told ? nl_format_bytes(room, bytes) : "unknown");
    nl_free(folder);
}

static void look_sandbox(struct nl_call *call, struct nl_checked *checked)
{
    unsigned has = sandbox_possible() ? nl_confine_available() : 0;
    checked->good = has == (NL_CONFINE_FILES | NL_CONFINE_CALLS);
    if (call->job->sandbox == NL_SANDBOX_NEVER)
        nl_checked_say(checked, "switched off (NEUROLENS_SANDBOX=off)");
    else if (checked->good)
        nl_checked_say(checked,
                       "risky files are read in a process of their own (Landlock, seccomp)");
    else
        nl_checked_say(checked,
                       has ? "risky files are read in a process of their own, with %s alone"
                           : "%s: risky files are read in this process",
                       has & NL_CONFINE_FILES   ? "Landlock"
                       : has & NL_CONFINE_CALLS ? "seccomp"
                                                : "neither Landlock nor seccomp here");
}

/* ---- the table ---- */

static const struct check checks[] = {
    {"NVIDIA driver", look_driver,
     "install the NVIDIA driver of the GPU; not needed without a GPU"},
    {"CUPTI", look_cupti,
     "install the CUDA toolkit or `pip install nvidia-cuda-cupti`, and put its lib folder on "
     "LD_LIBRARY_PATH"},
    {"rocprofiler", look_rocprofiler,
     "only for AMD GPUs: install rocprofiler-sdk of ROCm 7 or newer"},
    {"NVML", look_nvml, "comes with the NVIDIA driver (libnvidia-ml.so.1)"},
    {"CPU sampling", nl_doctor_perf, "sudo sysctl kernel.perf_event_paranoid=1"},
    {"attaching to processes", nl_doctor_ptrace, "sudo sysctl kernel.yama.ptrace_scope=1"},
    {"invariant TSC", nl_doctor_tsc,
     "a processor or virtual machine that offers it; times come from the kernel's clock otherwise"},
    {"Python", look_python,
     "install python3; the Python package is neurolens-profiler (`pip install neurolens` is "
     "another project)"},
    {"ONNX Runtime", look_ort,
     "pip install onnxruntime, npm install onnxruntime-node, or NEUROLENS_ONNXRUNTIME=FILE"},
    {"TensorRT's trtexec", look_trtexec,
     "comes with TensorRT (the archive's bin folder, or the package libnvinfer-bin); profile "
     "--trtexec FILE names one"},
    {"PyTorch", look_torch,
     "python3 -m pip install torch, or name the Python that has it with profile --python FILE"},
    {"sandbox", look_sandbox,
     "Linux 5.13 or newer with landlock among the security modules (boot option lsm=)"},
    {"ledger", look_ledger,
     "free some room, or name another place with --ledger or $NEUROLENS_LEDGER"},
};

static const struct nl_result_column columns[] = {{"what", NULL, NL_MEANS_TEXT},
                                                  {"state", NULL, NL_MEANS_TEXT},
                                                  {"found", NULL, NL_MEANS_TEXT},
                                                  {"unlock", "how to get it", NL_MEANS_TEXT}};

static struct nl_result *run_checks(struct nl_call *call)
{
    struct nl_result *table =
        nl_result_new("doctor", "What works here", columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        struct nl_checked checked = {0};
        checks[i].look(call, &checked);
        struct nl_cell *cell = nl_result_row(table);
        cell[0] = nl_cell_text(table, nl_str(checks[i].what));
        cell[1] = nl_cell_text(table, nl_str(checked.good ? "ok" : "missing"));
        cell[2] = nl_cell_text(table, nl_str(checked.found));
        if (!checked.good)
            cell[3] =
                nl_cell_text(table, nl_str(checked.unlock ? checked.unlock : checks[i].unlock));
    }
    return table;
}

/* In text a check takes separate lines: paths and advice do not fit a table's cells. */
static void print_text(FILE *out, const struct nl_result *table)
{
    for (size_t row = 0; row < table->rows; row++) {
        struct nl_str text[4];
        for (size_t i = 0; i < 4; i++)
            text[i] = nl_result_cell(table, row, i)->type == NL_CELL_TEXT
                          ? nl_result_cell(table, row, i)->text
                          : (struct nl_str){"", 0};
        fprintf(out, "%-8.*s %-22.*s  %.*s\n", (int)text[1].len, text[1].ptr, (int)text[0].len,
                text[0].ptr, (int)text[2].len, text[2].ptr);
        if (text[3].len)
            fprintf(out, "%31s  → %.*s\n", "", (int)text[3].len, text[3].ptr);
    }
}

static bool doctor_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    struct nl_result *table = run_checks(call);
    bool done = true;
    nl_progress_quiet(call->progress);
    if (strcmp(output.view->name, "text") == 0)
        print_text(output.stream, table);
    else
        done = output.view->render_result(output.stream, NULL, table, &(struct nl_view_options){0},
                                          err);
    nl_result_free(table);
    return nl_output_close(&output, call, done, err);
}

const struct nl_command nl_command_doctor = {
    .name = "doctor",
    .group = "Tools",
    .summary = "check what works on this machine, and how to get the rest",
    .usage = "",
    .least = 0,
    .most = 0,
    .tables = NL_TABLES(nl_common_options),
    .help =
        "Checks the drivers, libraries, permissions and programs that recording needs, the ledger\n"
        "and its free disk space, and says how to get what is missing. It changes nothing, and a\n"
        "missing item is not an error.",
    .examples = "neurolens doctor\n"
                "neurolens doctor --format json",
    .run = doctor_run,
};
