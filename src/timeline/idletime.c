/*
 * idletime — see idletime.h. Three parts: the gaps of a device in one pass over its work
 * (worksweep), the class of a gap from the launch of its owner, and the division of the gap by
 * what the launching thread did. Sums per activity are kept in a small hash table per device; a
 * gap first adds up in the entries it touches, because its own largest share and the longest
 * examples are wanted too.
 */
#include "timeline/idletime.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/feeder.h"
#include "timeline/idleclass.h"
#include "timeline/worksweep.h"

static const char *const class_names[NL_IDLE_CLASSES] = {
    [NL_IDLE_HOST_LATE] = "host_late",
    [NL_IDLE_DEPENDENCY] = "dependency",
    [NL_IDLE_LAUNCH_LATENCY] = "launch_latency",
    [NL_IDLE_QUEUED] = "queued",
    [NL_IDLE_UNKNOWN] = "unknown",
    [NL_IDLE_SHORT] = "short",
};

struct finder {
    const struct nl_trace *trace;
    struct nl_idle *idle;
    struct nl_hostdid host;
    struct nl_idle_rule rule;
    const struct nl_idle_sink *sink; /* or NULL */
    struct nl_lanes_of lanes_of;
    /* Of the device at hand. */
    struct nl_idle_device *device;
    const struct nl_work_lane *lanes;
    size_t lane_count;
    uint32_t feeder;      /* thread that launches most of its work; NL_NULL_ROW unknown */
    bool fed;             /* feeder was looked for */
    uint32_t first, last; /* its work that begins first and that ends last */
    int64_t hidden_start, hidden_end; /* of the gap at hand, what running ahead would have hidden */
    struct nl_lookup sums;            /* of the device */
    size_t *name_sum;                 /* per name: the sum it was last added to */
    size_t unnamed_sum[NL_IDLE_CLASSES][NL_ACTIVITY_COUNT];
    size_t *touched; /* sums the gap at hand adds to */
    int64_t *touched_ns;
    size_t touched_count, touched_cap, touched_ns_cap;
};

const char *nl_idle_class_name(enum nl_idle_class class)
{
    return class_names[class];
}

int64_t nl_idle_sync_cost(const struct nl_trace *trace, const struct nl_idle_gap *gap)
{
    if (gap->sync == NL_NULL_ROW)
        return 0;
    int64_t returned = nl_slice_end(trace, gap->sync);
    int64_t from = returned > gap->start ? returned : gap->start;
    return gap->end > from ? gap->end - from : 0;
}

/* ---- Sums by activity ---- */

const char *nl_idle_thread_name(uint8_t activity, bool elsewhere)
{
    if (activity == NL_ACTIVITY_QUEUED || activity == NL_ACTIVITY_UNKNOWN)
        return NULL;
    return elsewhere ? "other" : "launching";
}

static uint64_t sum_hash(uint8_t class, struct nl_did did)
{
    uint64_t key = (uint64_t)did.name << 17 | (uint64_t)did.elsewhere << 16 |
                   (uint64_t) class << 8 | did.activity;
    return nl_hash_number(key);
}

static bool is_sum(const struct nl_idle_sum *sum, uint8_t class, struct nl_did did)
{
    return sum->class == class && sum->activity == did.activity && sum->name == did.name &&
           sum->elsewhere == did.elsewhere;
}

