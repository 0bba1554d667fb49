/*
 * timeparts — see timeparts.h. Rows of the account are sorted into kinds and names; nothing is
 * divided here. What else an answer says, the longest gap and what is on either side of it, comes
 * from the table of idle time.
 */
#include "answer/timeparts.h"

#include <stdlib.h>
#include <string.h>

#include "answer/heldtime.h"
#include "base/search.h"
#include "base/sum.h"
#include "tables/gaptext.h"
#include "tables/memo.h"

#define MAX_NAMES  512
#define ALL_PHASES NL_PHASES

/* Time per name of one kind of time. */
struct tally {
    uint8_t what;
    uint32_t name, inside; /* ids of the account */
    int64_t inside_ns;     /* most of one row */
    int64_t ns;
    uint64_t count;
};

struct division {
    struct nl_judged *judged;
    struct nl_time_parts *parts;
    const struct nl_trace *trace;
    const struct nl_account *account;
    const struct nl_account_device *device;
    const struct nl_idle *idle;
    const struct nl_idle_device *gaps;
    struct nl_memo *memo;
    struct tally *tallies; /* NULL: sums alone */
    size_t count;
    uint8_t *says; /* per name: what was found in it, so that each is searched once */
    uint32_t ending_name;
    int64_t ending_most;
};

static void add_time(struct division *division, enum nl_time_what what,
                     const struct nl_account_row *row, int64_t ns, uint64_t count)
{
    if (!ns)
        return;
    nl_sum_add(&division->parts->parts[what].ns, ns);
    nl_sum_add(&division->parts->total, ns);
    if (!division->tallies)
        return;
    size_t i = 0;
    while (i < division->count &&
           (division->tallies[i].what != what || division->tallies[i].name != row->name))
        i++;
    if (i == MAX_NAMES || row->name == NL_NO_NAME)
        return;
    if (i == division->count) {
        division->count++;
        division->tallies[i] = (struct tally){.what = (uint8_t)what, .name = row->name};
    }
    struct tally *tally = &division->tallies[i];
    nl_sum_add(&tally->ns, ns);
    tally->count += count;
    if (ns > tally->inside_ns) {
        tally->inside_ns = ns;
        tally->inside = row->op != NL_NO_NAME ? row->op : row->module_or_range;
    }
}

enum { SAYS_ASKED = 1, SAYS_FETCHING = 2 };

