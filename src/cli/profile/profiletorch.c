/*
 * profile --backend torch: the user's Python runs our driver in a child process → files in
 * a temporary folder → our reader of PyTorch's trace → a run of the ledger, and the
 * latencies as the answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/torchrun.h"
#include "base/units.h"
#include "cli/child.h"
#include "cli/message.h"
#include "cli/profile/profileanswer.h"
#include "cli/profile/profiletorchops.h"
#include "cli/profile/profiletorch.h"
#include "cli/progress.h"
#include "ingest/ingest.h"

#define OWN_FACTS 8

struct measuring {
    struct nl_profile_work *work;
    struct torch_plan plan;
    struct torch_facts facts;
    struct torch_shared *shared;
    struct ort_outcome *outcome;
    char **command;
    const char *profile;
};

/* ---- words ---- */

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

static bool check_words(const struct nl_call *call, struct nl_err *err)
{
    const struct nl_profile_options *own = nl_profile_own(call);
    const struct {
        const char *option;
        int64_t value, most;
    } numbers[] = {{"max-runs", own->max_runs, ORT_MAX_RUNS},
                   {"warmup", own->warm_up, ORT_MAX_RUNS},
                   {"profiled-runs", own->profiled_runs, ORT_MAX_PROFILED},
                   {"threads", call->settings.threads, 1024}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value > numbers[i].most)
            return nl_fail(err, NL_USAGE, "--%s: at most %" PRId64, numbers[i].option,
                           numbers[i].most);
    if (own->library)
        return nl_fail(err, NL_USAGE,
                       "--library is not for --backend torch; --python names the "
                       "Python that has PyTorch");
    if (own->providers.count > 1)
        return nl_fail(err, NL_USAGE, "--provider: PyTorch takes one device, such as cuda:0");
    return true;
}

static bool read_words(struct measuring *measuring, struct nl_err *err)
{
    const struct nl_call *call = measuring->work->call;
    const struct nl_profile_options *own = nl_profile_own(call);
    struct torch_plan *plan = &measuring->plan;
    struct ort_words words; /* to find what is wrong before Python starts */
    if (!check_words(call, err))
        return false;
    plan->model = measuring->work->model;
    plan->inputs = own->inputs.items;
    plan->input_count = own->inputs.count;
    plan->dims = own->dims.items;
    plan->dim_count = own->dims.count;
    plan->device = own->providers.count ? own->providers.items[0] : NULL;
    plan->threads = call->settings.threads;
    plan->warm_up = or_default(own->warm_up, DEFAULT_WARM_UP);
    plan->max_runs = or_default(own->max_runs, DEFAULT_RUNS);
    plan->profiled_runs = or_default(own->profiled_runs, DEFAULT_PROFILE);
    plan->max_ns = or_default(own->max_time_ns, DEFAULT_TIME);
    return ort_words_read(&words, plan->inputs, plan->input_count, plan->dims, plan->dim_count,
                          &measuring->work->arena, err);
}

/* ---- running ---- */

static bool become_python(void *context, struct nl_err *err)
{
    const struct measuring *measuring = context;
    execv(measuring->command[0], measuring->command);
    return nl_fail(err, NL_ENVIRONMENT, "cannot start %.300s: %s", measuring->command[0],
                   strerror(errno));
}

static bool run_driver(struct measuring *measuring, struct nl_err *err)
{
    struct nl_profile_work *work = measuring->work;
    const struct nl_child child = {
        .work = become_python,
        .context = measuring,
        .program = true,
        .what = "Python",
        .log = nl_arena_format(&work->arena, "%s/log", work->folder),
        .timeout_ns = or_default(work->call->settings.timeout_ns, DEFAULT_PATIENCE),
        .doing = measuring->shared->doing,
        .at = &measuring->shared->runs,
    };
    nl_message_detail(work->call, "using %s", measuring->plan.python);
    nl_job_phase(work->call->job, "running", 0);
    nl_err_at(err, work->model, -1);
    bool done = nl_child_run(&child, work->call->job, err);
    measuring->shared->doing[sizeof measuring->shared->doing - 1] = '\0';
    if (!done && (err->code == NL_INTERRUPTED || err->code == NL_TIMEOUT))
        return false;
    if (torch_told_error(&measuring->plan, &work->arena, err))
        return false;
    return done &&
           torch_read(&measuring->plan, measuring->outcome, &measuring->facts, &work->arena, err);
}

static bool run_model(struct measuring *measuring, struct nl_err *err)
{
    struct nl_profile_work *work = measuring->work;
    struct torch_plan *plan = &measuring->plan;
    plan->folder = work->folder;
    measuring->shared = torch_prepare(plan, &work->arena, err);
    if (!measuring->shared)
        return false;
    measuring->command = torch_command(plan, &work->arena);
    bool done = run_driver(measuring, err);
    torch_unmap(measuring->shared);
    if (!done)
        return false;
    const char *trace = nl_arena_format(&work->arena, "%s/trace.json", work->folder);
    measuring->profile = nl_arena_format(&work->arena, "%s/%.200s.json", work->folder, work->name);
    if (strcmp(trace, measuring->profile) == 0 || rename(trace, measuring->profile) == 0)
        return true;
    return nl_fail(err, NL_FORMAT, "PyTorch's profiler left no trace: %s", strerror(errno));
}

