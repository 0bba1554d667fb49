/*
 * timeparts — see timeparts.h. The idle time comes in sums by activity; what is long in one piece is then
 * taken out of its sum, gap by gap. Before the first work the feeding thread is walked slice by slice.
 */
#include "answer/timeparts.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/sum.h"
#include "tables/gaptext.h"
#include "tables/memo.h"
#include "timeline/hosttime.h"

#define LONG_NS    1000000 /* shorter pieces are dispatch */
#define MOST_WALK  400000  /* slices looked at before the first work */
#define MOST_NAMES 512
#define DEEP       64

/* Time per name of one kind of time. */
struct tally {
    uint8_t what;
    uint32_t name, inside; /* dictionary ids */
    struct nl_str text;    /* the name without numbers of instances */
    int64_t ns;
    uint64_t count;
};

struct division {
    struct nl_judged *judged;
    struct nl_time_parts *parts;
    const struct nl_trace *trace;
    const struct nl_window *window;
    const struct nl_idle *idle;
    const struct nl_idle_device *device;
    struct nl_memo *memo;
    struct tally *tallies;
    size_t count;
    uint32_t nothing_after; /* work that the longest stretch without a record ends with */
    uint8_t *says;          /* per name: what was found in it, so that each is searched once */
};

static void add(struct division *division, enum nl_time_what what, uint32_t name, uint32_t inside,
                int64_t ns, uint64_t count)
{
    division->parts->parts[what].ns += ns;
    struct nl_str text = nl_gap_fold(nl_trace_name(division->trace, name));
    size_t i = 0;
    while (i < division->count &&
           (division->tallies[i].what != what || !nl_str_eq(division->tallies[i].text, text)))
        i++;
    if (i == MOST_NAMES)
        return;
    if (i == division->count) {
        division->count++;
        division->tallies[i] = (struct tally){.what = (uint8_t)what, .name = name, .text = text};
    }
    struct tally *tally = &division->tallies[i];
    if (inside && (!tally->inside || count == 1))
        tally->inside = tally->inside ? tally->inside : inside;
    tally->ns += ns;
    tally->count += count;
}

enum { SAYS_ASKED = 1, SAYS_FETCHING = 2, SAYS_PROFILER = 4 };

static uint8_t search(struct nl_str name)
{
    static const char *const marks[] = {"DataLoader", "dataloader",     "data_load",
                                        "_next_data", "next_batch",     "fetch_batch",
                                        "get_batch",  "IteratorGetNext"};
    uint8_t says = SAYS_ASKED;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (nl_str_contains(name, marks[i]))
            says |= SAYS_FETCHING;
    if (nl_str_contains(name, "start_trace"))
        says |= SAYS_PROFILER;
    return says;
}

static bool name_says(struct division *division, uint32_t name, uint8_t what)
{
    uint8_t *says = &division->says[name];
    if (!*says)
        *says = search(nl_trace_name(division->trace, name));
    return (*says & what) != 0;
}

/* What a piece of idle time is, by what the thread did and for how long in one go. */
static enum nl_time_what kind_of(struct division *division, unsigned activity, uint32_t name,
                                 bool is_long)
{
    if (name && name_says(division, name, SAYS_FETCHING))
        return NL_TIME_INPUT;
    switch (activity) {
    case NL_DID_NOTHING: return is_long ? NL_TIME_NOTHING : NL_TIME_DISPATCH;
    case NL_DID_OP:
    case NL_DID_PYTHON:
    case NL_DID_LAYER:
    case NL_DID_RANGE:
    case NL_DID_OTHER: return is_long ? NL_TIME_HOST : NL_TIME_DISPATCH;
    case NL_DID_LAUNCH:
    case NL_DID_COPY:
    case NL_DID_API:
    case NL_DID_OVERHEAD: return is_long ? NL_TIME_FIRST : NL_TIME_DISPATCH;
    case NL_DID_ALLOCATE:
    case NL_DID_MODULE:
    case NL_DID_GRAPH_BUILD:
    case NL_DID_COMPILE: return NL_TIME_FIRST;
    case NL_DID_SYNC: return NL_TIME_SYNC;
    case NL_DID_QUEUED: return NL_TIME_QUEUED;
    case NL_DID_UNKNOWN: return NL_TIME_UNKNOWN;
    default: return NL_TIME_HOST;
    }
}

/* Operator around the launch of device work: the outermost that began since `since`, else the innermost;
 * dictionary id, 0 none. */