static uint8_t search(struct nl_str name)
{
    static const char *const marks[] = {
        "DataLoader", "dataloader", "data_load", "_next_data", "next_batch", "fetch_batch",
        "get_batch", "IteratorGetNext",
        /* what prepares samples, by the files of the usual libraries */
        "image_transforms", "image_processing", "feature_extraction", "torchvision/transforms",
        "albumentations", "collate_fn", "/collate.py", "read_video", "imread", "): preprocess"};
    uint8_t says = SAYS_ASKED;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (nl_str_contains(name, marks[i]))
            says |= SAYS_FETCHING;
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
static enum nl_time_what idle_time_kind(struct division *division, unsigned activity, uint32_t name,
                                        bool is_long)
{
    if (name && name_says(division, name, SAYS_FETCHING))
        return NL_TIME_INPUT;
    switch (activity) {
    case NL_ACTIVITY_NOTHING: return is_long ? NL_TIME_NOTHING : NL_TIME_DISPATCH;
    case NL_ACTIVITY_OP:
    case NL_ACTIVITY_PYTHON:
    case NL_ACTIVITY_LAYER:
    case NL_ACTIVITY_RANGE:
    case NL_ACTIVITY_OTHER: return is_long ? NL_TIME_HOST : NL_TIME_DISPATCH;
    case NL_ACTIVITY_LAUNCH:
    case NL_ACTIVITY_COPY:
    case NL_ACTIVITY_API:
    case NL_ACTIVITY_OVERHEAD: return is_long ? NL_TIME_FIRST : NL_TIME_DISPATCH;
    case NL_ACTIVITY_ALLOCATE: return is_long ? NL_TIME_FIRST : NL_TIME_DISPATCH;
    case NL_ACTIVITY_MODULE:
    case NL_ACTIVITY_GRAPH_BUILD:
    case NL_ACTIVITY_COMPILE: return NL_TIME_FIRST;
    case NL_ACTIVITY_SYNC: return NL_TIME_SYNC;
    case NL_ACTIVITY_QUEUED: return is_long ? NL_TIME_HELD : NL_TIME_QUEUED;
    case NL_ACTIVITY_UNKNOWN: return NL_TIME_UNKNOWN;
    default: return NL_TIME_HOST;
    }
}

/* ---- rows of the account ---- */

static void add_idle(struct division *division, const struct nl_account_row *row)
{
    bool is_short = row->class == NL_IDLE_SHORT;
    enum nl_time_what what =
        is_short ? NL_TIME_QUEUED : idle_time_kind(division, row->activity, row->name, false);
    enum nl_time_what pause = idle_time_kind(division, row->activity, row->name, true);
    uint64_t pauses = row->long_count < row->count ? row->long_count : row->count;
    add_time(division, what, row, row->ns - row->long_ns, row->count - pauses);
    add_time(division, pause, row, row->long_ns, pauses);
    nl_sum_add(&division->parts->idle, row->ns);
    if (row->activity == NL_ACTIVITY_COPY)
        nl_sum_add(&division->parts->idle_copying, row->ns);
    if (row->activity == NL_ACTIVITY_NOTHING)
        nl_sum_add(&division->parts->nothing_long, row->long_ns);
}

/* Inside a marked step that is neither the first nor an outlier, the program's
 * own functions are its work. */
static bool is_own_work(const struct nl_account_row *row)
{
    return row->phase == NL_STEADY &&
           (row->activity == NL_ACTIVITY_OP || row->activity == NL_ACTIVITY_PYTHON ||
            row->activity == NL_ACTIVITY_RANGE || row->activity == NL_ACTIVITY_OTHER ||
            row->activity == NL_ACTIVITY_FUNCTION);
}

/* Functions and operators, whatever they do; calls of the runtime, compilers
 * and loaders set things up. */
static bool is_program(const struct nl_account_row *row)
{
    return row->activity == NL_ACTIVITY_OP || row->activity == NL_ACTIVITY_PYTHON ||
           row->activity == NL_ACTIVITY_LAYER || row->activity == NL_ACTIVITY_RANGE ||
           row->activity == NL_ACTIVITY_FUNCTION || row->activity == NL_ACTIVITY_OTHER ||
           row->activity == NL_ACTIVITY_GC;
}

/* What the thread did before it launched the first work: setting up, or what a step begins with. */
static void add_before(struct division *division, const struct nl_account_row *row)
{
    enum nl_time_what what = NL_TIME_FIRST;
    if (row->activity == NL_ACTIVITY_NOTHING || row->activity == NL_ACTIVITY_UNKNOWN)
        what = NL_TIME_NOTHING;
    else if (row->name != NL_NO_NAME && name_says(division, row->name, SAYS_FETCHING))
        what = NL_TIME_INPUT;
    else if (is_own_work(row) && division->device->steps[NL_STEADY])
        what = NL_TIME_HOST;
    add_time(division, what, row, row->ns, row->count);
    nl_sum_add(&division->parts->before, row->ns);
    if (what == NL_TIME_FIRST && is_program(row))
        nl_sum_add(&division->parts->work_before, row->ns);
    if (what == NL_TIME_INPUT)
        nl_sum_add(&division->parts->input_early, row->ns);
    if (what == NL_TIME_HOST || what == NL_TIME_INPUT)
        nl_sum_add(&division->parts->before_own, row->ns);
    if (what == NL_TIME_NOTHING && !division->device->steps[NL_STEADY])
        nl_sum_add(&division->parts->nothing_before, row->ns);
}

/* Freeing, unloading and what the profiler writes: the program ends, and nothing waits for the
 * device's next work. */
static bool is_ending(const struct nl_account_row *row)
{
    return row->activity == NL_ACTIVITY_ALLOCATE || row->activity == NL_ACTIVITY_MODULE ||
           row->activity == NL_ACTIVITY_OVERHEAD;
}

static void add_after(struct division *division, const struct nl_account_row *row)
{
    struct nl_time_parts *parts = division->parts;
    if (row->activity == NL_ACTIVITY_NOTHING || row->activity == NL_ACTIVITY_UNKNOWN)
        return;
    if (is_ending(row)) {
        if (row->ns > division->ending_most && row->name != NL_NO_NAME) {
            division->ending_most = row->ns;
            division->ending_name = row->name;
        }
        nl_sum_add(&parts->ending, row->ns);
        return;
    }
    add_time(division, NL_TIME_HOST, row, row->ns, row->count);
    nl_sum_add(&parts->after, row->ns);
}

static void add_account_ns(struct division *division, const struct nl_account_row *row)
{
    switch ((enum nl_account_part)row->part) {
    case NL_BOOKED_COMPUTE: add_time(division, NL_TIME_COMPUTE, row, row->ns, row->count); return;
    case NL_BOOKED_COMM_WAIT:
    case NL_BOOKED_COMM_TRANSFER:
    case NL_BOOKED_COMM: add_time(division, NL_TIME_COMM, row, row->ns, row->count); return;
    case NL_BOOKED_COPY:
    case NL_BOOKED_MEMSET:
    case NL_BOOKED_MIGRATION: add_time(division, NL_TIME_COPY, row, row->ns, row->count); return;
    case NL_BOOKED_IDLE: add_idle(division, row); return;
    case NL_BOOKED_BEFORE:
        if (!row->not_program && row->activity != NL_ACTIVITY_QUEUED)
            add_before(division, row);
        return;
    case NL_BOOKED_AFTER:
        if (!row->not_program)
            add_after(division, row);
        return;
    case NL_BOOKED_PARTS: break;
    }
}

/* Operator around the launch of device work: the outermost that began since `since`, else the
 * innermost; dictionary id, 0 none. */
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

/* The longest gap, and the longest of those in which nothing was recorded. */
static void regard_gaps(struct division *division)
{
    struct nl_time_parts *parts = division->parts;
    const struct nl_trace *trace = division->trace;
    const struct nl_idle_gap *longest = NULL, *nothing = NULL;
    const struct nl_idle_gap *gap = division->idle->gaps + division->gaps->first_gap;
    for (size_t i = 0; i < division->gaps->gaps; i++, gap++) {
        if (!longest || gap->end - gap->start > longest->end - longest->start)
            longest = gap;
        if (gap->activity == NL_ACTIVITY_NOTHING && gap->activity_ns >= NL_ACCOUNT_LONG_NS &&
            (!nothing || gap->activity_ns > nothing->activity_ns))
            nothing = gap;
    }
    if (!longest)
        return;
    parts->longest_gap = longest->end - longest->start;
    parts->longest_start = longest->start;
    parts->gap_before =
        nl_keep_kernel(division->judged, nl_trace_name(trace, trace->slice.name[longest->after]));
    if (!nothing)
        return;
    parts->largest_nothing = nothing->activity_ns;
    uint32_t op = operator_of(division, nothing->after, longest->start);
    parts->nothing_ended_by = op ? nl_keep_name(division->judged, nl_trace_name(trace, op)) : NULL;
}

/* ---- names ---- */

static int by_time(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* As the account names it, so that findings say the same; the star of a number at the end goes with
 * what leads to it: "nn.Module: Linear", "IO". */
const char *nl_time_name(struct nl_judged *judged, uint32_t name)
{
    const struct nl_account *account = nl_memo_account(judged->options->memo);
    struct nl_str text = nl_gap_fold(nl_account_name(account, name));
    if (text.len > 2 && text.ptr[text.len - 1] == '*' && strchr("_# ", text.ptr[text.len - 2]) &&
        text.ptr[text.len - 3] != ':')
        text.len -= 2;
    return nl_keep_name(judged, text);
}

static const char *keep_name(struct division *division, uint32_t name)
{
    return nl_time_name(division->judged, name);
}

static const char *keep_kernel(struct division *division, uint32_t name)
{
    return nl_keep_kernel(division->judged, nl_trace_name(division->trace, name));
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
        bool computes = tally->what == NL_TIME_COMPUTE;
        if (place == NL_TIME_NAMES || (tally->what < NL_TIME_DISPATCH && !computes))
            continue;
        bool inside = tally->inside != NL_NO_NAME && tally->inside != tally->name;
        names[place] =
            (struct nl_time_name){.name = computes ? keep_kernel(division, tally->name)
                                                   : keep_name(division, tally->name),
                                  .inside = inside ? keep_name(division, tally->inside) : NULL,
                                  .ns = tally->ns,
                                  .inside_ns = inside ? tally->inside_ns : 0,
                                  .count = tally->count};
    }
}

/* ---- the device ---- */

static const struct nl_idle_device *gaps_of(const struct nl_idle *idle,
                                            const struct nl_device_breakdown *row)
{
    for (size_t i = 0; i < idle->device_count; i++)
        if (idle->devices[i].device == row->device && idle->devices[i].rank == row->rank)
            return &idle->devices[i];
    return NULL;
}

static const struct nl_account_device *device_of(const struct nl_account *account,
                                                 const struct nl_device_breakdown *row)
{
    for (size_t i = 0; i < account->device_count; i++)
        if (account->devices[i].device == row->device && account->devices[i].rank == row->rank &&
            account->devices[i].work_start != INT64_MIN)
            return &account->devices[i];
    return NULL;
}

/* Whether less than a tenth of the device's kernels begin before its longest gap. */
static bool is_early(const struct division *division)
{
    const struct nl_trace *trace = division->trace;
    uint64_t before = 0, all = 0;
    for (uint32_t i = 0; i < trace->kernel.rows; i++) {
        uint32_t slice = trace->kernel.slice[i];
        if (slice == NL_NULL_ROW || nl_slice_device(trace, slice) != division->gaps->device)
            continue;
        all++;
        before += trace->slice.ts[slice] < division->parts->longest_start;
    }
    return before < all / 10;
}

/* Time before the device's first work inside functions that fetch or prepare
 * input, with what they call. */
static int64_t fetching_before(struct division *division)
{
    const struct nl_trace *trace = division->trace;
    const struct nl_account_device *device = division->device;
    /* one thread has several lanes: what they say at one time counts once */
    struct nl_intervals set;
    if (device->feeder == NL_NULL_ROW || device->work_start <= device->start)
        return 0;
    nl_intervals_init(&set);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.thread[lane] != device->feeder || trace->lane.kind[lane] == NL_LANE_ASYNC)
            continue;
        uint32_t row = trace->lane.first[lane], end = row + trace->lane.count[lane];
        for (; row < end; row++) { /* by depth, then by start */
            int64_t start = trace->slice.ts[row], stop = nl_slice_end(trace, row);
            if (start >= device->work_start || stop <= device->start ||
                !name_says(division, trace->slice.name[row], SAYS_FETCHING))
                continue;
            nl_intervals_add(&set, start > device->start ? start : device->start,
                             stop < device->work_start ? stop : device->work_start);
        }
    }
    nl_intervals_normalise(&set);
    int64_t sum = nl_intervals_length(&set);
    nl_intervals_release(&set);
    return sum < division->parts->before ? sum : division->parts->before;
}

