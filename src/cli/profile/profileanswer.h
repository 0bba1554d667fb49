/*
 * profileanswer — what `profile` prints, whatever the backend: headlines with the median of a run,
 * the tables of latencies and of operators, and what was run. Backends give the facts; the words
 * and their order are here once.
 */
#ifndef NL_PROFILEANSWER_H
#define NL_PROFILEANSWER_H

#include "backend/ortrun.h"
#include "cli/profile/profileops.h"
#include "cli/profile/profilework.h"

struct nl_profile_answer {
    const struct nl_profile_work *work;
    const char *runtime;                /* such as "ONNX Runtime 1.20.1" */
    const struct nl_median_range *runs; /* without the profiler */
    const char *remark;                 /* a headline more, or NULL; lives as long as `work` */
    struct nl_result *latencies, *operators, *setup; /* handed over */
};

/* A table "What was run" for facts, without rows; a row of it, "" is unknown. */
struct nl_result *nl_profile_setup_table(void);
void nl_profile_add_fact(struct nl_result *table, const char *fact, const char *value);

/* Why no more runs were made, as words after "stopped because". */
const char *nl_profile_stop_text(const struct ort_outcome *outcome);

/* Why no more runs were made, and what the profiler costs: a remark. */
const char *nl_profile_stop_remark(struct nl_profile_work *work, const struct ort_outcome *outcome,
                                   const struct nl_profile_latency *latency);

/* Prints it and frees the tables. CSV, which holds one table, gets the operators. */
NL_MUST_CHECK bool nl_profile_answer(const struct nl_profile_answer *answer, struct nl_err *err);

#endif
