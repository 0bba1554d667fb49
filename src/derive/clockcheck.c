/*
 * One pass over device work and one over waits; no array of their size. A stream runs its work in
 * the order of its launches, so a wait bounds the last work on each stream that was launched before
 * it: a search in the stream's lane, whose answer is checked again.
 */
#include "derive/clockcheck.h"

#include <math.h>

#include <stdio.h>

#include "base/lineband.h"
#include "base/mem.h"
#include "base/search.h"
#include "store/builder.h"

#define PARTS     256u /* of the profile's time, each with its tightest bounds, for the drift */
#define MAX_DRIFT 1e-3
#define MAX_PAIRS 4000000u /* waits × streams compared; of more waits every n-th is taken */

struct bounds {
    int64_t least[PARTS], most[PARTS];
};

struct checker {
    const struct nl_trace *trace;
    struct nl_clock_check *items; /* per device row, and one more */
    struct bounds **bounds;
    uint32_t *streams; /* stream lanes with work, by device */
    uint32_t *first;   /* per device: of its lanes in `streams` */
    int64_t begin, length, grain;
};

/* a - b, kept within 2^61: damaged files hold any times. */
static int64_t apart(int64_t a, int64_t b)
{
    const int64_t most = (int64_t)1 << 61;
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return a < b ? -most : most;
    return difference < -most ? -most : difference > most ? most : difference;
}

static uint32_t device_place(const struct checker *checker, uint32_t device)
{
    return device == NL_NULL_ROW ? checker->trace->device.rows : device;
}

static unsigned part_of(const struct checker *checker, int64_t ts)
{
    double part = (double)(ts - checker->begin) / (double)checker->length * PARTS;
    return part <= 0 ? 0 : part >= PARTS - 1 ? PARTS - 1 : (unsigned)part;
}

static struct nl_clock_check *check_of(struct checker *checker, uint32_t slice,
                                       struct bounds **bounds)
{
    const struct nl_trace *trace = checker->trace;
    uint32_t place = device_place(checker, nl_slice_device(trace, slice));
    struct nl_clock_check *check = &checker->items[place];
    if (!checker->bounds[place]) {
        uint32_t process = nl_slice_process(trace, slice);
        struct bounds *fresh = checker->bounds[place] = nl_alloc(sizeof *fresh);
        for (unsigned i = 0; i < PARTS; i++) {
            fresh->least[i] = INT64_MIN;
            fresh->most[i] = INT64_MAX;
        }
        check->source = process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
    }
    *bounds = checker->bounds[place];
    return check;
}

static void not_before(struct checker *checker, uint32_t slice, int64_t call)
{
    struct bounds *bounds;
    struct nl_clock_check *check = check_of(checker, slice, &bounds);
    int64_t ts = checker->trace->slice.ts[slice], least = apart(call, ts);
    unsigned part = part_of(checker, ts);
    check->launches++;
    if (least > bounds->least[part])
        bounds->least[part] = least;
    if (least <= 0)
        return;
    check->early++;
    if (least > check->worst_early) {
        check->worst_early = least;
        check->early_slice = slice;
    }
}

static void not_after(struct checker *checker, uint32_t slice, int64_t back)
{
    struct bounds *bounds;
    struct nl_clock_check *check = check_of(checker, slice, &bounds);
    /* A start and a length that were both cut to whole grains. */
    int64_t allowed = checker->grain > 1 ? 2 * checker->grain : 0;
    int64_t end = nl_slice_end(checker->trace, slice), most = apart(back, end) + allowed;
    unsigned part = part_of(checker, end);
    check->waits++;
    if (most < bounds->most[part])
        bounds->most[part] = most;
    if (most >= 0)
        return;
    check->late++;
    if (-most > check->worst_late) {
        check->worst_late = -most;
        check->late_slice = slice;
    }
}

/* ---- starts ---- */

static uint32_t launch_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t launch = slice == NL_NULL_ROW ? NL_NULL_ROW : trace->slice.link[slice];
    bool call = launch != NL_NULL_ROW && trace->slice.kind[launch] == NL_KIND_API;
    return call ? launch : NL_NULL_ROW;
}