static void add_rows(struct division *division, unsigned phase)
{
    for (size_t i = 0; i < division->device->rows; i++) {
        const struct nl_account_row *row =
            &division->account->rows[division->device->first_row + i];
        if (phase == ALL_PHASES || row->phase == phase)
            add_account_ns(division, row);
    }
}

/* Adds up the rows of one phase, or of all. */
static void sort_rows(struct division *division, unsigned phase)
{
    struct nl_time_parts *parts = division->parts;
    struct tally tallies[MAX_NAMES];
    division->tallies = tallies;
    division->count = 0;
    memset(parts->parts, 0, sizeof parts->parts);
    parts->idle = parts->idle_copying = 0;
    parts->total = parts->input_early = parts->before_own = parts->before = parts->after =
        parts->nothing_before = parts->nothing_long = parts->ending = parts->held_blocked = 0;
    division->ending_most = 0;
    division->says = nl_zalloc((size_t)division->trace->names.count + 1);
    add_rows(division, phase);
    name_parts(division);
    parts->ending_in = division->ending_most ? keep_name(division, division->ending_name) : NULL;
    parts->input_before = phase == ALL_PHASES || parts->before ? fetching_before(division) : 0;
    nl_free(division->says);
    if (parts->parts[NL_TIME_HELD].ns)
        nl_held_calls(division->judged, division->idle, division->gaps, division->device,
                      (enum nl_phase)phase, &parts->held_blocked, parts->parts[NL_TIME_HELD].names);
}

