/*
 * profile: a model file → runs in a child process → one file of events → a run of the ledger, and
 * the latencies as the answer.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "backend/ortfind.h"
#include "backend/ortprofile.h"
#include "cli/child.h"
#include "cli/message.h"
#include "cli/profile/profileanswer.h"
#include "cli/profile/profilework.h"
#include "cli/profile/profiletrt.h"
#include "cli/profile/profiletorch.h"
#include "cli/progress.h"
#include "cli/settingwords.h"
#include "ingest/ingest.h"

/* In the order of enum nl_profile_backend. */
static const char *const backend_names[] = {"onnxruntime", "tensorrt", "torch", NULL};

static const struct nl_option model_options[] = {
    {"backend", 0, NL_OPTION_CHOICE, NL_OWN(nl_profile_options, backend), "NAME",
     "onnxruntime (default), tensorrt, which needs trtexec, or torch, which needs PyTorch",
     backend_names},
    {"input", 0, NL_OPTION_LIST, NL_OWN(nl_profile_options, inputs), "NAME=SHAPE",
     "shape of an input, such as x=2x3xf32 or ids=1x16xi64:0..99 (repeatable)", NULL},
    {"dim", 0, NL_OPTION_LIST, NL_OWN(nl_profile_options, dims), "NAME=N",
     "size of a named dimension, such as batch=8 (repeatable)", NULL},
    {"provider", 0, NL_OPTION_LIST, NL_OWN(nl_profile_options, providers), "NAME",
     "execution provider: cuda, tensorrt, XNNPACK, … (repeatable; default: cpu); with torch: the "
     "device",
     NULL},
    {"threads", 'j', NL_OPTION_NUMBER, NL_SETTING(threads), "N",
     "threads per operator (default: the backend's)", NULL},
    {"warmup", 0, NL_OPTION_NUMBER, NL_OWN(nl_profile_options, warm_up), "N",
     "warm-up runs (default 10); with tensorrt: milliseconds (default 200)", NULL},
    {"max-time", 0, NL_OPTION_TIME, NL_OWN(nl_profile_options, max_time_ns), "TIME",
     "stop measuring after this time (default 20s; with tensorrt 3s)", NULL},
    {"max-runs", 0, NL_OPTION_NUMBER, NL_OWN(nl_profile_options, max_runs), "N",
     "at most N runs without the profiler (default 10000)", NULL},
    {"profiled-runs", 0, NL_OPTION_NUMBER, NL_OWN(nl_profile_options, profiled_runs), "N",
     "runs under the profiler (default 50)", NULL},
    {"timeout", 0, NL_OPTION_TIME, NL_SETTING(timeout_ns), "TIME",
     "give up after this time (default 10 minutes)", NULL},
    {"library", 0, NL_OPTION_TEXT, NL_OWN(nl_profile_options, library), "FILE",
     "the ONNX Runtime library to use (default: the first that doctor lists)", NULL},
    {"trtexec", 0, NL_OPTION_TEXT, NL_OWN(nl_profile_options, trtexec), "FILE",
     "the trtexec program (default: from PATH, or /usr/src/tensorrt/bin)", NULL},
    {"python", 0, NL_OPTION_TEXT, NL_OWN(nl_profile_options, python_program), "FILE",
     "the Python that has PyTorch (default: that of the active virtual environment, or python3 "
     "from PATH)",
     NULL},
    {"set", 0, NL_OPTION_LIST, NL_OWN(nl_profile_options, set), "KEY=VALUE",
     "metadata of the run, such as precision=fp16 (repeatable)", NULL},
    {"no-add", 0, NL_OPTION_FLAG, NL_OWN(nl_profile_options, no_add), NULL,
     "do not keep the run in the ledger", NULL},
    {"keep-source", 0, NL_OPTION_FLAG, NL_OWN(nl_profile_options, keep_source), NULL,
     "keep the profile's file as well", NULL},
    {"memory", 0, NL_OPTION_SIZE, NL_SETTING(memory_bytes), "SIZE",
     "memory limit for reading the profile (default: half of the free memory)", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every operator", NULL},
    NL_OPTIONS_END,
};

#define OWN_FACTS 5 /* that are set in addition to those of the host */

struct profiling {
    struct nl_profile_work *work;
    const char *library;
    const char *profile; /* file with all that was measured */
    struct ort_plan plan;
    struct ort_outcome *outcome; /* shared with the child */
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
    const struct nl_profile_options *own = nl_profile_own(profiling->work->call);
    const struct nl_settings *settings = &profiling->work->call->settings;
    struct ort_plan *plan = &profiling->plan;
    if (!in_range("max-runs", own->max_runs, ORT_MAX_RUNS, err) ||
        !in_range("warmup", own->warm_up, ORT_MAX_RUNS, err) ||
        !in_range("profiled-runs", own->profiled_runs, ORT_MAX_PROFILED, err) ||
        !in_range("threads", settings->threads, 1024, err) ||
        !in_range("provider: number of providers", (int64_t)own->providers.count, ORT_PROVIDERS,
                  err))
        return false;
    plan->max_runs = (size_t)or_default(own->max_runs, DEFAULT_RUNS);
    plan->profiled_runs = (size_t)or_default(own->profiled_runs, DEFAULT_PROFILE);
    plan->warm_up = (size_t)or_default(own->warm_up, DEFAULT_WARM_UP);
    plan->max_ns = or_default(own->max_time_ns, DEFAULT_TIME);
    plan->threads = (int)settings->threads;
    plan->provider_count = own->providers.count;
    for (size_t i = 0; i < plan->provider_count; i++)
        plan->providers[i] = own->providers.items[i];
    return ort_words_read(&plan->words, own->inputs.items, own->inputs.count, own->dims.items,
                          own->dims.count, &profiling->work->arena, err);
}

/* ---- measuring ---- */

static bool measure_model(void *context, struct nl_err *err)
{
    struct profiling *profiling = context;
    return ort_measure(&profiling->plan, profiling->outcome, err);
}

static bool run_library(struct profiling *profiling, const char *path, struct nl_err *err)
{
    const struct nl_settings *settings = &profiling->work->call->settings;
    struct nl_child child = {
        .work = measure_model,
        .context = profiling,
        .what = "ONNX Runtime",
        .log = nl_arena_format(&profiling->work->arena, "%s/log", profiling->work->folder),
        .timeout_ns = or_default(settings->timeout_ns, DEFAULT_PATIENCE),
        .doing = profiling->outcome->stage,
        .at = &profiling->outcome->runs,
    };
    profiling->plan.library = profiling->library = path;
    nl_message_detail(profiling->work->call, "using %s", path);
    return nl_child_run(&child, profiling->work->call->job, err);
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
        nl_err_at(err, profiling->work->model, -1);
        const char *path = nl_arena_text(&profiling->work->arena, places.items[i].path,
                                         strlen(places.items[i].path));
        done = run_library(profiling, path, err);
        over = done || err->code != NL_ENVIRONMENT ||
               strcmp(profiling->outcome->stage, "loading the library") != 0;
        if (!over)
            nl_message_note(profiling->work->call, "%s: %s", path, err->text);
    }
    if (!places.count)
        (void)no_library(&places, err);
    ort_places_release(&places);
    return done;
}

