/*
 * profile: a model file → runs in a child process → one file of events → a run of the ledger, and the
 * latencies as the answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "backend/ortfind.h"
#include "backend/ortprofile.h"
#include "cli/child.h"
#include "cli/folders.h"
#include "cli/hostfacts.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/profileops.h"
#include "cli/progress.h"
#include "cli/settingwords.h"
#include "ingest/ingest.h"
#include "ledger/runadd.h"

#define SECOND           ((int64_t)1000000000)
#define DEFAULT_WARM_UP  10
#define DEFAULT_RUNS     10000
#define DEFAULT_PROFILE  50
#define DEFAULT_TIME     (20 * SECOND)
#define DEFAULT_PATIENCE (600 * SECOND)
#define OWN_FACTS        5 /* that set_facts adds beside those of the host */

struct profiling {
    struct nl_call *call;
    const char *model, *name; /* path; without folder and .onnx */
    const char *folder;       /* temporary */
    const char *library;
    const char *profile; /* file with all that was measured */
    struct ort_plan plan;
    struct ort_outcome *outcome; /* shared with the child */
    struct nl_rundoc_setting *said;
    struct nl_add_result added;
    struct nl_profile_latency latency;
    struct nl_arena arena;
};

/* ---- words ---- */

static bool in_range(const char *option, int64_t value, int64_t most, struct nl_err *err)
{
    if (value <= most)
        return true;
    return nl_fail(err, NL_USAGE, "--%s: at most %" PRId64, option, most);
}

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

static bool read_settings(struct profiling *profiling, struct nl_err *err)
{
    const struct nl_settings *settings = &profiling->call->settings;
    struct ort_plan *plan = &profiling->plan;
    if (!in_range("max-runs", settings->max_runs, ORT_RUNS_MOST, err) ||
        !in_range("warmup", settings->warm_up, ORT_RUNS_MOST, err) ||
        !in_range("profiled-runs", settings->profiled_runs, ORT_PROFILED_MOST, err) ||
        !in_range("threads", settings->threads, 1024, err) ||
        !in_range("provider: number of providers", (int64_t)settings->providers.count,
                  ORT_PROVIDERS, err))
        return false;
    plan->max_runs = (size_t)or_default(settings->max_runs, DEFAULT_RUNS);
    plan->profiled_runs = (size_t)or_default(settings->profiled_runs, DEFAULT_PROFILE);
    plan->warm_up = (size_t)or_default(settings->warm_up, DEFAULT_WARM_UP);
    plan->max_ns = or_default(settings->max_time_ns, DEFAULT_TIME);
    plan->threads = (int)settings->threads;
    plan->provider_count = settings->providers.count;
    for (size_t i = 0; i < plan->provider_count; i++)
        plan->providers[i] = settings->providers.items[i];
    return ort_words_read(&plan->words, settings->inputs.items, settings->inputs.count,
                          settings->dims.items, settings->dims.count, &profiling->arena, err) &&
           nl_setting_words(&settings->set, &profiling->said, &profiling->arena, err);
}

/* Missing and empty files are told before a library is loaded. */
static bool check_model(struct profiling *profiling, struct nl_err *err)
{
    struct nl_map map;
    const char *slash = strrchr(profiling->model, '/');
    const char *name = slash ? slash + 1 : profiling->model;
    size_t len = strlen(name);
    if (len > 5 && strcmp(name + len - 5, ".onnx") == 0)
        len -= 5;
    profiling->name = nl_arena_text(&profiling->arena, name, len);
    if (!nl_map_open(&map, profiling->model, err))
        return false;
    bool empty = !map.size;
    nl_map_close(&map);
    nl_err_at(err, profiling->model, -1);
    return !empty || nl_fail(err, NL_FORMAT, "the file is empty");
}

/* ---- the temporary folder ---- */