static uint32_t operator_of(struct division *division, uint32_t work, int64_t since)
{
    const struct nl_trace *trace = division->trace;
    const struct nl_owners *owners = nl_memo_owners(division->memo);
    if (!nl_rangetree_any(trace, NL_KIND_OP))
        return 0;
    const struct nl_memo_ranges *ops = nl_memo_ranges(division->memo, NL_KIND_OP);
    uint32_t low = NL_FIRST(i, 0, owners->count, owners->work[i] >= work);
    if (low == owners->count || owners->work[low] != work || ops->owner[low] == NL_NULL_ROW)
        return 0;
    uint32_t at = ops->owner[low];
    while (ops->tree.parents[at] != NL_NULL_ROW &&
           trace->slice.ts[ops->tree.slices[ops->tree.parents[at]]] >= since)
        at = ops->tree.parents[at];
    return trace->slice.name[ops->tree.slices[at]];
}

/* Takes what is long out of its sum. */
static void regard_gaps(struct division *division)
{
    struct nl_time_parts *parts = division->parts;
    const struct nl_idle_gap *gaps = division->idle->gaps + division->device->first_gap;
    for (size_t i = 0; i < division->device->gaps; i++) {
        const struct nl_idle_gap *gap = &gaps[i];
        if (gap->end - gap->start > parts->longest_gap) {
            parts->longest_gap = gap->end - gap->start;
            parts->longest_start = gap->start;
            parts->gap_after = nl_keep_kernel(
                division->judged,
                nl_trace_name(division->trace, division->trace->slice.name[gap->before]));
            parts->gap_before = nl_keep_kernel(
                division->judged,
                nl_trace_name(division->trace, division->trace->slice.name[gap->after]));
        }
        if (gap->activity_ns < LONG_NS)
            continue;
        enum nl_time_what was = kind_of(division, gap->activity, gap->name, false);
        enum nl_time_what is = kind_of(division, gap->activity, gap->name, true);
        if (is == NL_TIME_NOTHING && gap->activity_ns > parts->largest_nothing) {
            parts->largest_nothing = gap->activity_ns;
            division->nothing_after = gap->after;
        }
        if (is != was)
            add(division, was, gap->name, 0, -gap->activity_ns, (uint64_t)-1);
        if (is != was || is == NL_TIME_FIRST || is == NL_TIME_HOST || is == NL_TIME_NOTHING) {
            uint32_t inside = operator_of(division, gap->after, INT64_MAX);
            add(division, is, gap->name, inside, is != was ? gap->activity_ns : 0, is != was);
        }
    }
}

static void divide_idle(struct division *division)
{
    for (size_t i = 0; i < division->device->sums; i++) {
        const struct nl_idle_sum *sum = &division->idle->sums[division->device->first_sum + i];
        enum nl_time_what what = kind_of(division, sum->activity, sum->name, false);
        if (sum->class == NL_IDLE_SHORT)
            what = NL_TIME_QUEUED;
        add(division, what, sum->name, 0, sum->total_ns, sum->gaps);
    }
    regard_gaps(division);
    if (division->parts->largest_nothing) {
        uint32_t op =
            operator_of(division, division->nothing_after, division->parts->longest_start);
        division->parts->nothing_ended_by =
            op ? nl_keep_name(division->judged, nl_trace_name(division->trace, op)) : NULL;
    }
}

/* ---- before and after the device's work ---- */

static bool feeds(unsigned kind)
{
    return kind == NL_KIND_API || kind == NL_KIND_OP || kind == NL_KIND_NVTX ||
           kind == NL_KIND_PYTHON || kind == NL_KIND_LAYER || kind == NL_KIND_COMPILE ||
           kind == NL_KIND_GENERIC;
}

/* First and last moment of what a thread recorded, without system calls and the profiler's own. */
static bool thread_span(struct division *division, uint32_t thread, int64_t *start, int64_t *end)
{
    const struct nl_trace *trace = division->trace;
    bool any = false;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.thread[lane] != thread)
            continue;
        uint32_t row = trace->lane.first[lane], stop = row + trace->lane.count[lane];
        for (; row < stop && trace->slice.depth[row] == 0; row++) {
            if (!feeds(trace->slice.kind[row]) ||
                name_says(division, trace->slice.name[row], SAYS_PROFILER))
                continue;
            int64_t from = trace->slice.ts[row], to = nl_slice_end(trace, row);
            *start = any && *start < from ? *start : from;
            *end = any && *end > to ? *end : to;
            any = true;
        }
    }
    return any;
}

static enum nl_time_what before_kind(struct division *division, uint32_t slice)
{
    const struct nl_trace *trace = division->trace;
    if (slice == NL_NULL_ROW)
        return NL_TIME_NOTHING;
    if (name_says(division, trace->slice.name[slice], SAYS_FETCHING))
        return NL_TIME_INPUT;
    return NL_TIME_FIRST;
}