static void check_starts(struct checker *checker, const uint32_t *slices, uint32_t rows)
{
    const struct nl_trace *trace = checker->trace;
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t launch = launch_of(trace, slices[row]);
        if (launch != NL_NULL_ROW)
            not_before(checker, slices[row], trace->slice.ts[launch]);
    }
}

/* ---- ends ---- */

static bool has_end(const struct nl_trace *trace, uint32_t slice)
{
    return !(trace->slice.flags[slice] & (NL_SLICE_CLAMPED | NL_SLICE_INSTANT));
}

/* A call that failed waits for nothing. */
static bool failed(const struct nl_trace *trace, uint32_t call)
{
    uint32_t row = trace->slice.detail[call];
    return row < trace->api.rows && trace->api.slice[row] == call &&
           trace->api.result[row] != NL_NULL_I64 && trace->api.result[row] != 0;
}

/* Is it at depth 0, and had its launch returned by `ts`? */
static bool had_launched(const struct nl_trace *trace, uint32_t slice, int64_t ts)
{
    uint32_t launch = launch_of(trace, slice);
    int64_t known = launch == NL_NULL_ROW ? trace->slice.ts[slice] : nl_slice_end(trace, launch);
    return trace->slice.depth[slice] == 0 && known <= ts;
}

/* The last work of depth 0 on a lane whose launch had returned by `ts`; NL_NULL_ROW without. */
static uint32_t last_launched(const struct nl_trace *trace, uint32_t lane, int64_t ts)
{
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t low = NL_FIRST(i, first, last, !had_launched(trace, i, ts));
    /* Without a launch it is not known when it was launched: back to one that has it. */
    for (unsigned tries = 0; low > first && tries < 8; tries++) {
        uint32_t slice = --low, launch = launch_of(trace, slice);
        if (launch != NL_NULL_ROW && nl_slice_end(trace, launch) <= ts && has_end(trace, launch))
            return slice;
    }
    return NL_NULL_ROW;
}

/* Nodes of a graph run on streams that no call waits for by name. */
static bool in_graph(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t row = trace->slice.detail[slice];
    switch (trace->slice.kind[slice]) {
    case NL_KIND_KERNEL:
        return row >= trace->kernel.rows || trace->kernel.graph_node[row] != NL_NULL_U64 ||
               trace->kernel.graph[row] != NL_NULL_U64;
    case NL_KIND_MEMCPY:
        return row >= trace->copy.rows || trace->copy.graph_node[row] != NL_NULL_U64;
    case NL_KIND_MEMSET:
        return row >= trace->memset.rows || trace->memset.graph_node[row] != NL_NULL_U64;
    default: return true;
    }
}

/* Does a wait on `wait_lane` wait for what runs on `lane`? */
static bool waits_for(const struct nl_trace *trace, uint32_t wait_lane, uint32_t lane, bool context)
{
    if (trace->lane.process[lane] != trace->lane.process[wait_lane])
        return false;
    if (trace->lane.context[wait_lane] != trace->lane.context[lane])
        return false;
    return context || trace->lane.stream[lane] == trace->lane.stream[wait_lane];
}

static void check_wait(struct checker *checker, uint32_t row)
{
    const struct nl_trace *trace = checker->trace;
    uint32_t slice = trace->sync.slice[row], call = launch_of(trace, slice);
    bool context = trace->sync.kind[row] == NL_SYNC_CONTEXT;
    uint32_t wait_lane = trace->slice.lane[slice], device = trace->lane.device[wait_lane];
    uint32_t place = device_place(checker, device);
    int64_t begin = trace->slice.ts[slice], back = nl_slice_end(trace, slice);
    if (call != NL_NULL_ROW) {
        if (!has_end(trace, call) || failed(trace, call))
            return;
        begin = trace->slice.ts[call];
        back = nl_slice_end(trace, call);
    }
    if (!has_end(trace, slice) || (!context && trace->lane.stream[wait_lane] == NL_NULL_I64))
        return;
    for (uint32_t i = checker->first[place]; i < checker->first[place + 1]; i++) {
        uint32_t lane = checker->streams[i];
        if (!waits_for(trace, wait_lane, lane, context))
            continue;
        uint32_t work = last_launched(trace, lane, begin);
        if (work != NL_NULL_ROW && has_end(trace, work) && (context || !in_graph(trace, work)))
            not_after(checker, work, back);
    }
}