/* ---- the ledger ---- */

static bool keep_run(struct measuring *measuring, struct nl_err *err)
{
    const struct torch_facts *facts = &measuring->facts;
    struct nl_arena *arena = &measuring->work->arena;
    struct nl_rundoc_setting own[OWN_FACTS];
    size_t count = 0;
    own[count++] = (struct nl_rundoc_setting){"workload.model", measuring->work->name};
    own[count++] = (struct nl_rundoc_setting){"software.backend", "pytorch"};
    own[count++] = (struct nl_rundoc_setting){"software.backend_version", facts->version};
    own[count++] = (struct nl_rundoc_setting){"software.framework_version", facts->version};
    own[count++] = (struct nl_rundoc_setting){"software.python_version", facts->python};
    if (strcmp(facts->mode, "evaluation") == 0 || strcmp(facts->mode, "as it was exported") == 0)
        own[count++] = (struct nl_rundoc_setting){"workload.phase", "inference"};
    if (measuring->outcome->batch > 0)
        own[count++] = (struct nl_rundoc_setting){
            "workload.batch_size", nl_arena_format(arena, "%" PRId64, measuring->outcome->batch)};
    return nl_profile_keep(measuring->work, measuring->profile, own, count, err);
}

/* ---- the answer ---- */

static struct nl_result *setup_table(const struct measuring *measuring)
{
    const struct torch_facts *facts = &measuring->facts;
    struct nl_result *table = nl_profile_setup_table();
    char load[NL_UNIT_TEXT], threads[24];
    snprintf(threads, sizeof threads, "%" PRId64, measuring->plan.threads);
    nl_profile_add_fact(table, "model", measuring->work->model);
    nl_profile_add_fact(table, "kind", facts->kind);
    nl_profile_add_fact(table, "backend", "torch");
    nl_profile_add_fact(table, "backend version", facts->version);
    nl_profile_add_fact(table, "Python", measuring->plan.python);
    nl_profile_add_fact(table, "profiler", facts->profiler);
    nl_profile_add_fact(table, "profiled runs",
                        facts->in_turns ? "in turns with the others" : "one block at the end");
    nl_profile_add_fact(table, "device", facts->device);
    nl_profile_add_fact(table, "inputs", facts->inputs);
    nl_profile_add_fact(table, "mode", facts->mode);
    nl_profile_add_fact(table, "threads",
                        measuring->plan.threads ? threads : "the backend's choice");
    nl_profile_add_fact(table, "loading the model",
                        nl_format_ns(load, measuring->outcome->load_ns));
    nl_profile_add_fact(table, "stopped because", nl_profile_stop_text(measuring->outcome));
    nl_profile_add_fact(table, "run", measuring->work->added.id);
    return table;
}

static bool write_answer(struct measuring *measuring, const struct nl_trace *trace,
                         struct nl_err *err)
{
    struct nl_profile_work *work = measuring->work;
    struct nl_profile_latency latency = nl_profile_latency_of(measuring->outcome);
    struct nl_result *operators = nl_profile_torch_operators(trace, &latency.inside);
    const struct nl_profile_answer answer = {
        .work = work,
        .runtime = nl_arena_format(&work->arena, "PyTorch %s", measuring->facts.version),
        .runs = &latency.plain,
        .remark = nl_profile_stop_remark(work, measuring->outcome, &latency),
        .latencies = nl_profile_latency_table(&latency),
        .operators = operators,
        .setup = setup_table(measuring)};
    return nl_profile_answer(&answer, err);
}

static bool read_and_answer(struct measuring *measuring, struct nl_err *err)
{
    const struct nl_ingest_options options = {.rank = NL_NULL_I64};
    struct nl_trace *trace =
        nl_ingest(&measuring->profile, 1, &options, measuring->work->call->job, err);
    if (!trace)
        return false;
    bool done = keep_run(measuring, err) && write_answer(measuring, trace, err);
    nl_trace_free(trace);
    return done;
}

bool nl_profile_torch(struct nl_profile_work *work, struct nl_err *err)
{
    struct measuring measuring = {.work = work};
    if (!read_words(&measuring, err) || !nl_profile_check_model(work, err))
        return false;
    nl_err_at(err, "", -1);
    measuring.plan.python =
        torch_find_python(nl_profile_own(work->call)->python_program, &work->arena, err);
    if (!measuring.plan.python || !nl_profile_folder(work, err))
        return false;
    measuring.outcome = nl_zalloc(sizeof *measuring.outcome);
    bool done = run_model(&measuring, err) && read_and_answer(&measuring, err);
    nl_free(measuring.outcome);
    return done;
}
