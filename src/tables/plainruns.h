/*
 * plainruns — the runs of a model that `profile` timed without a profiler. It keeps each as a range
 * "unprofiled run" next to the profiled ones. Where there are any, they are what a run takes; the
 * steps of such a recording are those under the profiler, which are longer.
 */
#ifndef NL_PLAINRUNS_H
#define NL_PLAINRUNS_H

#include "store/trace.h"
#include "timeline/window.h"

struct nl_plain_run {
    int64_t start, dur; /* store time; dur > 0 */
    uint32_t slice;
};

/* In order of rows: those that begin in the window, NULL everywhere. nl_free the array;
 * NULL when there are none. */
struct nl_plain_run *nl_plain_runs(const struct nl_trace *trace, const struct nl_window *window,
                                   size_t *count);

/* Their lengths alone. */
double *nl_plain_run_lengths(const struct nl_trace *trace, const struct nl_window *window,
                             size_t *count);

#endif