static bool run_model(struct profiling *profiling, struct nl_err *err)
{
    const char *library = nl_profile_own(profiling->work->call)->library;
    if (library && !strchr(library, '/') && access(library, F_OK) == 0)
        library =
            nl_arena_format(&profiling->work->arena, "./%s", library); /* as a file, not by name */
    nl_job_phase(profiling->work->call->job, "running", 0);
    nl_err_at(err, profiling->work->model, -1);
    bool done = library ? run_library(profiling, library, err) : run_found(profiling, err);
    if (!done)
        return false;
    nl_err_clear(err);
    profiling->profile = nl_arena_format(&profiling->work->arena, "%s/%.200s.json",
                                         profiling->work->folder, profiling->work->name);
    return ort_profile_join(profiling->outcome, profiling->profile, err);
}

/* ---- the ledger ---- */

static bool keep_run(struct profiling *profiling, const struct nl_trace *trace, struct nl_err *err)
{
    const struct ort_outcome *outcome = profiling->outcome;
    struct nl_arena *arena = &profiling->work->arena;
    struct nl_rundoc_setting facts[OWN_FACTS];
    size_t count = 0;
    facts[count++] = (struct nl_rundoc_setting){"software.backend_version", outcome->version};
    facts[count++] = (struct nl_rundoc_setting){"workload.model", profiling->work->name};
    facts[count++] = (struct nl_rundoc_setting){"workload.phase", "inference"};
    facts[count++] = (struct nl_rundoc_setting){
        "run.start_epoch_ns",
        nl_arena_format(arena, "%" PRId64, outcome->profile_epoch_ns + trace->first_ts)};
    if (outcome->batch > 0)
        facts[count++] = (struct nl_rundoc_setting){
            "workload.batch_size", nl_arena_format(arena, "%" PRId64, outcome->batch)};
    return nl_profile_keep(profiling->work, profiling->profile, facts, count, err);
}

/* ---- the answer ---- */

static struct nl_result *setup_table(const struct profiling *profiling)
{
    const struct ort_outcome *outcome = profiling->outcome;
    struct nl_result *table = nl_profile_setup_table();
    char load[NL_UNIT_TEXT], threads[24];
    snprintf(threads, sizeof threads, "%d", profiling->plan.threads);
    nl_profile_add_fact(table, "model", profiling->work->model);
    nl_profile_add_fact(table, "backend", "onnxruntime");
    nl_profile_add_fact(table, "backend version", outcome->version);
    nl_profile_add_fact(table, "library", profiling->library);
    nl_profile_add_fact(table, "providers it offers", outcome->providers);
    nl_profile_add_fact(table, "inputs", outcome->inputs);
    nl_profile_add_fact(table, "threads",
                        profiling->plan.threads ? threads : "the backend's choice");
    nl_profile_add_fact(table, "loading the model", nl_format_ns(load, outcome->load_ns));
    nl_profile_add_fact(table, "stopped because", nl_profile_stop_text(outcome));
    nl_profile_add_fact(table, "run", profiling->work->added.id);
    return table;
}

