/*
 * idletime — see idletime.h. Three parts: the gaps of a device in one pass over its work (worksweep), the
 * class of a gap from the launch of its owner, and the division of the gap by what the launching
 * thread did. Sums per activity are kept in a small hash table per device; a gap first adds up in
 * the entries it touches, because its own largest share and the longest examples are wanted too.
 */
#include "base/sum.h"
#include "timeline/idletime.h"

#include <stdlib.h>

#include "base/mem.h"
#include "timeline/apirole.h"
#include "timeline/hosttime.h"
#include "timeline/offcpu.h"
#include "timeline/waitfor.h"
#include "timeline/worksweep.h"

#define WAIT_STEPS 64 /* recorded waits looked back at, from a launch */

static const char *const class_names[NL_IDLE_CLASSES] = {
    [NL_IDLE_HOST_LATE] = "host_late",
    [NL_IDLE_DEPENDENCY] = "dependency",
    [NL_IDLE_LAUNCH_LATENCY] = "launch_latency",
    [NL_IDLE_UNKNOWN] = "unknown",
    [NL_IDLE_SHORT] = "short",
};

static const char *const activity_names[NL_DID_COUNT] = {
    [NL_DID_NOTHING] = "nothing recorded",
    [NL_DID_OP] = "operator",
    [NL_DID_PYTHON] = "python",
    [NL_DID_LAYER] = "layer",
    [NL_DID_RANGE] = "range",
    [NL_DID_LAUNCH] = "launch call",
    [NL_DID_SYNC] = "synchronisation",
    [NL_DID_COPY] = "copy call",
    [NL_DID_ALLOCATE] = "allocator call",
    [NL_DID_MODULE] = "module loading",
    [NL_DID_GRAPH_BUILD] = "graph capture",
    [NL_DID_API] = "other call",
    [NL_DID_SYSTEM] = "system call",
    [NL_DID_GC] = "garbage collection",
    [NL_DID_COMPILE] = "compilation",
    [NL_DID_OVERHEAD] = "overhead",
    [NL_DID_OTHER] = "other",
    [NL_DID_OFF] = "off-CPU",
    [NL_DID_WAITING] = "off-CPU (waiting)",
    [NL_DID_READY] = "off-CPU (ready to run)",
    [NL_DID_QUEUED] = "queued",
    [NL_DID_UNKNOWN] = "unknown",
};

/* Kinds that are not named: NL_DID_OTHER. */
static const uint8_t kind_activity[UINT8_MAX + 1] = {
    [NL_KIND_OP] = NL_DID_OP + 1,           [NL_KIND_PYTHON] = NL_DID_PYTHON + 1,
    [NL_KIND_LAYER] = NL_DID_LAYER + 1,     [NL_KIND_NVTX] = NL_DID_RANGE + 1,
    [NL_KIND_OSRT] = NL_DID_SYSTEM + 1,     [NL_KIND_GC] = NL_DID_GC + 1,
    [NL_KIND_COMPILE] = NL_DID_COMPILE + 1, [NL_KIND_OVERHEAD] = NL_DID_OVERHEAD + 1,
};

static const uint8_t role_activity[] = {
    [NL_API_OTHER] = NL_DID_API,           [NL_API_LAUNCH] = NL_DID_LAUNCH,
    [NL_API_GRAPH_LAUNCH] = NL_DID_LAUNCH, [NL_API_GRAPH_BUILD] = NL_DID_GRAPH_BUILD,
    [NL_API_COPY] = NL_DID_COPY,           [NL_API_FILL] = NL_DID_LAUNCH,
    [NL_API_SYNC] = NL_DID_SYNC,           [NL_API_STREAM_WAIT] = NL_DID_API,
    [NL_API_ALLOCATE] = NL_DID_ALLOCATE,   [NL_API_HOST_ALLOCATE] = NL_DID_ALLOCATE,
    [NL_API_MODULE] = NL_DID_MODULE,
};

/* Of which being off the processors says more than the slice around it. */
static const bool gives_way[NL_DID_COUNT] = {
    [NL_DID_NOTHING] = true, [NL_DID_OP] = true,     [NL_DID_PYTHON] = true, [NL_DID_LAYER] = true,
    [NL_DID_RANGE] = true,   [NL_DID_SYSTEM] = true, [NL_DID_OTHER] = true,
};

/* What a thread did for a while. */
struct did {
    uint8_t activity;
    bool elsewhere;
    uint32_t name;
};

