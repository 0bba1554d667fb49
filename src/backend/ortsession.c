/* From a library to a session that runs. */
#define _GNU_SOURCE
#include "backend/ortsession.h"
#include "backend/ortvalue.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define LOG_ERRORS 3

/* ---- library and environment ---- */

static bool list_providers(struct ort_model *model, struct ort_outcome *outcome, struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    char **names = NULL;
    int count = 0;
    size_t used = 0;
    if (!ort_ok(api, api->GetAvailableProviders(&names, &count), "the providers", err))
        return false;
    for (int i = 0; names && i < count && used < sizeof outcome->providers; i++)
        used += (size_t)snprintf(outcome->providers + used, sizeof outcome->providers - used,
                                 "%s%s", i ? ", " : "", names[i] ? names[i] : "?");
    return !names ||
           ort_ok(api, api->ReleaseAvailableProviders(names, count), "the providers", err);
}

static bool make_env(struct ort_model *model, const struct ort_plan *plan, struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    struct ort_threading *threading = NULL;
    bool done =
        ort_ok(api, api->CreateThreadingOptions(&threading), "threads", err) &&
        (!plan->threads ||
         ort_ok(api, api->SetGlobalIntraOpNumThreads(threading, plan->threads), "threads", err)) &&
        ort_ok(api,
               api->CreateEnvWithGlobalThreadPools(LOG_ERRORS, "neurolens", threading, &model->env),
               "its environment", err);
    if (threading)
        api->ReleaseThreadingOptions(threading);
    return done;
}

bool ort_model_open(struct ort_model *model, const struct ort_plan *plan,
                    struct ort_outcome *outcome, struct nl_err *err)
{
    *model = (struct ort_model){0};
    nl_arena_init(&model->arena);
    snprintf(outcome->stage, sizeof outcome->stage, "loading the library");
    bool done = ort_api_open(&model->api, plan->library, err) &&
                list_providers(model, outcome, err) && make_env(model, plan, err);
    if (model->api.version)
        snprintf(outcome->version, sizeof outcome->version, "%s", model->api.version);
    return done;
}

/* ---- providers ---- */

typedef struct ort_status *add_provider_fn(const struct ort_api *api, struct ort_options *options);

static struct ort_status *add_cpu(const struct ort_api *api, struct ort_options *options)
{
    (void)api;
    (void)options;
    return NULL;
}

static struct ort_status *add_cuda(const struct ort_api *api, struct ort_options *options)
{
    struct ort_cuda *cuda = NULL;
    struct ort_status *status = api->CreateCUDAProviderOptions(&cuda);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda);
    if (cuda)
        api->ReleaseCUDAProviderOptions(cuda);
    return status;
}

static struct ort_status *add_tensorrt(const struct ort_api *api, struct ort_options *options)
{
    struct ort_tensorrt *tensorrt = NULL;
    struct ort_status *status = api->CreateTensorRTProviderOptions(&tensorrt);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt);
    if (tensorrt)
        api->ReleaseTensorRTProviderOptions(tensorrt);
    return status;
}

static const struct {
    const char *name;
    add_provider_fn *add;
} providers[] = {{"cpu", add_cpu}, {"cuda", add_cuda}, {"tensorrt", add_tensorrt}};

/* Names that are not in the table are the library's own: XNNPACK, QNN, … */
static struct ort_status *add_provider(const struct ort_api *api, struct ort_options *options,
                                       const char *name)
{
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++)
        if (strcmp(providers[i].name, name) == 0)
            return providers[i].add(api, options);
    return api->SessionOptionsAppendExecutionProvider(options, name, NULL, NULL, 0);
}

static bool add_providers(const struct ort_api *api, struct ort_options *options,
                          const struct ort_plan *plan, struct nl_err *err)
{
    char what[80];
    for (size_t i = 0; i < plan->provider_count; i++) {
        snprintf(what, sizeof what, "provider %.40s", plan->providers[i]);
        if (!ort_ok(api, add_provider(api, options, plan->providers[i]), what, err)) {
            err->code = NL_ENVIRONMENT; /* the model is not to blame, whatever the code */
            return false;
        }
    }
    return true;
}

/* ---- sessions ---- */