static bool make_folder(struct profiling *profiling, struct nl_err *err)
{
    const char *root = getenv("TMPDIR");
    char *path =
        nl_arena_format(&profiling->arena, "%s/neurolens-XXXXXX", root && *root ? root : "/tmp");
    if (!mkdtemp(path)) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot make a temporary folder: %s", strerror(errno));
    }
    profiling->folder = path;
    profiling->plan.profile_prefix = nl_arena_format(&profiling->arena, "%s/ort", path);
    return true;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

static void remove_folder(const struct profiling *profiling)
{
    if (profiling->folder)
        (void)nftw(profiling->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- measuring ---- */

static bool measure(void *context, struct nl_err *err)
{
    struct profiling *profiling = context;
    return ort_measure(&profiling->plan, profiling->outcome, err);
}

static bool run_library(struct profiling *profiling, const char *path, struct nl_err *err)
{
    const struct nl_settings *settings = &profiling->call->settings;
    struct nl_child child = {
        .work = measure,
        .context = profiling,
        .what = "ONNX Runtime",
        .log = nl_arena_format(&profiling->arena, "%s/log", profiling->folder),
        .timeout_ns = or_default(settings->timeout_ns, DEFAULT_PATIENCE),
        .doing = profiling->outcome->stage,
        .at = &profiling->outcome->runs,
    };
    profiling->plan.library = profiling->library = path;
    nl_message_detail(profiling->call, "using %s", path);
    return nl_child_run(&child, profiling->call->job, err);
}

static bool no_library(const struct ort_places *places, struct nl_err *err)
{
    nl_err_at(err, "", -1);
    if (places->useless)
        return nl_fail(err, NL_ENVIRONMENT,
                       "%.200s keeps its library inside the Python module; `pip install --upgrade "
                       "onnxruntime` (1.19 or newer) has one that can be used",
                       places->useless);
    return nl_fail(err, NL_ENVIRONMENT,
                   "no ONNX Runtime found; `pip install onnxruntime` or `npm install "
                   "onnxruntime-node` gets one, --library names one (`neurolens doctor` says "
                   "where is looked)");
}

/* The first library that can be loaded; what fails later is the answer. */
static bool run_found(struct profiling *profiling, struct nl_err *err)
{
    struct ort_places places;
    bool done = false, over = false;
    ort_places_find(&places);
    for (size_t i = 0; i < places.count && !over; i++) {
        nl_err_clear(err);
        nl_err_at(err, profiling->model, -1);
        const char *path =
            nl_arena_text(&profiling->arena, places.items[i].path, strlen(places.items[i].path));
        done = run_library(profiling, path, err);
        over = done || err->code != NL_ENVIRONMENT ||
               strcmp(profiling->outcome->stage, "loading the library") != 0;
        if (!over)
            nl_message_note(profiling->call, "%s: %s", path, err->text);
    }
    if (!places.count)
        (void)no_library(&places, err);
    ort_places_release(&places);
    return done;
}

static bool run_model(struct profiling *profiling, struct nl_err *err)
{
    const char *library = profiling->call->settings.library;
    if (library && !strchr(library, '/') && access(library, F_OK) == 0)
        library = nl_arena_format(&profiling->arena, "./%s", library); /* as a file, not by name */
    nl_job_phase(profiling->call->job, "running", 0);
    nl_err_at(err, profiling->model, -1);
    bool done = library ? run_library(profiling, library, err) : run_found(profiling, err);
    if (!done)
        return false;
    nl_err_clear(err);
    profiling->profile =
        nl_arena_format(&profiling->arena, "%s/%.200s.json", profiling->folder, profiling->name);
    return ort_profile_join(profiling->outcome, profiling->profile, err);
}

/* ---- the ledger ---- */

static size_t set_facts(const struct profiling *profiling, const struct nl_trace *trace,
                        struct nl_rundoc_setting *facts, struct nl_arena *arena)
{
    const struct ort_outcome *outcome = profiling->outcome;
    size_t count = nl_host_facts(facts, arena);
    facts[count++] = (struct nl_rundoc_setting){"software.backend_version", outcome->version};
    facts[count++] = (struct nl_rundoc_setting){"workload.model", profiling->name};
    facts[count++] = (struct nl_rundoc_setting){"workload.phase", "inference"};
    facts[count++] = (struct nl_rundoc_setting){
        "run.start_epoch_ns",
        nl_arena_format(arena, "%" PRId64, outcome->profile_epoch_ns + trace->first_ts)};
    if (outcome->batch > 0)
        facts[count++] = (struct nl_rundoc_setting){
            "workload.batch_size", nl_arena_format(arena, "%" PRId64, outcome->batch)};
    return count;
}

static bool add_to(struct profiling *profiling, const struct nl_trace *trace, const char *folder,
                   struct nl_err *err)
{
    const struct nl_settings *settings = &profiling->call->settings;
    struct nl_rundoc_setting *facts = nl_arena_alloc(
        &profiling->arena, (NL_HOST_FACTS + OWN_FACTS + settings->set.count) * sizeof *facts);
    size_t count = set_facts(profiling, trace, facts, &profiling->arena);
    for (size_t i = 0; i < settings->set.count; i++)
        facts[count++] = profiling->said[i];
    struct nl_add_options options = {.settings = facts,
                                     .setting_count = count,
                                     .keep_source = settings->keep_source,
                                     .rank = NL_NULL_I64,
                                     .command = profiling->call->line};
    if (!nl_ledger_add(folder, &profiling->profile, 1, &options, &profiling->added,
                       profiling->call->job, err))
        return false;
    if (profiling->added.outcome != NL_ADD_FAILED)
        return true;
    *err = profiling->added.err;
    return false;
}

static bool keep(struct profiling *profiling, const struct nl_trace *trace, struct nl_err *err)
{
    if (profiling->call->settings.no_add)
        return true;
    char *folder = nl_ledger_folder(profiling->call->settings.ledger, err);
    bool done = folder && add_to(profiling, trace, folder, err);
    nl_free(folder);
    return done;
}

/* ---- the answer ---- */

static const char *stop_text(const struct ort_outcome *outcome)
{
    static const char *const texts[] = {
        [ORT_STOP_TIGHT] = "the 95 % interval of the median is within 1 %",
        [ORT_STOP_TIME] = "--max-time was reached",
        [ORT_STOP_RUNS] = "--max-runs was reached",
    };
    return texts[outcome->stop];
}

static void add_fact(struct nl_result *table, const char *fact, const char *value)
{
    struct nl_cell *cell = nl_result_row(table);
    cell[0] = nl_cell_text(table, nl_str(fact));
    if (*value)
        cell[1] = nl_cell_text(table, nl_str(value));
}

static struct nl_result *setup_table(const struct profiling *profiling)
{
    static const struct nl_result_column columns[] = {{"fact", NULL, NL_MEANS_TEXT},
                                                      {"value", NULL, NL_MEANS_TEXT}};
    const struct ort_outcome *outcome = profiling->outcome;
    struct nl_result *table = nl_result_new("setup", "What was run", columns, 2);
    char load[NL_UNIT_TEXT], threads[24];
    snprintf(threads, sizeof threads, "%d", profiling->plan.threads);
    add_fact(table, "model", profiling->model);
    add_fact(table, "backend", "onnxruntime");
    add_fact(table, "backend version", outcome->version);
    add_fact(table, "library", profiling->library);
    add_fact(table, "providers it offers", outcome->providers);
    add_fact(table, "inputs", outcome->inputs);
    add_fact(table, "threads", profiling->plan.threads ? threads : "the backend's choice");
    add_fact(table, "loading the model", nl_format_ns(load, outcome->load_ns));
    add_fact(table, "stopped because", stop_text(outcome));
    add_fact(table, "run", profiling->added.id);
    return table;
}

static void add_headlines(const struct profiling *profiling, struct nl_report *report)
{
    const struct nl_profile_latency *latency = &profiling->latency;
    char median[NL_UNIT_TEXT], low[NL_UNIT_TEXT], high[NL_UNIT_TEXT], cost[NL_UNIT_TEXT];
    report->headlines[report->headline_count++] = nl_arena_format(
        &report->arena, "%s: median %s per run (95 %%: %s to %s) on ONNX Runtime %s",
        profiling->name, nl_format_ns(median, latency->plain.median),
        nl_format_ns(low, latency->plain.low), nl_format_ns(high, latency->plain.high),
        profiling->outcome->version);
    report->headlines[report->headline_count++] =
        nl_arena_format(&report->arena, "stopped because %s; the profiler costs %s per run",
                        stop_text(profiling->outcome), nl_format_ns(cost, latency->cost_ns));
    if (profiling->added.id[0])
        report->headlines[report->headline_count++] =
            nl_arena_format(&report->arena, "kept as run %s; `neurolens analyze %s` asks on",
                            profiling->added.short_id, profiling->added.short_id);
}

static bool print(const struct profiling *profiling, const struct nl_report *report,
                  struct nl_err *err)
{
    struct nl_output output;
    const struct nl_call *call = profiling->call;
    if (!nl_output_open(&output, call, &profiling->model, 1, err))
        return false;
    bool one = strcmp(output.view->name, "csv") == 0;
    struct nl_view_options options = {.section = one ? "operators" : NULL,
                                      .width = output.width,
                                      .color = output.color,
                                      .all = call->settings.all};
    bool done = output.view->render_report(output.stream, NULL, report, &options, err);
    return nl_output_close(&output, call, done, err);
}

static bool answer(struct profiling *profiling, const struct nl_trace *trace, struct nl_err *err)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "profile";
    report->title = "Profile";
    report->results = nl_arena_alloc(&report->arena, 3 * sizeof(struct nl_result *));
    profiling->latency = nl_profile_latency_of(profiling->outcome);
    add_headlines(profiling, report);
    struct nl_result *operators =
        nl_profile_operators(trace, profiling->outcome, &profiling->latency.inside);
    report->results[report->result_count++] = nl_profile_latency_table(&profiling->latency);
    report->results[report->result_count++] = operators;
    report->results[report->result_count++] = setup_table(profiling);
    nl_progress_quiet(profiling->call->progress);
    bool done = print(profiling, report, err);
    nl_report_free(report);
    return done;
}

static bool read_and_answer(struct profiling *profiling, struct nl_err *err)
{
    const struct nl_ingest_options options = {.rank = NL_NULL_I64};
    struct nl_trace *trace = nl_ingest(&profiling->profile, 1, &options, profiling->call->job, err);
    bool done = trace && keep(profiling, trace, err) && answer(profiling, trace, err);
    if (trace)
        nl_trace_free(trace);
    return done;
}

static bool profile_onnx(struct profiling *profiling, struct nl_err *err)
{
    profiling->outcome = nl_child_share(sizeof *profiling->outcome);
    if (!profiling->outcome)
        return nl_fail(err, NL_MEMORY, "no memory for the measurement");
    bool done =
        make_folder(profiling, err) && run_model(profiling, err) && read_and_answer(profiling, err);
    remove_folder(profiling);
    nl_child_unshare(profiling->outcome, sizeof *profiling->outcome);
    return done;
}

bool nl_cmd_profile(struct nl_call *call, struct nl_err *err)
{
    struct profiling profiling = {
        .call = call, .model = call->argument[0], .plan = {.model = call->argument[0]}};
    nl_arena_init(&profiling.arena);
    bool done = read_settings(&profiling, err) && check_model(&profiling, err) &&
                profile_onnx(&profiling, err);
    nl_arena_free(&profiling.arena);
    return done;
}
