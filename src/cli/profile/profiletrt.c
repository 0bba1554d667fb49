/*
 * profile --backend tensorrt: trtexec in a child process → its three files in a temporary folder →
 * our reader of them → a run of the ledger, and the latencies as the answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tables/analyses.h"
#include "backend/trtexec.h"
#include "base/units.h"
#include "cli/child.h"
#include "cli/message.h"
#include "cli/profile/profileanswer.h"
#include "cli/profile/profiletrt.h"
#include "cli/progress.h"
#include "ingest/ingest.h"

#define MS        ((int64_t)1000000)
#define OWN_FACTS 3

enum part { TIMES, LAYERS, DETAILS, PARTS };

static const struct {
    const char *file, *holds;
} parts[PARTS] = {{"times.json", "times of runs"},
                  {"profile.json", "times of layers"},
                  {"layers.json", "layers"}};

struct measuring {
    struct nl_profile_work *work;
    struct trtexec_plan plan;
    struct ort_words words;
    char **command;
    const char *log, *version, *exports; /* a file, "" unknown, a folder */
    const char *file[PARTS];
    struct nl_median_range latency;
    size_t warming; /* inferences that do not count */
};

/* ---- words ---- */

/* What ONNX Runtime takes and trtexec does not: an error rather than silence. */
static bool check_words(const struct nl_call *call, struct nl_err *err)
{
    const struct nl_profile_options *own = nl_profile_own(call);
    const struct {
        const char *option;
        bool given;
    } others[] = {{"provider", own->providers.count > 0},
                  {"library", own->library != NULL},
                  {"threads", call->settings.threads > 0},
                  {"profiled-runs", own->profiled_runs > 0}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].given)
            return nl_fail(err, NL_USAGE, "--%s is not for --backend tensorrt", others[i].option);
    if (own->max_runs && own->max_time_ns)
        return nl_fail(err, NL_USAGE,
                       "trtexec takes --max-runs or --max-time: with both it goes on until it has "
                       "reached the two");
    return true;
}

static bool read_words(struct measuring *measuring, struct nl_err *err)
{
    const struct nl_call *call = measuring->work->call;
    const struct nl_profile_options *own = nl_profile_own(call);
    struct trtexec_plan *plan = &measuring->plan;
    plan->model = measuring->work->model;
    plan->words = &measuring->words;
    plan->warm_up_ms = own->warm_up ? own->warm_up : TRTEXEC_WARM_UP_MS;
    plan->max_runs = own->max_runs;
    plan->max_ns = own->max_time_ns;
    if (plan->warm_up_ms > INT32_MAX || plan->max_runs > INT32_MAX)
        return nl_fail(err, NL_USAGE, "--warmup and --max-runs: at most %d", INT32_MAX);
    return check_words(call, err) &&
           ort_words_read(&measuring->words, own->inputs.items, own->inputs.count, own->dims.items,
                          own->dims.count, &measuring->work->arena, err);
}

/* ---- running ---- */

static bool prepare(struct measuring *measuring, struct nl_err *err)
{
    struct nl_profile_work *work = measuring->work;
    struct trtexec_plan *plan = &measuring->plan;
    if (!nl_profile_folder(work, err))
        return false;
    measuring->log = nl_arena_format(&work->arena, "%s/log", work->folder);
    measuring->exports =
        nl_arena_format(&work->arena, "%s/%.200s.trtexec", work->folder, work->name);
    if (mkdir(measuring->exports, 0700) != 0)
        return nl_fail(err, NL_WRITE, "cannot create a temporary folder: %s", strerror(errno));
    for (size_t i = 0; i < PARTS; i++)
        measuring->file[i] =
            nl_arena_format(&work->arena, "%s/%s", measuring->exports, parts[i].file);
    plan->times = measuring->file[TIMES];
    plan->profile = measuring->file[LAYERS];
    plan->layers = measuring->file[DETAILS];
    measuring->command = trtexec_command(plan, &work->arena, err);
    return measuring->command != NULL;
}

static bool become_trtexec(void *context, struct nl_err *err)
{
    const struct measuring *measuring = context;
    execv(measuring->command[0], measuring->command);
    return nl_fail(err, NL_ENVIRONMENT, "cannot start %.300s: %s", measuring->command[0],
                   strerror(errno));
}

static bool run_trtexec(struct measuring *measuring, struct nl_err *err)
{
    struct nl_call *call = measuring->work->call;
    const struct nl_child child = {
        .work = become_trtexec,
        .context = measuring,
        .program = true,
        .mark = "[E] ",
        .what = "trtexec",
        .log = measuring->log,
        .timeout_ns = call->settings.timeout_ns ? call->settings.timeout_ns : DEFAULT_PATIENCE,
    };
    for (char **word = measuring->command; *word; word++)
        nl_message_detail(call, "%s%s", word == measuring->command ? "running " : "    ", *word);
    nl_job_phase(call->job, "running", 0);
    nl_err_at(err, measuring->work->model, -1);
    if (!nl_child_run(&child, call->job, err))
        return false;
    measuring->version = trtexec_version(measuring->log, &measuring->work->arena);
    return true;
}

/* trtexec ended well, but an old release or a full disk may leave one out;
 * without times there is nothing. */
