/* heldtime — see heldtime.h. */
#include "answer/heldtime.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/sum.h"
#include "tables/gaptext.h"
#include "tables/memo.h"

#define MAX_NAMES 64

struct call {
    int64_t start, end;
    uint32_t slice;
    size_t last; /* of this call and those before it, the one that ends last */
};

struct tally {
    uint32_t name, longest; /* slice */
    int64_t ns, longest_ns;
};

struct calls {
    struct nl_judged *judged;
    const struct nl_trace *trace;
    struct call *items;
    size_t count, cap;
    struct tally tallies[MAX_NAMES];
    size_t names;
};

static int by_start(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

static bool waits(const struct nl_api_roles *roles, const struct nl_trace *trace, uint32_t slice)
{
    enum nl_api_role role = nl_api_slice_role(roles, trace, slice);
    return role == NL_API_SYNC || role == NL_API_COPY || nl_api_slice_blocks(roles, trace, slice);
}

/* Long calls that wait, of the device's process, in order of time. */
static void collect_waiting_calls(struct calls *calls, const struct nl_account_device *device)
{
    const struct nl_trace *trace = calls->trace;
    const struct nl_api_roles *roles = nl_memo_roles(calls->judged->options->memo);
    for (uint32_t i = 0; i < trace->api.rows; i++) {
        uint32_t slice = trace->api.slice[i];
        if (slice == NL_NULL_ROW || trace->slice.dur[slice] < NL_ACCOUNT_LONG_NS ||
            !waits(roles, trace, slice))
            continue;
        uint32_t thread = trace->lane.thread[trace->slice.lane[slice]];
        if (thread == NL_NULL_ROW ||
            (device->process != NL_NULL_ROW && trace->thread.process[thread] != device->process))
            continue;
        nl_grow(&calls->items, &calls->cap, calls->count + 1);
        calls->items[calls->count++] =
            (struct call){trace->slice.ts[slice], nl_slice_end(trace, slice), slice, 0};
    }
    if (calls->count)
        qsort(calls->items, calls->count, sizeof *calls->items, by_start);
    for (size_t i = 1; i < calls->count; i++) {
        size_t last = calls->items[i - 1].last;
        calls->items[i].last = calls->items[i].end >= calls->items[last].end ? i : last;
    }
}

static void count_call(struct calls *calls, const struct call *call, int64_t ns)
{
    uint32_t name = calls->trace->slice.name[call->slice];
    size_t i = 0;
    while (i < calls->names && calls->tallies[i].name != name)
        i++;
    if (i == MAX_NAMES)
        return;
    if (i == calls->names)
        calls->tallies[calls->names++] = (struct tally){.name = name};
    nl_sum_add(&calls->tallies[i].ns, ns);
    if (ns > calls->tallies[i].longest_ns) {
        calls->tallies[i].longest_ns = ns;
        calls->tallies[i].longest = call->slice;
    }
}

static int64_t common(const struct call *call, struct nl_interval gap)
{
    int64_t start = call->start > gap.start ? call->start : gap.start;
    int64_t end = call->end < gap.end ? call->end : gap.end;
    return end > start ? end - start : 0;
}

/* How long a call lasted inside the gap, of the one that lasted longest there: one that begins
 * in it, or of those that began before it the one that ends last. So a call is looked at in
 * one gap, but for that one. */
static int64_t inside(struct calls *calls, struct nl_interval gap)
{
    size_t at = NL_FIRST(i, 0, calls->count, calls->items[i].start >= gap.end);
    const struct call *best = NULL;
    int64_t most = 0;
    for (; at > 0 && calls->items[at - 1].start > gap.start; at--) {
        int64_t ns = common(&calls->items[at - 1], gap);
        best = ns > most ? &calls->items[at - 1] : best;
        most = ns > most ? ns : most;
    }
    if (at > 0) {
        const struct call *last = &calls->items[calls->items[at - 1].last];
        int64_t ns = common(last, gap);
        best = ns > most ? last : best;
        most = ns > most ? ns : most;
    }
    if (best)
        count_call(calls, best, most);
    return most;
}

/* The same for the part of the gap within the phase. */
static int64_t inside_phase(struct calls *calls, const struct nl_phases *phases,
                            const struct nl_phase_group *group, enum nl_phase phase,
                            struct nl_interval gap)
{
    int64_t sum = 0;
    if (phase == NL_PHASES)
        return inside(calls, gap);
    size_t cut = nl_phase_find(phases, group, gap.start, group->first);
    for (; cut < group->first + group->count && phases->cuts[cut].start < gap.end; cut++) {
        int64_t from = phases->cuts[cut].start, to = nl_phase_end(phases, group, cut);
        struct nl_interval piece = {from > gap.start ? from : gap.start,
                                    to < gap.end ? to : gap.end};
        if (phases->cuts[cut].phase == phase)
            nl_sum_add(&sum, inside(calls, piece));
    }
    return sum;
}

/* The annotation around a call on its thread, the shortest; NULL none. */
static const char *range_around(struct calls *calls, uint32_t slice)
{
    const struct nl_trace *trace = calls->trace;
    uint32_t thread = trace->lane.thread[trace->slice.lane[slice]], best = NL_NULL_ROW;
    int64_t start = trace->slice.ts[slice], end = nl_slice_end(trace, slice);
    for (uint32_t i = 0; i < trace->nvtx.rows; i++) {
        uint32_t row = trace->nvtx.slice[i];
        if (row == NL_NULL_ROW || trace->slice.ts[row] > start || nl_slice_end(trace, row) < end ||
            trace->lane.thread[trace->slice.lane[row]] != thread ||
            (best != NL_NULL_ROW && trace->slice.dur[row] >= trace->slice.dur[best]))
            continue;
        best = row;
    }
    return best == NL_NULL_ROW
               ? NULL
               : nl_keep_name(calls->judged,
                              nl_gap_fold(nl_trace_name(trace, trace->slice.name[best])));
}

static int by_time(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

void nl_held_calls(struct nl_judged *judged, const struct nl_idle *idle,
                   const struct nl_idle_device *gaps, const struct nl_account_device *device,
                   enum nl_phase phase, int64_t *blocked, struct nl_time_name *names)
{
    struct calls calls = {.judged = judged, .trace = judged->trace};
    struct nl_phases phases;
    nl_phases_init(&phases, judged->trace, nl_memo_steps(judged->options->memo),
                   nl_memo_roles(judged->options->memo));
    const struct nl_phase_group *group = nl_phases_of(&phases, device->rank);
    *blocked = 0;
    collect_waiting_calls(&calls, device);
    const struct nl_idle_gap *gap = idle->gaps + gaps->first_gap;
    for (size_t i = 0; calls.count && i < gaps->gaps; i++, gap++)
        if (gap->activity == NL_ACTIVITY_QUEUED && gap->activity_ns >= NL_ACCOUNT_LONG_NS)
            nl_sum_add(blocked, inside_phase(&calls, &phases, group, phase,
                                             (struct nl_interval){gap->start, gap->end}));
    if (calls.names)
        qsort(calls.tallies, calls.names, sizeof *calls.tallies, by_time);
    for (size_t i = 0; i < calls.names && i < NL_TIME_NAMES; i++) {
        const struct tally *tally = &calls.tallies[i];
        names[i] = (struct nl_time_name){
            .name = nl_keep_name(judged, nl_gap_fold(nl_trace_name(judged->trace, tally->name))),
            .inside = range_around(&calls, tally->longest),
            .ns = tally->ns,
            .inside_ns = tally->ns, /* said of its longest call */
            .count = 1};
    }
    nl_free(calls.items);
    nl_phases_release(&phases);
}
