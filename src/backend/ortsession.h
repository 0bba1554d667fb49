/*
 * ortsession — an environment, and sessions of a model in it, with providers and profiler as asked.
 */
#ifndef ORTSESSION_H
#define ORTSESSION_H

#include "backend/ortinput.h"
#include "backend/ortrun.h"

struct ort_model {
    struct ort_api api;
    struct ort_env *env;
    struct ort_inputs inputs;
    const char **output_names;
    struct ort_value **outputs;
    size_t output_count;
    struct nl_arena arena;
};

/* The library, its environment with one pool of threads, and what it offers. */
NL_MUST_CHECK bool ort_model_open(struct ort_model *model, const struct ort_plan *plan,
                                  struct ort_outcome *outcome, struct nl_err *err);

/* A session; with `prefix` its profiler writes to a file of that beginning. */
struct ort_session *ort_session_new(struct ort_model *model, const struct ort_plan *plan,
                                    const char *prefix, struct nl_err *err);

/* Inputs and outputs as the session has them, the inputs filled. */
NL_MUST_CHECK bool ort_model_prepare(struct ort_model *model, const struct ort_session *session,
                                     const struct ort_plan *plan, struct ort_outcome *outcome,
                                     struct nl_err *err);

/* One run; its outputs are released after the clock was read. */
NL_MUST_CHECK bool ort_session_run(struct ort_model *model, struct ort_session *session,
                                   struct ort_run *run, struct nl_err *err);

/* Ends the profiler; its file's name and time 0 go to the outcome. */
NL_MUST_CHECK bool ort_session_finish(struct ort_model *model, struct ort_session *session,
                                      struct ort_outcome *outcome, struct nl_err *err);

void ort_model_close(struct ort_model *model);

#endif