static bool set_up_division(struct division *division, struct nl_judged *judged,
                            struct nl_time_parts *parts, const struct nl_device_breakdown *row)
{
    struct nl_memo *memo = judged->options->memo;
    *division = (struct division){.judged = judged,
                                  .parts = parts,
                                  .trace = judged->trace,
                                  .account = nl_memo_account(memo),
                                  .idle = nl_memo_idle(memo),
                                  .memo = memo};
    division->device = device_of(division->account, row);
    division->gaps = gaps_of(division->idle, row);
    return division->device && division->gaps;
}

bool nl_time_parts(struct nl_judged *judged, size_t device, struct nl_time_parts *parts)
{
    size_t count;
    struct division division;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(judged->options->memo, &count);
    *parts = (struct nl_time_parts){0};
    if (!count || rows[0].starts_unknown)
        return false;
    parts->device = device == NL_TIME_BUSIEST ? nl_breakdown_busiest(rows, count) : device;
    if (rows[parts->device].wall_ns <= 0 ||
        !set_up_division(&division, judged, parts, &rows[parts->device]))
        return false;
    parts->account = division.device;
    sort_rows(&division, ALL_PHASES);
    regard_gaps(&division);
    parts->early_nothing = is_early(&division);
    return true;
}

bool nl_time_sums(struct nl_judged *judged, size_t device, enum nl_phase phase,
                  struct nl_time_parts *parts)
{
    size_t count;
    struct division division;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(judged->options->memo, &count);
    *parts = (struct nl_time_parts){.device = device};
    if (!set_up_division(&division, judged, parts, &rows[device]))
        return false;
    parts->account = division.device;
    division.says = nl_zalloc((size_t)division.trace->names.count + 1);
    add_rows(&division, phase);
    nl_free(division.says);
    return true;
}

void nl_time_parts_within(struct nl_judged *judged, struct nl_time_parts *parts,
                          enum nl_phase phase)
{
    size_t count;
    struct division division;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(judged->options->memo, &count);
    if (set_up_division(&division, judged, parts, &rows[parts->device]))
        sort_rows(&division, phase);
}
