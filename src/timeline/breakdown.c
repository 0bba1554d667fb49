/*
 * Where each device's time goes, in one pass over its work in order of start.
 *
 * The sweep keeps, per class of work, the latest end seen so far. Between two starts nothing new
 * begins, so what covers that stretch follows from the three ends alone: no interval list is
 * built and the four parts add up to the wall time by construction.
 */
#include "timeline/breakdown.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/worksweep.h"

struct tally {
    int64_t now;                  /* the stretch before it is accounted for */
    int64_t end[NL_WORK_CLASSES]; /* latest end per class of work */
    int64_t compute, exposed_comm, exposed_copy, comm, copy, overlap;
};

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Accounts for [tally->now, until). */
static inline void account(struct tally *tally, int64_t until)
{
    int64_t from = tally->now;
    if (until <= from)
        return;
    int64_t compute = later(earlier(tally->end[NL_IS_COMPUTE], until), from);
    int64_t comm = later(earlier(tally->end[NL_IS_COMM], until), from);
    int64_t copy = later(earlier(tally->end[NL_IS_COPY], until), from);
    tally->compute += compute - from;
    tally->comm += comm - from;
    tally->copy += copy - from;
    tally->overlap += earlier(compute, comm) - from;
    int64_t busy = later(compute, comm);
    tally->exposed_comm += busy - compute;
    tally->exposed_copy += later(busy, copy) - busy;
    tally->now = until;
}

static inline void sweep_over(struct tally *tally, const struct nl_work *work)
{
    account(tally, work->start);
    if (work->end > tally->end[work->class])
        tally->end[work->class] = work->end;
}

/* Source of a slice, or NL_NULL_ROW. */
static uint32_t source_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t process = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_process(trace, slice);
    return process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
}

/* Per source: whether coverage says of all its kernels that they have no start times; NULL when it
 * says so of none. */
static bool *sources_without_starts(const struct nl_trace *trace)
{
    uint32_t item = nl_dict_find(&trace->names, nl_str(NL_COVERS_NO_STARTS));
    int64_t *timed = NULL; /* per source: its kernels, less those without a start time */
    bool *starts_unknown = NULL;
    for (uint32_t row = 0; row < trace->coverage.rows && item != UINT32_MAX; row++) {
        uint32_t source = trace->coverage.source[row];
        if (trace->coverage.item[row] != item || source == NL_NULL_ROW)
            continue;
        if (!starts_unknown) {
            starts_unknown = nl_zalloc(trace->source.rows * sizeof *starts_unknown);
            timed = nl_zalloc(trace->source.rows * sizeof *timed);
        }
        starts_unknown[source] = true;
        timed[source] = -trace->coverage.count[row];
    }
    for (uint32_t row = 0; row < trace->kernel.rows && starts_unknown; row++) {
        uint32_t source = source_of(trace, trace->kernel.slice[row]);
        if (source != NL_NULL_ROW)
            timed[source]++;
    }
    for (uint32_t source = 0; source < trace->source.rows && starts_unknown; source++)
        starts_unknown[source] = starts_unknown[source] && timed[source] <= 0;
    nl_free(timed);
    return starts_unknown;
}

static bool starts_are_unknown(const struct nl_trace *trace, const bool *sources,
                               const struct nl_work_lane *lanes, size_t count)
{
    for (size_t i = 0; i < count && sources; i++)
        if (lanes[i].process == NL_NULL_ROW || !sources[trace->process.source[lanes[i].process]])
            return false;
    return sources != NULL;
}

size_t nl_breakdown_busiest(const struct nl_device_breakdown *rows, size_t count)
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

struct nl_device_breakdown nl_breakdown_shown(const struct nl_device_breakdown *row)
{
    struct nl_device_breakdown shown = *row;
    if (row->starts_unknown)
        shown.wall_ns = shown.exposed_comm_ns = shown.exposed_copy_ns = shown.idle_ns =
            shown.overlap_ns = NL_NULL_I64;
    return shown;
}

/* Where the device's time in the window begins and ends: with its work, but at the window's own
 * edges where it worked before or after them, too. `start` and `end` come with the work's own
 * (INT64_MIN = none in the window). False when the device was not there. */
static bool find_span(const struct nl_trace *trace, const struct nl_window *window,
                      const struct nl_work_lane *lanes, size_t count, int64_t *start, int64_t *end)
{
    uint32_t before, after;
    nl_work_beyond(trace, window, lanes, count, &before, &after);
    if (*start == INT64_MIN && (before == NL_NULL_ROW || after == NL_NULL_ROW))
        return false;
    if (before != NL_NULL_ROW)
        *start = window->start;
    if (after != NL_NULL_ROW)
        *end = window->end;
    return true;
}

