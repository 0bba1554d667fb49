/*
 * ortapi — the functions of an ONNX Runtime library that is loaded at run time, by their place in
 * the table that it hands out.
 *
 * The library exports one function, OrtGetApiBase; its second table holds the API, to which
 * releases only ever add at the end (onnxruntime_c_api.h, struct OrtApi: "the order must not
 * change"). So no header is needed: a function is a number and its arguments. Every release from
 * 1.14 on hands out the table of version 14, which has all that is used here.
 *
 * Meant for a child process: a library of somebody else may crash, print, or never return.
 * The library stays loaded. Functions return an OrtStatus, NULL for success, unless
 * ort_calls.def says otherwise.
 */
#ifndef ORTAPI_H
#define ORTAPI_H

#include <stddef.h>

#include "base/err.h"

#define ORT_API_VERSION 14 /* oldest release that is used: 1.14 */
#define ORT_MAX_TEXT    480

struct ort_status; /* objects of the library */
struct ort_env;
struct ort_threading;
struct ort_options;
struct ort_session;
struct ort_type;
struct ort_shape; /* borrowed from a type */
struct ort_value;
struct ort_allocator; /* the library's default; never released */
struct ort_cuda;
struct ort_tensorrt;

/* Members are named as the header names them. */
struct ort_api {
#define ORT_CALL(place, name, result, arguments) result(*name) arguments;
#include "backend/ort_calls.def"
#undef ORT_CALL
    const char *version; /* "1.20.1" */
    struct ort_allocator *allocator;
};

/* Loads the library at `path` (or the loader's name of one). NL_ENVIRONMENT when it cannot be
 * loaded, is no ONNX Runtime or is older than 1.14. */
NL_MUST_CHECK bool ort_api_open(struct ort_api *api, const char *path, struct nl_err *err);

/* True for success; otherwise err says "what: " and the library's words, and the
 * status is released. The code: NL_FORMAT for what is wrong with the model or its
 * inputs, else NL_ENVIRONMENT. */
NL_MUST_CHECK bool ort_ok(const struct ort_api *api, struct ort_status *status, const char *what,
                          struct nl_err *err);

#endif
