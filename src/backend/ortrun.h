/*
 * ortrun — one model under ONNX Runtime: timed without its profiler, and profiled, in turns.
 *
 * Two sessions of the model share one pool of threads; one has the profiler on. After the
 * warm-up blocks of runs alternate between them, so that a drift of the machine meets both
 * alike. Of runs shorter than 50 ms the first of each block is not counted: it finds the other
 * session's data in the caches.
 *
 * It stops when the 95 % interval of the median of the runs without the profiler is within ±1 % and
 * enough profiled runs are there, or at a limit, but never before one run of each kind.
 *
 * ort_measure is meant for a child process, and `outcome` for memory that is shared with it: when
 * the library crashes, the outcome says what was being done.
 */
#ifndef ORTRUN_H
#define ORTRUN_H

#include "base/medianrange.h"
#include "backend/ortwords.h"

#define ORT_MAX_RUNS     100000 /* without the profiler */
#define ORT_MAX_PROFILED 1000
#define ORT_TIGHT        0.01
#define ORT_PROVIDERS    8

struct ort_plan {
    const char *library, *model;
    const char *profile_prefix; /* of the file that the profiler writes */
    struct ort_words words;
    const char *providers[ORT_PROVIDERS]; /* in order of preference; the CPU comes last by itself */
    size_t provider_count;
    int threads; /* of an operator; 0 = as ONNX Runtime chooses */
    size_t warm_up, max_runs, profiled_runs;
    int64_t max_ns; /* of measuring, without loading */
};

/* Times of one kind of runs, in the order they were made. */
struct ort_run {
    int64_t start_ns, dur_ns; /* start: UTC, ns since 1970 */
};

enum ort_stop { ORT_STOP_TIGHT, ORT_STOP_TIME, ORT_STOP_RUNS };

struct ort_outcome {
    char stage[96]; /* what is being done: "loading the model" */
    char version[32];
    char providers[512];      /* that the library offers, joined with commas */
    char inputs[2048];        /* as they were made: "x: f32[1, 3, 64, 64]" */
    char profile[1024];       /* file that the profiler wrote */
    int64_t profile_epoch_ns; /* its time 0, UTC */
    int64_t load_ns;          /* making the session without the profiler */
    int64_t batch;            /* first dimension of the first input; INT64_MIN without */
    enum ort_stop stop;
    _Atomic uint32_t runs; /* done so far, for progress */
    uint32_t plain_count, profiled_count;
    uint32_t session_runs; /* of the profiled session, with those that do not count */
    struct ort_run plain[ORT_MAX_RUNS];
    struct ort_run profiled[ORT_MAX_PROFILED];
    uint32_t profiled_at[ORT_MAX_PROFILED]; /* its number among the session's runs, from 0 */
};

/* Errors: NL_USAGE (words that do not fit the model), NL_FORMAT (the model), NL_ENVIRONMENT. */
NL_MUST_CHECK bool ort_measure(const struct ort_plan *plan, struct ort_outcome *outcome,
                               struct nl_err *err);

#endif