struct finder {
    const struct nl_trace *trace;
    struct nl_idle *idle;
    struct nl_host host;
    struct nl_offcpu off;
    struct nl_waitfor waits;
    struct nl_api_roles roles;
    uint32_t *sync_lane; /* per lane of a stream: the lane of its waits, or NL_NULL_ROW */
    bool has_waits;      /* waits of streams were recorded */
    /* Of the device at hand. */
    struct nl_idle_device *device;
    uint32_t *slots; /* hash: index of a sum + 1 */
    size_t slot_count;
    size_t *name_sum; /* per name: the sum it was last added to */
    size_t unnamed_sum[NL_IDLE_CLASSES][NL_DID_COUNT];
    size_t *touched; /* sums the gap at hand adds to */
    int64_t *touched_ns;
    size_t touched_count, touched_cap, touched_ns_cap;
};

const char *nl_idle_class_name(enum nl_idle_class class)
{
    return class_names[class];
}

const char *nl_idle_activity_name(enum nl_idle_activity activity)
{
    return activity_names[activity];
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
    if (activity == NL_DID_QUEUED || activity == NL_DID_UNKNOWN)
        return NULL;
    return elsewhere ? "other" : "launching";
}

static uint64_t sum_hash(uint8_t class, struct did did)
{
    uint64_t key = (uint64_t)did.name << 17 | (uint64_t)did.elsewhere << 16 |
                   (uint64_t) class << 8 | did.activity;
    return key * 0x9e3779b97f4a7c15u;
}

static void place_sum(struct finder *finder, size_t index)
{
    const struct nl_idle_sum *sum = &finder->idle->sums[index];
    struct did did = {sum->activity, sum->elsewhere, sum->name};
    size_t at = sum_hash(sum->class, did) >> 32 & (finder->slot_count - 1);
    while (finder->slots[at])
        at = (at + 1) & (finder->slot_count - 1);
    finder->slots[at] = (uint32_t)(index - finder->device->first_sum + 1);
}

static void grow_slots(struct finder *finder)
{
    nl_free(finder->slots);
    finder->slot_count = finder->slot_count ? finder->slot_count * 2 : 256;
    finder->slots = nl_zalloc(finder->slot_count * sizeof *finder->slots);
    for (size_t i = finder->device->first_sum; i < finder->idle->sum_count; i++)
        place_sum(finder, i);
}

static bool is_sum(const struct nl_idle_sum *sum, uint8_t class, struct did did)
{
    return sum->class == class && sum->activity == did.activity && sum->name == did.name &&
           sum->elsewhere == did.elsewhere;
}

static size_t find_sum(struct finder *finder, uint8_t class, struct did did)
{
    struct nl_idle *idle = finder->idle;
    size_t mask = finder->slot_count - 1;
    for (size_t at = sum_hash(class, did) >> 32 & mask; finder->slots[at]; at = (at + 1) & mask) {
        size_t index = finder->device->first_sum + finder->slots[at] - 1;
        const struct nl_idle_sum *sum = &idle->sums[index];
        if (is_sum(sum, class, did))
            return index;
    }
    nl_grow(&idle->sums, &idle->sum_cap, idle->sum_count + 1);
    size_t index = idle->sum_count++;
    idle->sums[index] = (struct nl_idle_sum){.class = class,
                                             .activity = did.activity,
                                             .elsewhere = did.elsewhere,
                                             .name = did.name,
                                             .longest = {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    if ((index - finder->device->first_sum + 1) * 2 > finder->slot_count)
        grow_slots(finder);
    else
        place_sum(finder, index);
    return index;
}

/* A name, or an activity without one, mostly belongs to the sum it belonged to last. */
static size_t sum_for(struct finder *finder, uint8_t class, struct did did)
{
    size_t *known = did.name == NL_NO_NAME ? &finder->unnamed_sum[class][did.activity]
                                           : &finder->name_sum[did.name];
    if (*known < finder->device->first_sum || *known >= finder->idle->sum_count ||
        !is_sum(&finder->idle->sums[*known], class, did))
        *known = find_sum(finder, class, did);
    return *known;
}

static void touch(struct finder *finder, uint8_t class, struct did did, int64_t ns)
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
static void settle(struct finder *finder, struct nl_idle_gap *gap, size_t number)
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

static bool is_call(const struct nl_trace *trace, uint32_t slice)
{
    return slice != NL_NULL_ROW && trace->slice.kind[slice] == NL_KIND_API;
}

/* When the work that comes before `slice` on its stream was launched; INT64_MIN when unknown. */
static int64_t launched_before(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t lane = trace->slice.lane[slice];
    if (slice == trace->lane.first[lane] ||
        trace->slice.depth[slice - 1] != trace->slice.depth[slice])
        return INT64_MIN;
    uint32_t launch = trace->slice.link[slice - 1];
    return is_call(trace, launch) ? trace->slice.ts[launch] : INT64_MIN;
}

/* Whether the stream was told to wait after `since` and not after `launched`. */
static bool stream_waits(const struct nl_trace *trace, uint32_t lane, int64_t since,
                         int64_t launched)
{
    uint32_t low = trace->lane.first[lane], first = low, high = low + trace->lane.count[lane];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->slice.depth[middle] == 0 && trace->slice.ts[middle] <= launched)
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned step = 0; low-- > first && step < WAIT_STEPS; step++) {
        if (trace->slice.ts[low] <= since)
            return false;
        uint32_t row = trace->slice.detail[low];
        if (trace->slice.kind[low] == NL_KIND_SYNC && row < trace->sync.rows &&
            trace->sync.kind[row] == NL_SYNC_STREAM_WAIT_EVENT)
            return true;
    }
    return false;
}