/* False when the device was not there in the window. */
static bool break_down(const struct nl_trace *trace, const struct nl_window *window,
                       const struct nl_work_lane *lanes, size_t count,
                       struct nl_device_breakdown *row)
{
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    struct tally tally = {.end = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    int64_t start = INT64_MIN;
    nl_sweep_open(&sweep, trace, window, lanes, count);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;) {
        if (start == INT64_MIN)
            start = tally.now = batch[0].start;
        for (size_t i = 0; i < got; i++)
            sweep_over(&tally, &batch[i]);
    }
    nl_sweep_close(&sweep);
    struct nl_work_device device = nl_work_device(trace, lanes, count);
    *row = (struct nl_device_breakdown){.device = device.device,
                                        .process = device.process,
                                        .rank = device.rank,
                                        .ordinal = device.ordinal};
    row->kernels = sweep.seen[NL_KIND_KERNEL];
    row->copies = sweep.seen[NL_KIND_MEMCPY];
    row->memsets = sweep.seen[NL_KIND_MEMSET];
    int64_t end =
        later(later(tally.end[NL_IS_COMPUTE], tally.end[NL_IS_COMM]), tally.end[NL_IS_COPY]);
    if (start != INT64_MIN)
        account(&tally, end);
    if (!find_span(trace, window, lanes, count, &start, &end))
        return row->kernels + row->copies + row->memsets > 0;
    row->start_ns = start;
    row->wall_ns = end - start;
    row->compute_ns = tally.compute;
    row->exposed_comm_ns = tally.exposed_comm;
    row->exposed_copy_ns = tally.exposed_copy;
    row->idle_ns = row->wall_ns - tally.compute - tally.exposed_comm - tally.exposed_copy;
    row->comm_ns = tally.comm;
    row->copy_ns = tally.copy;
    row->overlap_ns = tally.overlap;
    return true;
}

static struct nl_work_device device_of(const struct nl_device_breakdown *row)
{
    return (struct nl_work_device){row->device, row->process, row->rank, row->ordinal};
}

static int by_rank(const void *left, const void *right)
{
    return nl_work_device_order(device_of(left), device_of(right));
}

struct nl_device_breakdown *nl_time_breakdown(const struct nl_trace *trace,
                                              const struct nl_window *window, size_t *count)
{
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, window, &lanes), rows = 0;
    bool *starts_unknown = sources_without_starts(trace);
    struct nl_device_breakdown *table = nl_alloc((lane_count + 1) * sizeof *table);
    for (size_t i = 0, next; i < lane_count; i = next) {
        next = i + nl_work_device_lanes(lanes + i, lane_count - i);
        if (break_down(trace, window, lanes + i, next - i, &table[rows]))
            table[rows++].starts_unknown =
                starts_are_unknown(trace, starts_unknown, lanes + i, next - i);
    }
    nl_free(starts_unknown);
    nl_free(lanes);
    qsort(table, rows, sizeof *table, by_rank);
    *count = rows;
    return table;
}

void nl_device_intervals_of(const struct nl_trace *trace, const struct nl_window *window,
                            const struct nl_work_lane *lanes, size_t count, uint32_t device,
                            struct nl_device_sets *sets)
{
    size_t kept = 0; /* NL_NULL_ROW, the largest, comes last */
    size_t first = NL_FIRST(i, 0, count, lanes[i].device >= device);
    while (first + kept < count && lanes[first + kept].device == device)
        kept++;
    struct nl_intervals *const by_class[NL_WORK_CLASSES] = {
        [NL_IS_COMPUTE] = &sets->compute, [NL_IS_COMM] = &sets->comm, [NL_IS_COPY] = &sets->copy};
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    for (size_t class = NL_IS_COMPUTE; class < NL_WORK_CLASSES; class ++)
        nl_intervals_init(by_class[class]);
    nl_intervals_reserve(&sets->compute, nl_work_slices(trace, lanes + first, kept));
    nl_sweep_open(&sweep, trace, window, lanes + first, kept);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++)
            nl_intervals_add(by_class[batch[i].class], batch[i].start, batch[i].end);
    nl_sweep_close(&sweep);
    for (size_t class = NL_IS_COMPUTE; class < NL_WORK_CLASSES; class ++)
        nl_intervals_normalise(by_class[class]);
}

void nl_device_intervals(const struct nl_trace *trace, const struct nl_window *window,
                         uint32_t device, struct nl_device_sets *sets)
{
    struct nl_work_lane *lanes;
    size_t count = nl_work_lanes(trace, window, &lanes);
    nl_device_intervals_of(trace, window, lanes, count, device, sets);
    nl_free(lanes);
}

void nl_device_sets_release(struct nl_device_sets *sets)
{
    nl_intervals_release(&sets->compute);
    nl_intervals_release(&sets->comm);
    nl_intervals_release(&sets->copy);
}
