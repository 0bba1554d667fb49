/*
 * profileops — the answer of `profile`: latencies of whole runs and of operators, from what was
 * measured and the trace of the profiled runs.
 */
#ifndef NL_PROFILEOPS_H
#define NL_PROFILEOPS_H

#include "backend/ortrun.h"
#include "tables/result.h"
#include "store/trace.h"

/* The medians of the runs, and what the profiler costs: the difference of the medians. */
struct nl_profile_latency {
    struct nl_median_range plain, profiled;
    struct nl_median_range inside; /* sums of a profiled run's nodes; count 0 = not known yet */
    int64_t cost_ns; /* of the profiler, per run; may be negative on a noisy machine */
};

struct nl_profile_latency nl_profile_latency_of(const struct ort_outcome *outcome);

/* An empty table of latencies; a row of it. */
struct nl_result *nl_profile_runs_table(void);
void nl_profile_add_range(struct nl_result *table, const char *what,
                          const struct nl_median_range *range);

/* Rows "without the profiler", "with the profiler", "difference", "operators of a run". */
struct nl_result *nl_profile_latency_table(const struct nl_profile_latency *latency);

/* A row per node, the one with the most time first: executions in the profiled runs that count,
 * their median with its interval and mean, share of the time of all. Times are ONNX Runtime's own,
 * in whole us, and are not corrected: the profiler writes an event after an operator has ended, so
 * its cost is between them. *inside gets the sums of the runs. */
struct nl_result *nl_profile_operators(const struct nl_trace *trace,
                                       const struct ort_outcome *outcome,
                                       struct nl_median_range *inside);

#endif