/* Without recorded waits: a cudaStreamWaitEvent since the thread's last launch. Which stream it
 * was for is not known, so only calls right before the launch count. */
static bool thread_waits(const struct finder *finder, uint32_t launch)
{
    const struct nl_trace *trace = finder->trace;
    uint32_t first = trace->lane.first[trace->slice.lane[launch]];
    for (unsigned step = 0; launch-- > first && step < WAIT_STEPS; step++) {
        if (trace->slice.depth[launch] != trace->slice.depth[launch + 1] || !is_call(trace, launch))
            continue;
        if (trace->slice.link[launch] != NL_NULL_ROW)
            return false;
        if (nl_api_slice_role(&finder->roles, trace, launch) == NL_API_STREAM_WAIT)
            return true;
    }
    return false;
}

static enum nl_idle_class classify(const struct finder *finder, const struct nl_idle_gap *gap)
{
    const struct nl_trace *trace = finder->trace;
    if (gap->launch == NL_NULL_ROW)
        return NL_IDLE_UNKNOWN;
    int64_t launched = trace->slice.ts[gap->launch];
    if (launched >= gap->start)
        return NL_IDLE_HOST_LATE;
    uint32_t lane = finder->sync_lane[trace->slice.lane[gap->after]];
    bool waits = finder->has_waits
                     ? lane != NL_NULL_ROW &&
                           stream_waits(trace, lane, launched_before(trace, gap->after), launched)
                     : thread_waits(finder, gap->launch);
    return waits ? NL_IDLE_DEPENDENCY : NL_IDLE_LAUNCH_LATENCY;
}

static uint8_t activity_of(const struct finder *finder, uint32_t slice)
{
    const struct nl_trace *trace = finder->trace;
    if (slice == NL_NULL_ROW)
        return NL_DID_NOTHING;
    uint8_t kind = trace->slice.kind[slice];
    if (kind == NL_KIND_API)
        return role_activity[nl_api_slice_role(&finder->roles, trace, slice)];
    return kind_activity[kind] ? (uint8_t)(kind_activity[kind] - 1) : NL_DID_OTHER;
}

/* What `thread`, which is in `slice`, does at `now`, as long as *until tells. */
static struct did did_at(struct finder *finder, uint32_t thread, uint32_t slice, int64_t now,
                         int64_t *until)
{
    struct did did = {activity_of(finder, slice), false,
                      slice == NL_NULL_ROW ? NL_NO_NAME : finder->trace->slice.name[slice]};
    switch (nl_offcpu_at(&finder->off, thread, now, until)) {
    case NL_CPU_UNKNOWN:
        if (nl_offcpu_is_wait(&finder->off, slice))
            did.activity = NL_DID_WAITING;
        break;
    case NL_CPU_ON: break;
    case NL_CPU_OFF: did.activity = gives_way[did.activity] ? NL_DID_OFF : did.activity; break;
    case NL_CPU_WAITING:
        did.activity = gives_way[did.activity] ? NL_DID_WAITING : did.activity;
        break;
    case NL_CPU_READY: did.activity = NL_DID_READY; break;
    }
    return did;
}