static bool is_wait(const struct nl_trace *trace, uint32_t row)
{
    uint8_t kind = trace->sync.kind[row];
    return trace->sync.slice[row] != NL_NULL_ROW &&
           (kind == NL_SYNC_STREAM || kind == NL_SYNC_CONTEXT);
}

static void check_waits(struct checker *checker)
{
    const struct nl_trace *trace = checker->trace;
    uint64_t pairs = 0, number = 0;
    for (uint32_t row = 0; row < trace->sync.rows; row++)
        if (is_wait(trace, row)) {
            uint32_t place = device_place(checker, nl_slice_device(trace, trace->sync.slice[row]));
            pairs += checker->first[place + 1] - checker->first[place];
        }
    uint64_t stride = pairs / MAX_PAIRS + 1;
    for (uint32_t row = 0; row < trace->sync.rows; row++)
        if (is_wait(trace, row) && number++ % stride == 0)
            check_wait(checker, row);
}

/* A profiler's own name for copies ("MemcpyD2H" of XPlane) does not say which call it was. */
static bool copies_and_waits(struct nl_str call)
{
    bool known = nl_str_starts(call, "cudaMemcpy") || nl_str_starts(call, "cuMemcpy") ||
                 nl_str_starts(call, "hipMemcpy");
    return known && !nl_str_contains(call, "Async");
}

/* Copies to the host by a call that returns when the bytes are there. */
static void check_copies(struct checker *checker)
{
    const struct nl_trace *trace = checker->trace;
    for (uint32_t row = 0; row < trace->copy.rows; row++) {
        uint32_t slice = trace->copy.slice[row], launch = launch_of(trace, slice);
        if (trace->copy.kind[row] != NL_COPY_DTOH || launch == NL_NULL_ROW ||
            in_graph(trace, slice) || !has_end(trace, launch) || !has_end(trace, slice) ||
            failed(trace, launch))
            continue;
        if (copies_and_waits(nl_trace_name(trace, trace->slice.name[launch])))
            not_after(checker, slice, nl_slice_end(trace, launch));
    }
}

/* ---- what fits ---- */

/* A straight line between the bounds; the rate is reported only where no single number fits. */
static void fit_line(const struct checker *checker, const struct bounds *bounds,
                     struct nl_clock_check *check)
{
    struct nl_bandpoint points[2 * PARTS];
    struct nl_band band;
    size_t count = 0;
    double width = (double)checker->length / PARTS;
    for (unsigned i = 0; i < PARTS; i++) {
        double x = ((double)i + 0.5) * width;
        if (bounds->least[i] != INT64_MIN)
            points[count++] = (struct nl_bandpoint){x, (double)bounds->least[i], INFINITY};
        if (bounds->most[i] != INT64_MAX)
            points[count++] = (struct nl_bandpoint){x, -INFINITY, (double)bounds->most[i]};
    }
    if (nl_lineband(points, count, 0, MAX_DRIFT, &band))
        check->drift = band.slope;
}

static void decide_shift(const struct checker *checker, uint32_t place)
{
    struct nl_clock_check *check = &checker->items[place];
    const struct bounds *bounds = checker->bounds[place];
    for (unsigned i = 0; i < PARTS; i++) {
        if (bounds->least[i] > check->least)
            check->least = bounds->least[i];
        if (bounds->most[i] < check->most)
            check->most = bounds->most[i];
    }
    if (check->least > check->most) {
        check->shift = NL_NULL_I64;
        fit_line(checker, bounds, check);
    } else if (check->least > 0) {
        check->shift = check->least;
    } else if (check->most < 0) {
        check->shift = check->most;
    }
}

/* ---- all ---- */

static int64_t grain_of(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (slice != NL_NULL_ROW && trace->slice.dur[slice] % 1000 != 0)
            return 1;
    }
    return 1000;
}