static size_t find_sum(struct finder *finder, uint8_t class, struct nl_did did)
{
    struct nl_idle *idle = finder->idle;
    uint64_t hash = sum_hash(class, did);
    uint32_t found = NL_LOOKUP(&finder->sums, hash, i, is_sum(&idle->sums[i], class, did));
    if (found != NL_NO_ROW)
        return found;
    nl_grow(&idle->sums, &idle->sum_cap, idle->sum_count + 1);
    size_t index = idle->sum_count++;
    idle->sums[index] = (struct nl_idle_sum){.class = class,
                                             .activity = did.activity,
                                             .elsewhere = did.elsewhere,
                                             .name = did.name,
                                             .longest = {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    nl_lookup_add(&finder->sums, hash, (uint32_t)index);
    return index;
}

/* A name, or an activity without one, mostly belongs to the sum it belonged to last. */
static size_t sum_for(struct finder *finder, uint8_t class, struct nl_did did)
{
    size_t *known = did.name == NL_NO_NAME ? &finder->unnamed_sum[class][did.activity]
                                           : &finder->name_sum[did.name];
    if (*known < finder->device->first_sum || *known >= finder->idle->sum_count ||
        !is_sum(&finder->idle->sums[*known], class, did))
        *known = find_sum(finder, class, did);
    return *known;
}

static void touch(struct finder *finder, uint8_t class, struct nl_did did, int64_t ns)
{
    size_t sum = sum_for(finder, class, did);
    size_t mark = finder->idle->sums[sum].mark;
    if (mark < finder->touched_count && finder->touched[mark] == sum) {
        nl_sum_add(&finder->touched_ns[mark], ns);
        return;
    }
    finder->idle->sums[sum].mark = finder->touched_count;
    nl_grow(&finder->touched, &finder->touched_cap, finder->touched_count + 1);
    nl_grow(&finder->touched_ns, &finder->touched_ns_cap, finder->touched_count + 1);
    finder->touched[finder->touched_count] = sum;
    finder->touched_ns[finder->touched_count++] = ns;
}

static void keep_longest(struct nl_idle_sum *sum, size_t gap, int64_t ns)
{
    if (sum->longest[2] != SIZE_MAX && sum->longest_ns[2] >= ns)
        return;
    for (size_t i = 0; i < 3; i++) {
        if (sum->longest[i] != SIZE_MAX && sum->longest_ns[i] >= ns)
            continue;
        for (size_t j = 2; j > i; j--) {
            sum->longest[j] = sum->longest[j - 1];
            sum->longest_ns[j] = sum->longest_ns[j - 1];
        }
        sum->longest[i] = gap;
        sum->longest_ns[i] = ns;
        return;
    }
}

/* The gap at hand is divided: its parts go into the sums, the largest names the gap. */
static void book_gap(struct finder *finder, struct nl_idle_gap *gap, size_t number)
{
    for (size_t i = 0; i < finder->touched_count; i++) {
        struct nl_idle_sum *sum = &finder->idle->sums[finder->touched[i]];
        int64_t ns = finder->touched_ns[i];
        sum->gaps++;
        nl_sum_add(&sum->total_ns, ns);
        keep_longest(sum, number, ns);
        if (ns <= gap->activity_ns)
            continue;
        gap->activity_ns = ns;
        gap->activity = sum->activity;
        gap->elsewhere = sum->elsewhere;
        gap->name = sum->name;
    }
    finder->touched_count = 0;
}

/* ---- Why a gap ---- */

/* How long the device worked while the thread sat in the call, which lasted until the gap began.
 * That is how far the thread could have run ahead. */
static int64_t busy_during(const struct finder *finder, uint32_t call, int64_t gap_start)
{
    const struct nl_idle *idle = finder->idle;
    int64_t from = finder->trace->slice.ts[call];
    if (from < finder->device->start_ns)
        from = finder->device->start_ns;
    int64_t busy = gap_start > from ? gap_start - from : 0;
    for (size_t i = idle->gap_count; i-- > finder->device->first_gap;) {
        const struct nl_idle_gap *gap = &idle->gaps[i];
        if (gap->end <= from)
            break;
        busy -= gap->end - (gap->start > from ? gap->start : from);
    }
    return busy > 0 ? busy : 0;
}

/* Hands a part of a gap on, cut where what running ahead would have hidden begins and ends. */
static void pass_gap_on(struct finder *finder, const struct nl_idle_gap *gap, struct nl_did did,
                        int64_t start, int64_t end)
{
    if (!finder->sink)
        return;
    struct nl_idle_segment segment = {
        .gap = gap, .lanes = finder->lanes, .did = did, .wait = NL_NULL_ROW};
    int64_t cuts[] = {finder->hidden_start, finder->hidden_end, end};
    for (size_t i = 0; i < 3 && start < end; i++) {
        int64_t to = cuts[i] < end ? cuts[i] : end;
        if (to <= start)
            continue;
        segment.start = start;
        segment.end = start = to;
        segment.wait = i == 1 ? gap->sync : NL_NULL_ROW;
        finder->sink->add(finder->sink->context, &segment);
    }
}

/* The blocking call that was open when the gap began. */
static void set_sync(struct finder *finder, struct nl_idle_gap *gap, uint32_t slice)
{
    gap->sync = slice;
    int64_t returned = nl_slice_end(finder->trace, slice);
    finder->hidden_start = returned > gap->start ? returned : gap->start;
    finder->hidden_end = finder->hidden_start + busy_during(finder, slice, gap->start);
}

static const struct nl_did queued = {
    .activity = NL_ACTIVITY_QUEUED, .name = NL_NO_NAME, .slice = NL_NULL_ROW, .range = NL_NULL_ROW};

/* Divides a gap by what the thread that feeds the device did, until its launch call returned. */
static void divide(struct finder *finder, struct nl_idle_gap *gap, uint32_t thread,
                   int64_t returned)
{
    const struct nl_trace *trace = finder->trace;
    int64_t now = gap->start, until;
    if (returned > gap->end)
        returned = gap->end;
    while (now < returned) {
        struct nl_did did = nl_hostdid_at(&finder->host, thread, now, &until);
        if (until > returned)
            until = returned;
        if (now == gap->start && gap->class == NL_IDLE_HOST_LATE && nl_is_call(trace, did.slice) &&
            nl_api_slice_blocks(finder->host.roles, trace, did.slice))
            set_sync(finder, gap, did.slice);
        touch(finder, gap->class, did, until - now);
        pass_gap_on(finder, gap, did, now, until);
        now = until;
    }
    if (now < gap->end) {
        touch(finder, gap->class, queued, gap->end - now);
        pass_gap_on(finder, gap, queued, now, gap->end);
    }
}

static const struct nl_did unknown = {.activity = NL_ACTIVITY_UNKNOWN,
                                      .name = NL_NO_NAME,
                                      .slice = NL_NULL_ROW,
                                      .range = NL_NULL_ROW};

static uint32_t feeder_of(struct finder *finder)
{
    if (!finder->fed)
        finder->feeder =
            nl_feeder(finder->trace, &finder->lanes_of, finder->lanes, finder->lane_count);
    finder->fed = true;
    return finder->feeder;
}

/* A gap whose owner's launch was not recorded: what the thread did that launches the rest. */
static void divide_unknown(struct finder *finder, struct nl_idle_gap *gap)
{
    uint32_t feeder = feeder_of(finder);
    if (feeder != NL_NULL_ROW) {
        divide(finder, gap, feeder, gap->end);
        return;
    }
    touch(finder, gap->class, unknown, gap->end - gap->start);
    pass_gap_on(finder, gap, unknown, gap->start, gap->end);
}

static void add_short(struct finder *finder, int64_t start, int64_t end)
{
    if (!finder->sink)
        return;
    const struct nl_idle_segment segment = {
        .lanes = finder->lanes, .did = unknown, .wait = NL_NULL_ROW, .start = start, .end = end};
    finder->sink->add(finder->sink->context, &segment);
}

static enum nl_idle_class add_long(struct finder *finder, const struct nl_idle_gap *found)
{
    struct nl_idle *idle = finder->idle;
    const struct nl_trace *trace = finder->trace;
    nl_grow(&idle->gaps, &idle->gap_cap, idle->gap_count + 1);
    struct nl_idle_gap *gap = &idle->gaps[idle->gap_count];
    *gap = *found;
    finder->hidden_start = finder->hidden_end = gap->end;
    struct nl_idle_gap whole = *found; /* a window may have cut its start off */
    int64_t began = nl_slice_end(trace, found->before);
    whole.start = began < found->start ? began : found->start;
    gap->class = nl_idle_classify(&finder->rule, &whole);
    if (gap->class == NL_IDLE_UNKNOWN)
        divide_unknown(finder, gap);
    else
        divide(finder, gap, trace->lane.thread[trace->slice.lane[gap->launch]],
               nl_slice_end(trace, gap->launch));
    book_gap(finder, gap, idle->gap_count++);
    nl_sum_add(&finder->device->sync_ns, nl_idle_sync_cost(trace, gap));
    return (enum nl_idle_class)gap->class;
}

static void add_gap(struct finder *finder, int64_t start, int64_t end, uint32_t before,
                    uint32_t after)
{
    struct nl_idle_device *device = finder->device;
    enum nl_idle_class class = NL_IDLE_SHORT;
    nl_sum_add(&device->idle_ns, end - start);
    if (end - start >= NL_IDLE_SHORT_NS) {
        uint32_t launch = finder->trace->slice.link[after];
        struct nl_idle_gap gap = {.start = start,
                                  .end = end,
                                  .before = before,
                                  .after = after,
                                  .launch =
                                      nl_is_call(finder->trace, launch) ? launch : NL_NULL_ROW,
                                  .sync = NL_NULL_ROW,
                                  .activity = NL_ACTIVITY_UNKNOWN};
        class = add_long(finder, &gap);
    } else {
        add_short(finder, start, end);
    }
    nl_sum_add(&device->class_ns[class], end - start);
    device->class_count[class]++;
}

/* A gap is where work begins after everything before it has ended; at the edges of a window, where
 * the device had work before and has more after. */
static void find_gaps(struct finder *finder, const struct nl_window *window,
                      const struct nl_work_lane *lanes, size_t count)
{
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    int64_t end = INT64_MIN;
    uint32_t before, after;
    nl_work_beyond(finder->trace, window, lanes, count, &before, &after);
    uint32_t latest = finder->first = before;
    bool found = before != NL_NULL_ROW && after != NL_NULL_ROW;
    if (before != NL_NULL_ROW)
        finder->device->start_ns = end = window->start;
    nl_sweep_open(&sweep, finder->trace, window, lanes, count);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            found = true;
            if (latest == NL_NULL_ROW) {
                finder->device->start_ns = end = batch[i].start;
                finder->first = batch[i].slice;
            } else if (batch[i].start > end) {
                add_gap(finder, end, batch[i].start, latest, batch[i].slice);
            }
            if (latest == NL_NULL_ROW || batch[i].end >= end) {
                end = batch[i].end;
                latest = batch[i].slice;
            }
        }
    nl_sweep_close(&sweep);
    if (!found) {
        finder->first = latest = NL_NULL_ROW;
        finder->device->start_ns = 0;
    } else if (after != NL_NULL_ROW) {
        if (end < window->end)
            add_gap(finder, end, window->end, latest, after);
        end = window->end;
    }
    finder->last = latest;
    if (latest != NL_NULL_ROW)
        finder->device->wall_ns = end - finder->device->start_ns;
}

/* The time of the device's host outside its first and last work: what the thread did that launched
 * the work next to it; the first work is queued from its launch on. */
static void tell_edge(struct finder *finder, enum nl_idle_where where, uint32_t work, int64_t start,
                      int64_t end)
{
    uint32_t launch = finder->trace->slice.link[work];
    uint32_t thread = nl_is_call(finder->trace, launch)
                          ? finder->trace->lane.thread[finder->trace->slice.lane[launch]]
                          : feeder_of(finder);
    struct nl_idle_segment segment = {
        .lanes = finder->lanes, .where = where, .did = unknown, .wait = NL_NULL_ROW};
    int64_t returned = end;
    if (where == NL_IDLE_BEFORE && nl_is_call(finder->trace, launch))
        returned = nl_slice_end(finder->trace, launch);
    for (int64_t until; start < end; start = until) {
        until = end;
        if (start >= returned) {
            segment.did = queued;
        } else if (thread != NL_NULL_ROW) {
            segment.did = nl_hostdid_at(&finder->host, thread, start, &until);
            until = until < returned ? until : returned;
        }
        until = until < end ? until : end;
        segment.start = start;
        segment.end = until;
        finder->sink->add(finder->sink->context, &segment);
    }
}

static void tell_edges(struct finder *finder)
{
    const struct nl_idle_sink *sink = finder->sink;
    int64_t start, end, last = finder->device->start_ns + finder->device->wall_ns;
    if (!sink || !sink->span || finder->first == NL_NULL_ROW)
        return;
    sink->span(sink->context, finder->lanes, finder->lane_count, &start, &end);
    tell_edge(finder, NL_IDLE_BEFORE, finder->first, start, finder->device->start_ns);
    tell_edge(finder, NL_IDLE_AFTER, finder->last, last, end);
}

static int by_total(const void *left, const void *right)
{
    const struct nl_idle_sum *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->activity != b->activity)
        return a->activity < b->activity ? -1 : 1;
    if (a->elsewhere != b->elsewhere)
        return a->elsewhere ? 1 : -1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void find_device(struct finder *finder, const struct nl_window *window,
                        const struct nl_work_lane *lanes, size_t count)
{
    struct nl_idle *idle = finder->idle;
    struct nl_idle_device *device = &idle->devices[idle->device_count];
    struct nl_work_device work = nl_work_device(finder->trace, lanes, count);
    *device = (struct nl_idle_device){.device = work.device,
                                      .process = work.process,
                                      .rank = work.rank,
                                      .ordinal = work.ordinal,
                                      .first_gap = idle->gap_count,
                                      .first_sum = idle->sum_count};
    finder->device = device;
    finder->lanes = lanes;
    finder->lane_count = count;
    finder->fed = false;
    finder->feeder = NL_NULL_ROW;
    nl_lookup_clear(&finder->sums);
    find_gaps(finder, window, lanes, count);
    tell_edges(finder);
    if (device->class_count[NL_IDLE_SHORT]) {
        size_t sum = sum_for(finder, NL_IDLE_SHORT, unknown);
        idle->sums[sum].gaps = device->class_count[NL_IDLE_SHORT];
        idle->sums[sum].total_ns = device->class_ns[NL_IDLE_SHORT];
    }
    device->gaps = idle->gap_count - device->first_gap;
    device->sums = idle->sum_count - device->first_sum;
    if (device->sums)
        qsort(idle->sums + device->first_sum, device->sums, sizeof *idle->sums, by_total);
    idle->device_count++;
}

/* ---- Setting up ---- */

static struct nl_work_device device_of(const struct nl_idle_device *row)
{
    return (struct nl_work_device){row->device, row->process, row->rank, row->ordinal};
}

static int by_rank(const void *left, const void *right)
{
    return nl_work_device_order(device_of(left), device_of(right));
}

struct nl_idle *nl_idle_new(const struct nl_trace *trace, const struct nl_window *window)
{
    struct nl_api_roles roles;
    nl_api_roles_init(&roles, trace);
    struct nl_idle *idle = nl_idle_new_with_sink(trace, window, &roles, NULL);
    nl_api_roles_release(&roles);
    return idle;
}

struct nl_idle *nl_idle_new_with_sink(const struct nl_trace *trace, const struct nl_window *window,
                                      const struct nl_api_roles *roles,
                                      const struct nl_idle_sink *sink)
{
    struct nl_work_lane *lanes;
    size_t count = nl_work_lanes(trace, window, &lanes);
    struct finder finder = {.trace = trace, .idle = nl_zalloc(sizeof *finder.idle), .sink = sink};
    finder.idle->devices = nl_zalloc((count + 1) * sizeof *finder.idle->devices);
    nl_hostdid_init(&finder.host, trace, roles);
    nl_lanes_of_init(&finder.lanes_of, trace);
    nl_idle_rule_init(&finder.rule, trace, roles);
    finder.name_sum = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *finder.name_sum);
    /* Room for a gap before every slice, so that the array is never copied; what is
     * not used is not touched. */
    nl_grow(&finder.idle->gaps, &finder.idle->gap_cap, nl_work_slices(trace, lanes, count) + 1);
    for (size_t i = 0, next; i < count; i = next) {
        next = i + nl_work_device_lanes(lanes + i, count - i);
        find_device(&finder, window, lanes + i, next - i);
    }
    qsort(finder.idle->devices, finder.idle->device_count, sizeof *finder.idle->devices, by_rank);
    nl_idle_rule_release(&finder.rule);
    nl_hostdid_release(&finder.host);
    nl_lanes_of_release(&finder.lanes_of);
    nl_lookup_release(&finder.sums);
    nl_free(finder.name_sum);
    nl_free(finder.touched);
    nl_free(finder.touched_ns);
    nl_free(lanes);
    return finder.idle;
}

void nl_idle_free(struct nl_idle *idle)
{
    if (!idle)
        return;
    nl_free(idle->devices);
    nl_free(idle->gaps);
    nl_free(idle->sums);
    nl_free(idle);
}