/* The same, or what the thread it waits for does. */
static struct did done_meanwhile(struct finder *finder, uint32_t thread, uint32_t slice,
                                 int64_t now, int64_t *until)
{
    struct did did = did_at(finder, thread, slice, now, until);
    if (did.activity == NL_DID_READY)
        return did;
    uint32_t other = nl_waitfor_slice(&finder->waits, thread, slice, now, until);
    if (other == NL_NULL_ROW)
        return did;
    uint32_t lane = finder->trace->slice.lane[other];
    did = did_at(finder, finder->trace->lane.thread[lane], other, now, until);
    did.elsewhere = true;
    return did;
}

/* Divides a gap whose launch is known by what the launching thread did. */
static void divide(struct finder *finder, struct nl_idle_gap *gap)
{
    const struct nl_trace *trace = finder->trace;
    uint32_t thread = trace->lane.thread[trace->slice.lane[gap->launch]];
    int64_t returned = nl_slice_end(trace, gap->launch), now = gap->start, until;
    if (returned > gap->end)
        returned = gap->end;
    while (now < returned) {
        uint32_t slice = nl_host_at(&finder->host, thread, now, &until);
        struct did did = done_meanwhile(finder, thread, slice, now, &until);
        if (until > returned)
            until = returned;
        if (now == gap->start && gap->class == NL_IDLE_HOST_LATE && is_call(trace, slice) &&
            nl_api_slice_blocks(&finder->roles, trace, slice))
            gap->sync = slice;
        touch(finder, gap->class, did, until - now);
        now = until;
    }
    if (now < gap->end)
        touch(finder, gap->class, (struct did){.activity = NL_DID_QUEUED, .name = NL_NO_NAME},
              gap->end - now);
}

static void add_gap(struct finder *finder, int64_t start, int64_t end, uint32_t before,
                    uint32_t after)
{
    struct nl_idle *idle = finder->idle;
    struct nl_idle_device *device = finder->device;
    enum nl_idle_class class = NL_IDLE_SHORT;
    static const struct did unknown = {.activity = NL_DID_UNKNOWN, .name = NL_NO_NAME};
    nl_sum_add(&device->idle_ns, end - start);
    if (end - start >= NL_IDLE_SHORT_NS) {
        uint32_t launch = finder->trace->slice.link[after];
        nl_grow(&idle->gaps, &idle->gap_cap, idle->gap_count + 1);
        struct nl_idle_gap *gap = &idle->gaps[idle->gap_count];
        *gap = (struct nl_idle_gap){.start = start,
                                    .end = end,
                                    .before = before,
                                    .after = after,
                                    .launch = is_call(finder->trace, launch) ? launch : NL_NULL_ROW,
                                    .sync = NL_NULL_ROW,
                                    .activity = NL_DID_UNKNOWN};
        class = classify(finder, gap);
        gap->class = (uint8_t) class;
        if (class == NL_IDLE_UNKNOWN)
            touch(finder, gap->class, unknown, end - start);
        else
            divide(finder, gap);
        settle(finder, gap, idle->gap_count++);
        nl_sum_add(&device->sync_ns, nl_idle_sync_cost(finder->trace, gap));
    }
    nl_sum_add(&device->class_ns[class], end - start);
    device->class_count[class]++;
}

/* A gap is where work begins after everything before it has ended. */
static void find_gaps(struct finder *finder, const struct nl_window *window,
                      const struct nl_work_lane *lanes, size_t count)
{
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    int64_t end = INT64_MIN;
    uint32_t latest = NL_NULL_ROW;
    nl_sweep_open(&sweep, finder->trace, window, lanes, count);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            if (latest == NL_NULL_ROW)
                finder->device->start_ns = end = batch[i].start;
            else if (batch[i].start > end)
                add_gap(finder, end, batch[i].start, latest, batch[i].slice);
            if (latest == NL_NULL_ROW || batch[i].end >= end) {
                end = batch[i].end;
                latest = batch[i].slice;
            }
        }
    nl_sweep_close(&sweep);
    if (latest != NL_NULL_ROW)
        finder->device->wall_ns = end - finder->device->start_ns;
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