struct ort_session *ort_session_new(struct ort_model *model, const struct ort_plan *plan,
                                    const char *prefix, struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    struct ort_options *options = NULL;
    struct ort_session *session = NULL;
    bool done =
        ort_ok(api, api->CreateSessionOptions(&options), "options", err) &&
        ort_ok(api, api->DisablePerSessionThreads(options), "options", err) &&
        (!prefix || ort_ok(api, api->EnableProfiling(options, prefix), "its profiler", err)) &&
        add_providers(api, options, plan, err) &&
        ort_ok(api, api->CreateSession(model->env, plan->model, options, &session),
               "ONNX Runtime refuses the model", err);
    if (options)
        api->ReleaseSessionOptions(options);
    /* An unknown operator is a plain failure to the library; on the CPU only
     * the model can be at fault. */
    if (!done && !plan->provider_count)
        err->code = NL_FORMAT;
    if (done && !session)
        (void)nl_fail(err, NL_ENVIRONMENT,
                      "ONNX Runtime cannot create a session and gives no reason");
    return session;
}

static bool read_outputs(struct ort_model *model, const struct ort_session *session,
                         struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    size_t count = 0;
    if (!ort_ok(api, api->SessionGetOutputCount(session, &count), "the outputs", err))
        return false;
    if (count > 65536)
        return nl_fail(err, NL_LIMIT, "the model has %zu outputs", count);
    model->output_names = nl_arena_alloc(&model->arena, (count + 1) * sizeof(char *));
    model->outputs = nl_arena_alloc(&model->arena, (count + 1) * sizeof(struct ort_value *));
    for (size_t i = 0; i < count; i++) {
        char *name = NULL;
        if (!ort_ok(api, api->SessionGetOutputName(session, i, api->allocator, &name), "an output",
                    err))
            return false;
        if (!name)
            return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime does not describe output %zu", i);
        model->output_names[model->output_count++] = name;
    }
    return true;
}

bool ort_model_prepare(struct ort_model *model, const struct ort_session *session,
                       const struct ort_plan *plan, struct ort_outcome *outcome, struct nl_err *err)
{
    snprintf(outcome->stage, sizeof outcome->stage, "making inputs");
    bool done = ort_inputs_read(&model->inputs, &model->api, session, &model->arena, err) &&
                ort_inputs_shape(&model->inputs, &plan->words, &model->arena, err) &&
                ort_inputs_fill(&model->inputs, &model->api, &model->arena, err) &&
                read_outputs(model, session, err);
    if (done) {
        const struct ort_input *first = model->inputs.items;
        snprintf(outcome->inputs, sizeof outcome->inputs, "%s",
                 ort_inputs_text(&model->inputs, &model->arena));
        outcome->batch = model->inputs.count && first->rank > 1 ? first->size[0] : INT64_MIN;
    }
    return done;
}

/* ---- running ---- */

bool ort_session_run(struct ort_model *model, struct ort_session *session, struct ort_run *run,
                     struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    memset(model->outputs, 0, model->output_count * sizeof(struct ort_value *));
    run->start_ns = nl_calendar_ns();
    int64_t before = nl_monotonic_ns();
    struct ort_status *status = api->Run(
        session, NULL, model->inputs.names, (const struct ort_value *const *)model->inputs.values,
        model->inputs.count, model->output_names, model->output_count, model->outputs);
    run->dur_ns = nl_monotonic_ns() - before;
    for (size_t i = 0; i < model->output_count; i++)
        if (model->outputs[i])
            api->ReleaseValue(model->outputs[i]);
    return ort_ok(api, status,
                  "the model does not run on generated inputs (--input NAME=SHAPE:LOW..HIGH bounds "
                  "whole numbers)",
                  err);
}

bool ort_session_finish(struct ort_model *model, struct ort_session *session,
                        struct ort_outcome *outcome, struct nl_err *err)
{
    const struct ort_api *api = &model->api;
    char *name = NULL;
    uint64_t start = 0;
    snprintf(outcome->stage, sizeof outcome->stage, "writing its profile");
    if (!ort_ok(api, api->SessionGetProfilingStartTimeNs(session, &start), "its profile", err) ||
        !ort_ok(api, api->SessionEndProfiling(session, api->allocator, &name), "its profile", err))
        return false;
    if (!name || strlen(name) >= sizeof outcome->profile)
        return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime does not say where its profile is");
    snprintf(outcome->profile, sizeof outcome->profile, "%s", name);
    outcome->profile_epoch_ns = (int64_t)start;
    return true;
}

void ort_model_close(struct ort_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++)
        if (model->inputs.values[i])
            model->api.ReleaseValue(model->inputs.values[i]);
    if (model->env)
        model->api.ReleaseEnv(model->env);
    nl_arena_free(&model->arena);
}