/* Everything the thread did before it launched the first work: setting up. */
static void divide_before(struct division *division, uint32_t thread, int64_t start, int64_t end)
{
    const struct nl_trace *trace = division->trace;
    struct nl_host host;
    nl_host_init(&host, trace);
    int64_t now = start, until;
    for (size_t steps = 0; now < end && steps < MOST_WALK; steps++) {
        uint32_t slice = nl_host_at(&host, thread, now, &until);
        until = until < end ? until : end;
        enum nl_time_what what = before_kind(division, slice);
        if (slice != NL_NULL_ROW && trace->slice.kind[slice] == NL_KIND_OVERHEAD)
            what = NL_TIME_FIRST;
        uint32_t inside = 0;
        if (slice != NL_NULL_ROW && trace->slice.parent[slice] != NL_NULL_ROW)
            inside = trace->slice.name[trace->slice.parent[slice]];
        add(division, what, slice == NL_NULL_ROW ? 0 : trace->slice.name[slice], inside,
            until - now, 1);
        now = until;
    }
    if (now < end)
        add(division, NL_TIME_FIRST, 0, 0, end - now, 1);
    nl_host_release(&host);
}

/* The launch of the device's first known work, NL_NULL_ROW unknown. */
static uint32_t first_launch(const struct division *division, int64_t first)
{
    const struct nl_trace *trace = division->trace;
    const struct nl_owners *owners = nl_memo_owners(division->memo);
    for (uint32_t i = 0; i < owners->count; i++)
        if (trace->slice.ts[owners->work[i]] == first &&
            nl_slice_device(trace, owners->work[i]) == division->device->device)
            return owners->launch[i];
    return NL_NULL_ROW;
}

/* The thread that launched it most recently known: of any work of the device when the first is not known. */
static void regard_thread(struct division *division, int64_t first, int64_t last)
{
    const struct nl_trace *trace = division->trace;
    struct nl_time_parts *parts = division->parts;
    uint32_t launch = first_launch(division, first);
    parts->start = first;
    parts->end = last;
    if (launch == NL_NULL_ROW || division->window->has_time)
        return;
    uint32_t thread = trace->lane.thread[trace->slice.lane[launch]];
    int64_t start = first, end = last, launched = nl_slice_end(trace, launch);
    launched = launched < first ? launched : first;
    if (thread == NL_NULL_ROW || !thread_span(division, thread, &start, &end))
        return;
    if (start < launched && launched <= first) {
        parts->start = start;
        divide_before(division, thread, start, launched);
        parts->queued = first - launched;
        parts->before = launched - start;
    }
    if (end > last) {
        parts->end = end;
        parts->after = end - last;
        add(division, NL_TIME_HOST, 0, 0, end - last, 1);
    }
}

/* ---- names ---- */

