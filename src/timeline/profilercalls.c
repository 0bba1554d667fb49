/* profilercalls — see profilercalls.h. */
#include "timeline/profilercalls.h"

#include "base/mem.h"
#include "timeline/interval.h"

#define MAX_DEPTH 64

enum { NONE, START, STOP };

static uint8_t call_kind(struct nl_str name)
{
    if (nl_str_contains(name, NL_PROFILER_START) || nl_str_contains(name, "ProfilerStart"))
        return START;
    return nl_str_contains(name, NL_PROFILER_STOP) || nl_str_contains(name, "ProfilerStop") ? STOP
                                                                                            : NONE;
}

bool nl_is_profiler_call(struct nl_str name)
{
    return call_kind(name) != NONE;
}

bool nl_in_profiler_call(const struct nl_trace *trace, uint32_t slice)
{
    for (unsigned deep = 0; slice != NL_NULL_ROW && deep < MAX_DEPTH; deep++) {
        if (nl_is_profiler_call(nl_trace_name(trace, trace->slice.name[slice])))
            return true;
        slice = trace->slice.parent[slice];
    }
    return false;
}

struct nl_profiler_calls nl_profiler_calls(const struct nl_trace *trace)
{
    struct nl_profiler_calls calls = {0};
    struct nl_intervals sets[2];
    int64_t longest[2] = {-1, -1};
    uint32_t *names[2] = {&calls.start_name, &calls.stop_name};
    uint8_t *kinds = nl_zalloc((size_t)trace->names.count + 1);
    bool any = false;
    for (uint32_t name = 1; name < trace->names.count; name++) {
        kinds[name] = call_kind(nl_trace_name(trace, name));
        any |= kinds[name] != NONE;
    }
    nl_intervals_init(&sets[0]);
    nl_intervals_init(&sets[1]);
    for (uint32_t slice = 0; any && slice < trace->slice.rows; slice++) {
        uint8_t kind = kinds[trace->slice.name[slice]];
        if (kind == NONE || trace->slice.dur[slice] == NL_NULL_I64)
            continue;
        nl_intervals_add(&sets[kind - START], trace->slice.ts[slice], nl_slice_end(trace, slice));
        if (trace->slice.dur[slice] > longest[kind - START]) {
            longest[kind - START] = trace->slice.dur[slice];
            *names[kind - START] = trace->slice.name[slice];
        }
    }
    nl_intervals_normalise(&sets[0]);
    nl_intervals_normalise(&sets[1]);
    calls.start_ns = nl_intervals_length(&sets[0]);
    calls.stop_ns = nl_intervals_length(&sets[1]);
    nl_intervals_release(&sets[0]);
    nl_intervals_release(&sets[1]);
    nl_free(kinds);
    return calls;
}
