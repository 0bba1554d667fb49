/* contents — see contents.h. */
#include "answer/contents.h"

#include "answer/clockgap.h"

/* So many times as many of another kind, and slices are the lesser part of the profile. */
#define FAR_MORE 100

struct kind {
    uint32_t rows;
    const char *one, *many;
    const int64_t *times; /* NULL = the trace's own first and last time hold */
};

/* The first kind that there is, unless one that follows has far more. */
static size_t choose_kind(const struct kind *kinds, size_t count)
{
    size_t chosen = 0;
    while (!kinds[chosen].rows && chosen + 1 < count)
        chosen++;
    for (size_t i = chosen + 1; i < count; i++)
        if (kinds[i].rows / FAR_MORE > kinds[chosen].rows)
            chosen = i;
    return kinds[chosen].rows ? chosen : 0;
}

static int64_t span(const struct nl_trace *trace, const struct kind *kind)
{
    int64_t first = trace->first_ts, last = trace->last_ts, whole;
    bool timed = last > first;
    for (uint32_t i = 0; kind->times && i < kind->rows; i++) {
        int64_t at = kind->times[i];
        if (at == NL_NULL_I64)
            continue;
        first = !timed || at < first ? at : first;
        last = !timed || at > last ? at : last;
        timed = true;
    }
    return timed && !__builtin_sub_overflow(last, first, &whole) ? whole : 0;
}

/* Rows of samples that are sums of stacks, not moments: folded stacks, pstats, pprof. */
static bool are_sums(const struct nl_trace *trace)
{
    return trace->sample.rows && trace->sample.ts[0] == NL_NULL_I64 &&
           !nl_str_is(nl_trace_name(trace, trace->sample.unit[0]), "samples");
}

/* Of Intel PT: a line per call and return. */
static bool are_branches(const struct nl_trace *trace)
{
    return trace->sample.rows && nl_str_is(nl_trace_name(trace, trace->sample.unit[0]), "branches");
}

struct nl_contents nl_contents_of(const struct nl_trace *trace)
{
    bool sums = are_sums(trace), branches = are_branches(trace);
    const struct kind kinds[] = {
        {nl_trace_timed(trace), "event", "events", NULL},
        {trace->sample.rows,
         sums       ? "call stack"
         : branches ? "branch"
                    : "CPU sample",
         sums       ? "call stacks"
         : branches ? "branches"
                    : "CPU samples",
         trace->sample.ts},
        {trace->call.rows, "function", "functions", NULL},
        {trace->node.rows, "node of a model", "nodes of a model", NULL},
        {trace->memory.rows, "memory event", "memory events", trace->memory.ts},
        {trace->counter.rows, "counter value", "counter values", trace->counter.ts}};
    size_t kind = choose_kind(kinds, sizeof kinds / sizeof *kinds);
    struct nl_clock_gap gap = nl_clock_gap_of(trace);
    return (struct nl_contents){kinds[kind].rows, kinds[kind].one, kinds[kind].many, kind == 0,
                                gap.gap_ns ? gap.span_ns : span(trace, &kinds[kind])};
}
