/*
 * trtexec — TensorRT's own program for measuring a model: where it is, what kind of file it is
 * given, and the words of its command line.
 *
 * It is asked for two measurements of one engine: runs without the profiler, whose times it
 * exports, and then runs with it (--separateProfileRun), for the layers. trtexec measures at least
 * as many runs and at least as long as it is asked to, both; so --max-runs comes with a duration of
 * 0. Its warm-up is reported in ms, not in runs.
 */
#ifndef TRTEXEC_H
#define TRTEXEC_H

#include "backend/ortwords.h"

#define TRTEXEC_WARM_UP_MS 200 /* its own default */

struct trtexec_plan {
    const char *program, *model;
    const struct ort_words *words;
    int64_t warm_up_ms;
    int64_t max_runs, max_ns;             /* 0 = what trtexec chooses; at most one is given */
    const char *times, *profile, *layers; /* the files to write */
};

/* `given`, else on PATH, else where packages of TensorRT put it.
 * NL_ENVIRONMENT when there is none. */
NL_MUST_CHECK const char *trtexec_find(const char *given, struct nl_arena *arena,
                                       struct nl_err *err);

/* Is the file an ONNX model? By its name, or when the whole file is a protobuf message with the
 * fields of an ONNX model, a graph among them. Anything else is taken for an engine. */
bool trtexec_is_onnx(const char *model);

/* The command line, NULL-terminated. NL_USAGE for inputs that trtexec does not take. */
NL_MUST_CHECK char **trtexec_command(const struct trtexec_plan *plan, struct nl_arena *arena,
                                     struct nl_err *err);

/* The release that the first line of its log names, "10.3.0"; "" when none does. */
const char *trtexec_version(const char *log, struct nl_arena *arena);

#endif