/* Stream lanes in order of their devices. */
static void list_streams(struct checker *checker)
{
    const struct nl_trace *trace = checker->trace;
    uint32_t places = trace->device.rows + 1, count = 0;
    checker->first = nl_zalloc(((size_t)places + 1) * sizeof *checker->first);
    checker->streams = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *checker->streams);
    uint32_t *next = nl_zalloc(((size_t)places + 1) * sizeof *next);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.kind[lane] == NL_LANE_STREAM)
            next[device_place(checker, trace->lane.device[lane])]++;
    for (uint32_t place = 0; place < places; place++) {
        checker->first[place] = count;
        count += next[place];
        next[place] = checker->first[place];
    }
    checker->first[places] = count;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.kind[lane] == NL_LANE_STREAM)
            checker->streams[next[device_place(checker, trace->lane.device[lane])]++] = lane;
    nl_free(next);
}

static void check_all(struct checker *checker)
{
    const struct nl_trace *trace = checker->trace;
    check_starts(checker, trace->kernel.slice, trace->kernel.rows);
    check_starts(checker, trace->copy.slice, trace->copy.rows);
    check_starts(checker, trace->memset.slice, trace->memset.rows);
    check_starts(checker, trace->graph.slice, trace->graph.rows);
    check_waits(checker);
    check_copies(checker);
}

void nl_clock_checks_init(struct nl_clock_checks *checks, const struct nl_trace *trace)
{
    struct checker checker = {.trace = trace, .begin = trace->first_ts, .length = 1};
    uint32_t places = trace->device.rows + 1;
    *checks = (struct nl_clock_checks){0};
    if (!trace->api.rows)
        return;
    if (trace->last_ts > trace->first_ts)
        checker.length = apart(trace->last_ts, trace->first_ts);
    checker.grain = checks->grain = grain_of(trace);
    checker.items = nl_zalloc(places * sizeof *checker.items);
    checker.bounds = nl_zalloc(places * sizeof *checker.bounds);
    for (uint32_t i = 0; i < places; i++)
        checker.items[i] = (struct nl_clock_check){.device = i + 1 < places ? i : NL_NULL_ROW,
                                                   .source = NL_NULL_ROW,
                                                   .early_slice = NL_NULL_ROW,
                                                   .late_slice = NL_NULL_ROW,
                                                   .least = INT64_MIN,
                                                   .most = INT64_MAX};
    list_streams(&checker);
    check_all(&checker);
    for (uint32_t i = 0; i < places; i++) {
        if (!checker.bounds[i])
            continue;
        decide_shift(&checker, i);
        checker.items[checks->count++] = checker.items[i];
        nl_free(checker.bounds[i]);
    }
    nl_free(checker.bounds);
    nl_free(checker.streams);
    nl_free(checker.first);
    checks->items = checker.items;
}

void nl_clock_checks_release(struct nl_clock_checks *checks)
{
    nl_free(checks->items);
    *checks = (struct nl_clock_checks){0};
}

/* What one number, or a straight line, would do about it. */
static void say_repair(const struct nl_clock_check *check, char *text, size_t room)
{
    if (check->least <= check->most)
        (void)snprintf(text, room, "adding %lld ns to the device's times would repair it",
                       (long long)check->shift);
    else if (check->drift != 0)
        (void)snprintf(text, room, "no single offset repairs it, a drift of %.1f ppm does",
                       check->drift * 1e6);
    else
        (void)snprintf(text, room,
                       "no offset repairs it: launches and waits contradict each other");
}

void nl_clock_checks_cover(const struct nl_clock_checks *checks, struct nl_builder *builder)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct nl_clock_check *check = &checks->items[i];
        char repair[128], detail[256];
        say_repair(check, repair, sizeof repair);
        (void)snprintf(detail, sizeof detail, "by up to %lld ns; %s", (long long)check->worst_early,
                       repair);
        if (check->early)
            nl_builder_coverage(builder, check->source, NL_CLOCK_EARLY, (int64_t)check->early,
                                detail);
        (void)snprintf(detail, sizeof detail, "by up to %lld ns; %s", (long long)check->worst_late,
                       repair);
        if (check->late)
            nl_builder_coverage(builder, check->source, NL_CLOCK_LATE, (int64_t)check->late,
                                detail);
    }
}