static void name_device(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                        size_t count, struct nl_idle_device *device)
{
    device->device = lanes[0].device;
    device->process = lanes[0].process;
    device->rank = lanes[0].rank;
    for (size_t i = 1; i < count; i++) {
        if (lanes[i].process != device->process)
            device->process = NL_NULL_ROW;
        if (lanes[i].rank != device->rank)
            device->rank = NL_NULL_I64;
    }
    device->ordinal =
        device->device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[device->device];
}

static void find_device(struct finder *finder, const struct nl_window *window,
                        const struct nl_work_lane *lanes, size_t count)
{
    struct nl_idle *idle = finder->idle;
    struct nl_idle_device *device = &idle->devices[idle->device_count];
    *device = (struct nl_idle_device){.first_gap = idle->gap_count, .first_sum = idle->sum_count};
    finder->device = device;
    finder->slot_count = 0;
    grow_slots(finder);
    find_gaps(finder, window, lanes, count);
    if (device->class_count[NL_IDLE_SHORT]) {
        size_t sum = sum_for(finder, NL_IDLE_SHORT,
                             (struct did){.activity = NL_DID_UNKNOWN, .name = NL_NO_NAME});
        idle->sums[sum].gaps = device->class_count[NL_IDLE_SHORT];
        idle->sums[sum].total_ns = device->class_ns[NL_IDLE_SHORT];
    }
    name_device(finder->trace, lanes, count, device);
    device->gaps = idle->gap_count - device->first_gap;
    device->sums = idle->sum_count - device->first_sum;
    if (device->sums)
        qsort(idle->sums + device->first_sum, device->sums, sizeof *idle->sums, by_total);
    idle->device_count++;
}

/* ---- Setting up ---- */

static bool same_stream(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    return trace->lane.process[a] == trace->lane.process[b] &&
           trace->lane.device[a] == trace->lane.device[b] &&
           trace->lane.context[a] == trace->lane.context[b] &&
           trace->lane.stream[a] == trace->lane.stream[b];
}

static void find_sync_lanes(struct finder *finder)
{
    const struct nl_trace *trace = finder->trace;
    finder->sync_lane = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *finder->sync_lane);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        finder->sync_lane[lane] = NL_NULL_ROW;
    for (uint32_t row = 0; row < trace->sync.rows && !finder->has_waits; row++)
        finder->has_waits = trace->sync.kind[row] == NL_SYNC_STREAM_WAIT_EVENT;
    if (!finder->has_waits)
        return;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.kind[lane] != NL_LANE_SYNC || trace->lane.sub[lane])
            continue;
        for (uint32_t other = 0; other < trace->lane.rows; other++)
            if (trace->lane.kind[other] == NL_LANE_STREAM && same_stream(trace, lane, other))
                finder->sync_lane[other] = lane;
    }
}

/* For a gap before every slice, so that the array is not copied while it grows; memory that is not
 * used is not touched. */
static void make_room(struct finder *finder, const struct nl_work_lane *lanes, size_t count)
{
    struct nl_idle *idle = finder->idle;
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += finder->trace->lane.count[lanes[i].lane];
    nl_grow(&idle->gaps, &idle->gap_cap, most + 1);
}

static int by_rank(const void *left, const void *right)
{
    const struct nl_idle_device *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

struct nl_idle *nl_idle_new(const struct nl_trace *trace, const struct nl_window *window)
{
    struct nl_work_lane *lanes;
    size_t count = nl_work_lanes(trace, window, &lanes);
    struct finder finder = {.trace = trace, .idle = nl_zalloc(sizeof *finder.idle)};
    finder.idle->devices = nl_zalloc((count + 1) * sizeof *finder.idle->devices);
    nl_host_init(&finder.host, trace);
    nl_offcpu_init(&finder.off, trace);
    nl_waitfor_init(&finder.waits, trace, &finder.host, &finder.off);
    nl_api_roles_init(&finder.roles, trace);
    find_sync_lanes(&finder);
    finder.name_sum = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *finder.name_sum);
    make_room(&finder, lanes, count);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count; next++)
            if (!nl_work_same_device(&lanes[i], &lanes[next]))
                break;
        find_device(&finder, window, lanes + i, next - i);
    }
    qsort(finder.idle->devices, finder.idle->device_count, sizeof *finder.idle->devices, by_rank);
    nl_waitfor_release(&finder.waits);
    nl_offcpu_release(&finder.off);
    nl_host_release(&finder.host);
    nl_api_roles_release(&finder.roles);
    nl_free(finder.sync_lane);
    nl_free(finder.slots);
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
