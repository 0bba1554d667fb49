/* See plainruns.h. A trace whose dictionary lacks the name is not walked. */
#include "tables/plainruns.h"

#include "base/mem.h"

struct nl_plain_run *nl_plain_runs(const struct nl_trace *trace, const struct nl_window *window,
                                   size_t *count)
{
    uint32_t name = nl_dict_find(&trace->names, nl_str("unprofiled run"));
    struct nl_plain_run *runs = NULL;
    size_t cap = 0;
    *count = 0;
    for (uint32_t row = 0; row < trace->slice.rows && name != UINT32_MAX; row++) {
        int64_t ts = trace->slice.ts[row], dur = trace->slice.dur[row];
        bool inside = !window || !window->has_time || (ts >= window->start && ts < window->end);
        if (trace->slice.name[row] != name || trace->slice.kind[row] != NL_KIND_NVTX || !inside ||
            dur <= 0)
            continue;
        nl_grow(&runs, &cap, *count + 1);
        runs[(*count)++] = (struct nl_plain_run){ts, dur, row};
    }
    return runs;
}

double *nl_plain_run_lengths(const struct nl_trace *trace, const struct nl_window *window,
                             size_t *count)
{
    struct nl_plain_run *runs = nl_plain_runs(trace, window, count);
    double *lengths = *count ? nl_alloc(*count * sizeof *lengths) : NULL;
    for (size_t i = 0; i < *count; i++)
        lengths[i] = (double)runs[i].dur;
    nl_free(runs);
    return lengths;
}
