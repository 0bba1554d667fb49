/* Loading the library, checking what it is, and its errors as ours. */
#define _GNU_SOURCE
#include "backend/ortapi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What OrtGetApiBase returns. */
struct api_base {
    const void *const *(*api)(uint32_t version);
    const char *(*version)(void);
};

/* A function and a data pointer are one size where dlsym exists; ISO C has no cast between them. */
static void set_function(void *member, const void *function)
{
    memcpy(member, &function, sizeof function);
}

static bool fill_functions(struct ort_api *api, const void *const *table, struct nl_err *err)
{
    bool whole = true;
#define ORT_CALL(place, name, result, arguments)                                                   \
    set_function(&api->name, table[place]);                                                        \
    whole &= api->name != NULL;
#include "backend/ort_calls.def"
#undef ORT_CALL
    if (!whole)
        return nl_fail(err, NL_ENVIRONMENT,
                       "ONNX Runtime %s lacks functions that every release has; install a release "
                       "build (pip install onnxruntime)",
                       api->version);
    return ort_ok(api, api->GetAllocatorWithDefaultOptions(&api->allocator), "its allocator", err);
}

/* "1.20.1" → 1, 20. */
static bool old_release(const char *version)
{
    char *end;
    long major = strtol(version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major < 1 || (major == 1 && minor < ORT_API_VERSION);
}

bool ort_api_open(struct ort_api *api, const char *path, struct nl_err *err)
{
    const struct api_base *(*get)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *api = (struct ort_api){0};
    if (!library)
        return nl_fail(err, NL_ENVIRONMENT, "cannot load ONNX Runtime: %.300s", dlerror());
    set_function(&get, dlsym(library, "OrtGetApiBase"));
    const struct api_base *base = get ? get() : NULL;
    if (!base || !base->version || !base->api)
        return nl_fail(err, NL_ENVIRONMENT, "%.300s is not ONNX Runtime: OrtGetApiBase %s", path,
                       get ? "returns nothing" : "is missing");
    api->version = base->version();
    if (!api->version)
        return nl_fail(err, NL_ENVIRONMENT, "%.300s does not report its version", path);
    if (old_release(api->version))
        return nl_fail(err, NL_ENVIRONMENT,
                       "ONNX Runtime %.40s is too old: 1.%d or newer is needed (pip install "
                       "--upgrade onnxruntime)",
                       api->version, ORT_API_VERSION);
    const void *const *table = base->api(ORT_API_VERSION);
    if (!table)
        return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime %.40s does not offer API version %d",
                       api->version, ORT_API_VERSION);
    return fill_functions(api, table, err);
}

/* Codes of OrtErrorCode that are about the model or what was given to it. */
static bool about_model(int code)
{
    enum { INVALID_ARGUMENT = 2, NO_SUCH_FILE, NO_MODEL };
    enum { INVALID_PROTOBUF = 7, NOT_IMPLEMENTED = 9, INVALID_GRAPH };
    return code == INVALID_ARGUMENT || code == NO_SUCH_FILE || code == NO_MODEL ||
           code == INVALID_PROTOBUF || code == NOT_IMPLEMENTED || code == INVALID_GRAPH;
}

bool ort_ok(const struct ort_api *api, struct ort_status *status, const char *what,
            struct nl_err *err)
{
    if (!status)
        return true;
    const char *text = api->GetErrorMessage(status);
    bool model = about_model(api->GetErrorCode(status));
    (void)nl_fail(err, model ? NL_FORMAT : NL_ENVIRONMENT, "%s: %.380s", what,
                  text && *text ? text : "ONNX Runtime does not say why");
    api->ReleaseStatus(status);
    return false;
}