static bool check_files(const struct measuring *measuring, struct nl_err *err)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct stat info;
        if (stat(measuring->file[i], &info) == 0 && info.st_size > 0)
            continue;
        if (i == TIMES)
            return nl_fail(err, NL_FORMAT, "trtexec succeeded but wrote no %s", parts[i].holds);
        (void)remove(measuring->file[i]);
        nl_message_note(measuring->work->call, "trtexec wrote no %s", parts[i].holds);
    }
    return true;
}

/* ---- what was measured ---- */

/* Some releases export the inferences of the warm-up, too: those that began before its end. */
static bool take_latency(struct measuring *measuring, const struct nl_trace *trace,
                         struct nl_err *err)
{
    const struct nl_step_table *step = &trace->step;
    int64_t *values = nl_alloc((step->rows + (size_t)1) * sizeof *values);
    size_t count = 0;
    for (uint32_t row = 0; row < step->rows; row++) {
        bool warming = step->ts[row] < measuring->plan.warm_up_ms * MS;
        measuring->warming += warming;
        if (!warming && step->dur[row] != NL_NULL_I64 && step->dur[row] >= 0)
            values[count++] = step->dur[row];
    }
    if (count)
        measuring->latency = nl_median_range_of(values, count);
    nl_free(values);
    return count || nl_fail(err, NL_FORMAT,
                            "trtexec wrote no run that began after the warm-up of %" PRId64 " ms",
                            measuring->plan.warm_up_ms);
}

/* What the reader could not read is reported with the numbers. */
static void tell_damage(const struct measuring *measuring, const struct nl_trace *trace)
{
    const struct nl_coverage_table *coverage = &trace->coverage;
    for (uint32_t row = 0; row < coverage->rows; row++) {
        struct nl_str item = nl_trace_name(trace, coverage->item[row]);
        struct nl_str detail = nl_trace_name(trace, coverage->detail[row]);
        if (nl_str_starts(item, "truncated") || nl_str_starts(item, "skipped"))
            nl_message_note(measuring->work->call, "%.*s (%.*s)", (int)item.len, item.ptr,
                            (int)detail.len, detail.ptr);
    }
}

static bool keep_run(struct measuring *measuring, struct nl_err *err)
{
    struct nl_rundoc_setting facts[OWN_FACTS];
    size_t count = 0;
    facts[count++] = (struct nl_rundoc_setting){"workload.model", measuring->work->name};
    facts[count++] = (struct nl_rundoc_setting){"workload.phase", "inference"};
    if (*measuring->version)
        facts[count++] = (struct nl_rundoc_setting){"software.backend_version", measuring->version};
    return nl_profile_keep(measuring->work, measuring->exports, facts, count, err);
}

/* ---- the answer ---- */

static struct nl_result *setup_table(const struct measuring *measuring)
{
    const struct trtexec_plan *plan = &measuring->plan;
    struct nl_result *table = nl_profile_setup_table();
    char number[NL_UNIT_TEXT];
    nl_profile_add_fact(table, "model", plan->model);
    nl_profile_add_fact(table, "backend", "tensorrt");
    nl_profile_add_fact(table, "backend version", measuring->version);
    nl_profile_add_fact(table, "program", plan->program);
    nl_profile_add_fact(table, "warm-up", nl_format_ns(number, plan->warm_up_ms * MS));
    snprintf(number, sizeof number, "%zu", measuring->warming);
    nl_profile_add_fact(table, "runs of the warm-up, not counted", number);
    nl_profile_add_fact(table, "run", measuring->work->added.id);
    return table;
}

static bool write_answer(struct measuring *measuring, const struct nl_trace *trace,
                         struct nl_err *err)
{
    const struct nl_analyze_options whole = {0};
    struct nl_profile_work *work = measuring->work;
    struct nl_result *layers =
        nl_analysis_run(&nl_analysis_model_layers, trace, &whole, work->call->job, err);
    if (!layers)
        return false;
    struct nl_result *latencies = nl_profile_runs_table();
    nl_profile_add_range(latencies, "without the profiler", &measuring->latency);
    const char *version = measuring->version;
    const struct nl_profile_answer answer = {
        .work = work,
        .runtime = nl_arena_format(&work->arena, "TensorRT%s%s", *version ? " " : "", version),
        .runs = &measuring->latency,
        .latencies = latencies,
        .operators = layers,
        .setup = setup_table(measuring)};
    return nl_profile_answer(&answer, err);
}

static bool read_and_answer(struct measuring *measuring, struct nl_err *err)
{
    const struct nl_ingest_options options = {.rank = NL_NULL_I64};
    struct nl_trace *trace =
        nl_ingest(&measuring->exports, 1, &options, measuring->work->call->job, err);
    if (!trace)
        return false;
    tell_damage(measuring, trace);
    bool done = take_latency(measuring, trace, err) && keep_run(measuring, err) &&
                write_answer(measuring, trace, err);
    nl_trace_free(trace);
    return done;
}

bool nl_profile_tensorrt(struct nl_profile_work *work, struct nl_err *err)
{
    struct measuring measuring = {.work = work};
    if (!read_words(&measuring, err) || !nl_profile_check_model(work, err))
        return false;
    nl_err_at(err, "", -1);
    measuring.plan.program = trtexec_find(nl_profile_own(work->call)->trtexec, &work->arena, err);
    return measuring.plan.program && prepare(&measuring, err) && run_trtexec(&measuring, err) &&
           check_files(&measuring, err) && read_and_answer(&measuring, err);
}