static bool write_answer(struct profiling *profiling, const struct nl_trace *trace,
                         struct nl_err *err)
{
    struct nl_profile_work *work = profiling->work;
    struct nl_profile_latency latency = nl_profile_latency_of(profiling->outcome);
    struct nl_result *operators = nl_profile_operators(trace, profiling->outcome, &latency.inside);
    const struct nl_profile_answer answer = {
        .work = work,
        .runtime = nl_arena_format(&work->arena, "ONNX Runtime %s", profiling->outcome->version),
        .runs = &latency.plain,
        .remark = nl_profile_stop_remark(work, profiling->outcome, &latency),
        .latencies = nl_profile_latency_table(&latency),
        .operators = operators,
        .setup = setup_table(profiling)};
    return nl_profile_answer(&answer, err);
}

static bool read_and_answer(struct profiling *profiling, struct nl_err *err)
{
    const struct nl_ingest_options options = {.rank = NL_NULL_I64};
    struct nl_trace *trace =
        nl_ingest(&profiling->profile, 1, &options, profiling->work->call->job, err);
    bool done = trace && keep_run(profiling, trace, err) && write_answer(profiling, trace, err);
    if (trace)
        nl_trace_free(trace);
    return done;
}

static bool with_folder(struct profiling *profiling, struct nl_err *err)
{
    struct nl_profile_work *work = profiling->work;
    if (!nl_profile_folder(work, err))
        return false;
    profiling->plan.profile_prefix = nl_arena_format(&work->arena, "%s/ort", work->folder);
    return run_model(profiling, err) && read_and_answer(profiling, err);
}

static bool profile_onnx(struct nl_profile_work *work, struct nl_err *err)
{
    struct profiling profiling = {.work = work, .plan = {.model = work->model}};
    profiling.outcome = nl_child_share(sizeof *profiling.outcome);
    if (!profiling.outcome)
        return nl_fail(err, NL_MEMORY,
                       "not enough memory for the measurement; free some, or raise the limit");
    bool done = read_settings(&profiling, err) && nl_profile_check_model(work, err) &&
                with_folder(&profiling, err);
    nl_child_unshare(profiling.outcome, sizeof *profiling.outcome);
    return done;
}

/* ---- the backends ---- */

/* An option that only one backend has. */
static bool check_backend(const struct nl_profile_options *own, struct nl_err *err)
{
    if (own->trtexec && own->backend != NL_PROFILE_TENSORRT)
        return nl_fail(err, NL_USAGE, "--trtexec is for --backend tensorrt");
    if (own->python_program && own->backend != NL_PROFILE_TORCH)
        return nl_fail(err, NL_USAGE, "--python is for --backend torch");
    return true;
}

static bool profile_run(struct nl_call *call, struct nl_err *err)
{
    static bool (*const backends[])(struct nl_profile_work * work, struct nl_err * err) = {
        [NL_PROFILE_ONNXRUNTIME] = profile_onnx,
        [NL_PROFILE_TENSORRT] = nl_profile_tensorrt,
        [NL_PROFILE_TORCH] = nl_profile_torch};
    struct nl_profile_work work = {.call = call, .model = call->argument[0]};
    nl_arena_init(&work.arena);
    bool done = check_backend(nl_profile_own(call), err) &&
                nl_setting_words(&nl_profile_own(call)->set, &work.said, &work.arena, err) &&
                backends[nl_profile_own(call)->backend](&work, err);
    nl_profile_end(&work);
    return done;
}

const struct nl_command nl_command_profile = {
    .name = "profile",
    .group = "Record",
    .summary = "run a model file and time its operators",
    .usage = "MODEL",
    .least = 1,
    .most = 1,
    NL_DEFAULTS(nl_profile_options, 0),
    .tables = NL_TABLES(model_options, nl_common_options),
    .help =
        "Runs MODEL (an ONNX file) under ONNX Runtime with generated inputs; `neurolens doctor`\n"
        "shows which ONNX Runtime is used. Runs without the profiler are timed until the 95 %\n"
        "confidence interval of their median is within 1 %, or a limit is reached. Runs with the\n"
        "profiler in between give the time per operator; the difference is the profiler's "
        "overhead.\n"
        "The result is added to the ledger, as @.\n"
        "--backend tensorrt runs an ONNX file or an engine through trtexec. --backend torch runs "
        "a\n"
        "TorchScript file, an exported program (.pt2), or a script that defines `model` and its\n"
        "`inputs`, with your Python.",
    .examples = "neurolens profile model.onnx\n"
                "neurolens profile bert.onnx --dim batch=8 --dim seq=128 --threads 1\n"
                "neurolens profile model.onnx --provider cuda --format json\n"
                "neurolens profile model.plan --backend tensorrt\n"
                "neurolens profile model.pt2 --backend torch --dim s0=8\n"
                "neurolens analyze @          # the events of that run",
    .run = profile_run,
};