static int by_time(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void name_parts(struct division *division)
{
    if (division->count)
        qsort(division->tallies, division->count, sizeof *division->tallies, by_time);
    for (size_t i = 0; i < division->count; i++) {
        const struct tally *tally = &division->tallies[i];
        struct nl_time_name *names = division->parts->parts[tally->what].names;
        size_t place = 0;
        while (place < NL_TIME_NAMES && names[place].ns)
            place++;
        if (place == NL_TIME_NAMES || tally->ns <= 0 || !tally->name)
            continue;
        struct nl_str name = nl_trace_name(division->trace, tally->name);
        names[place] = (struct nl_time_name){
            .name = nl_keep_name(division->judged, nl_gap_fold(name)),
            .inside = tally->inside && tally->inside != tally->name
                          ? nl_keep_name(division->judged,
                                         nl_gap_fold(nl_trace_name(division->trace, tally->inside)))
                          : NULL,
            .ns = tally->ns,
            .count = tally->count};
    }
}

static const struct nl_idle_device *same_device(const struct nl_idle *idle,
                                                const struct nl_device_breakdown *row)
{
    for (size_t i = 0; i < idle->device_count; i++)
        if (idle->devices[i].device == row->device && idle->devices[i].rank == row->rank)
            return &idle->devices[i];
    return NULL;
}

/* The device with most of the time at work, the earlier of equals; one of those whose work lies in less than half
 * the time of the others' tells more: they were recorded in windows of their own. */
static size_t busiest(const struct nl_device_breakdown *rows, size_t count)
{
    size_t best = 0, dense;
    for (size_t i = 1; i < count; i++)
        if (rows[i].wall_ns - rows[i].idle_ns > rows[best].wall_ns - rows[best].idle_ns)
            best = i;
    int64_t most = rows[best].wall_ns - rows[best].idle_ns;
    dense = best;
    for (size_t i = 0; i < count; i++)
        if (rows[i].wall_ns - rows[i].idle_ns >= most - most / 10 &&
            rows[i].wall_ns < rows[dense].wall_ns / 2)
            dense = i;
    return dense;
}

/* Whether less than a tenth of the device's kernels begin before its longest gap. */
static bool is_early(const struct division *division)
{
    const struct nl_trace *trace = division->trace;
    uint64_t before = 0, all = 0;
    for (uint32_t i = 0; i < trace->kernel.rows; i++) {
        uint32_t slice = trace->kernel.slice[i];
        if (slice == NL_NULL_ROW || nl_slice_device(trace, slice) != division->device->device)
            continue;
        all++;
        before += trace->slice.ts[slice] < division->parts->longest_start;
    }
    return before < all / 10;
}

static void divide(struct division *division, const struct nl_device_breakdown *row)
{
    struct nl_time_parts *parts = division->parts;
    struct tally tallies[MOST_NAMES];
    division->tallies = tallies;
    parts->parts[NL_TIME_COMPUTE].ns = row->compute_ns;
    parts->parts[NL_TIME_COMM].ns = row->exposed_comm_ns;
    parts->parts[NL_TIME_COPY].ns = row->exposed_copy_ns;
    divide_idle(division);
    regard_thread(division, row->start_ns, row->start_ns + row->wall_ns);
    parts->total = parts->end - parts->start - parts->queued;
    parts->early_nothing = is_early(division);
    name_parts(division);
}

bool nl_time_parts(struct nl_judged *judged, struct nl_time_parts *parts)
{
    size_t count;
    struct nl_memo *memo = judged->options->memo;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(memo, &count);
    *parts = (struct nl_time_parts){0};
    if (!count || rows[0].laid_out)
        return false;
    parts->device = busiest(rows, count);
    struct division division = {.judged = judged,
                                .parts = parts,
                                .trace = judged->trace,
                                .window = &judged->options->window,
                                .idle = nl_memo_idle(memo),
                                .memo = memo};
    division.device = same_device(division.idle, &rows[parts->device]);
    if (!division.device || rows[parts->device].wall_ns <= 0)
        return false;
    division.says = nl_zalloc((size_t)division.trace->names.count + 1);
    divide(&division, &rows[parts->device]);
    nl_free(division.says);
    return true;
}

/* Gaps of the window; what is left of its idle time are the short ones. */
static int64_t divide_gaps(struct division *division, int64_t start, int64_t end)
{
    const struct nl_idle_gap *gaps = division->idle->gaps + division->device->first_gap;
    int64_t divided = 0;
    for (size_t i = 0; i < division->device->gaps; i++) {
        int64_t from = gaps[i].start > start ? gaps[i].start : start;
        int64_t to = gaps[i].end < end ? gaps[i].end : end;
        if (from >= to)
            continue;
        bool is_long = gaps[i].activity_ns >= LONG_NS;
        enum nl_time_what what = kind_of(division, gaps[i].activity, gaps[i].name, is_long);
        add(division, what, gaps[i].name, 0, to - from, 1);
        divided += to - from;
    }
    return divided;
}

void nl_time_parts_within(struct nl_judged *judged, struct nl_time_parts *parts, int64_t start,
                          int64_t end, const int64_t busy[3])
{
    size_t count;
    struct nl_memo *memo = judged->options->memo;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(memo, &count);
    struct tally tallies[MOST_NAMES];
    struct division division = {.judged = judged,
                                .parts = parts,
                                .trace = judged->trace,
                                .window = &judged->options->window,
                                .idle = nl_memo_idle(memo),
                                .memo = memo,
                                .tallies = tallies};
    division.device = same_device(division.idle, &rows[parts->device]);
    division.says = nl_zalloc((size_t)division.trace->names.count + 1);
    memset(parts->parts, 0, sizeof parts->parts);
    parts->start = start;
    parts->end = end;
    parts->total = end - start;
    parts->before = parts->after = parts->queued = 0;
    for (size_t i = 0; i < 3; i++)
        parts->parts[NL_TIME_COMPUTE + i].ns = busy[i];
    int64_t idle = parts->total - busy[0] - busy[1] - busy[2];
    int64_t rest = idle - divide_gaps(&division, start, end);
    if (rest > 0)
        add(&division, NL_TIME_QUEUED, 0, 0, rest, 1);
    name_parts(&division);
    nl_free(division.says);
}
