/*
 * A lane's slices of one depth are a run in order of time, and slices of a run do not overlap. So a
 * moment is answered by one cursor per run, from the outermost depth inwards, stopping at the first
 * depth where nothing is open. Cursors move by doubling steps, which makes short moves cheap and
 * long ones logarithmic.
 */
#include "timeline/hosttime.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"

/* The row is the latest that began by the last question, or `first`; its times are kept, so that
 * most questions look at nothing else. */
struct nl_host_run {
    uint32_t first, last, row;
    int64_t start, end, next; /* of the row; start of the one after it */
};

/* What was found holds for questions about [from, until). */
struct nl_host_lane {
    struct nl_host_run *runs;
    uint32_t run_count, found;
    unsigned rank;     /* how specific it is */
    bool holds_ranges; /* some of its slices are ranges or modules */
    int64_t from, until;
};

struct nl_host_thread {
    struct nl_host_lane *lanes;
    uint32_t lane_count;
};

static bool is_host_lane(const struct nl_trace *trace, uint32_t lane)
{
    switch (trace->lane.kind[lane]) {
    case NL_LANE_THREAD:
    case NL_LANE_ANNOTATION:
    case NL_LANE_PYTHON:
    case NL_LANE_NVTX:
    case NL_LANE_OSRT:
    case NL_LANE_OVERHEAD: break;
    default: return false;
    }
    return trace->lane.thread[lane] != NL_NULL_ROW && trace->lane.count[lane];
}

/* First row of [low, high) whose depth is over `depth`. */
static uint32_t depth_end(const struct nl_trace *trace, uint32_t low, uint32_t high, uint16_t depth)
{
    return NL_FIRST(i, low, high, trace->slice.depth[i] > depth);
}

/* Makes `row` the run's row. */
static void set_run_row(struct nl_host_run *run, const struct nl_trace *trace, uint32_t row)
{
    run->row = row;
    run->start = trace->slice.ts[row];
    run->end = nl_slice_end(trace, row);
    run->next = row + 1 < run->last ? trace->slice.ts[row + 1] : INT64_MAX;
}

static struct nl_host_run *add_runs(struct nl_host_lane *entry, const struct nl_trace *trace,
                                    uint32_t lane, struct nl_host_run *runs)
{
    uint32_t row = trace->lane.first[lane], last = row + trace->lane.count[lane];
    *entry = (struct nl_host_lane){.runs = runs, .found = NL_NULL_ROW, .from = INT64_MAX};
    entry->holds_ranges = memchr(trace->slice.kind + row, NL_KIND_NVTX, last - row) ||
                          memchr(trace->slice.kind + row, NL_KIND_LAYER, last - row);
    while (row < last) {
        uint32_t end = depth_end(trace, row, last, trace->slice.depth[row]);
        struct nl_host_run *run = &entry->runs[entry->run_count++];
        *run = (struct nl_host_run){.first = row, .last = end};
        set_run_row(run, trace, row);
        row = end;
    }
    return runs + entry->run_count;
}

/* What PyTorch records as operators, but calls as its users do: "enumerate(DataLoader)#…__next__",
 * "Optimizer.step#Adam.step". NULL when there is none. */
static uint8_t *find_range_names(const struct nl_trace *trace)
{
    uint8_t *found = NULL;
    for (uint32_t id = 1; id < trace->names.count && trace->op.rows; id++) {
        struct nl_str name = nl_trace_name(trace, id);
        if (!nl_str_starts(name, "enumerate(DataLoader)") && !nl_str_starts(name, "Optimizer."))
            continue;
        if (!found)
            found = nl_zalloc((size_t)trace->names.count + 1);
        found[id] = 1;
    }
    return found;
}

void nl_host_init(struct nl_host *host, const struct nl_trace *trace)
{
    size_t lane_count = 0, run_count = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!is_host_lane(trace, lane))
            continue;
        lane_count++;
        run_count += (size_t)trace->lane.depth[lane] + 1;
    }
    *host = (struct nl_host){.trace = trace, .range_names = find_range_names(trace)};
    host->threads = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *host->threads);
    host->lanes = nl_zalloc((lane_count + 1) * sizeof *host->lanes);
    host->runs = nl_zalloc((run_count + 1) * sizeof *host->runs);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (is_host_lane(trace, lane))
            host->threads[trace->lane.thread[lane]].lane_count++;
    struct nl_host_lane *free_lane = host->lanes;
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++) {
        host->threads[thread].lanes = free_lane;
        free_lane += host->threads[thread].lane_count;
        host->threads[thread].lane_count = 0;
    }
    struct nl_host_run *free_run = host->runs;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!is_host_lane(trace, lane))
            continue;
        struct nl_host_thread *thread = &host->threads[trace->lane.thread[lane]];
        struct nl_host_lane *entry = &thread->lanes[thread->lane_count++];
        free_run = add_runs(entry, trace, lane, free_run);
        entry->holds_ranges |= host->range_names && trace->lane.kind[lane] == NL_LANE_THREAD;
    }
}

void nl_host_release(struct nl_host *host)
{
    nl_free(host->threads);
    nl_free(host->lanes);
    nl_free(host->runs);
    nl_free(host->range_names);
    *host = (struct nl_host){0};
}

/* Moves to the last row that begins at or before `moment`; `first` when none does. */
static void seek(struct nl_host_run *run, const struct nl_trace *trace, int64_t moment)
{
    const int64_t *ts = trace->slice.ts;
    uint32_t low = run->row, step = 1;
    if (run->start > moment)
        low = run->first; /* went back */
    uint32_t high = low + 1;
    while (high < run->last && ts[high] <= moment) {
        low = high;
        high = run->last - high > step ? high + step : run->last;
        step *= 2;
    }
    low = NL_FIRST(i, low + 1, high, ts[i] > moment) - 1;
    set_run_row(run, trace, low);
}

static inline void shorten(int64_t *until, int64_t moment)
{
    if (moment < *until)
        *until = moment;
}

/* Asks a lane again: its innermost open slice, which stays so until lane->until. */
static void ask_lane(const struct nl_trace *trace, struct nl_host_lane *lane, int64_t moment)
{
    lane->found = NL_NULL_ROW;
    lane->from = moment;
    lane->until = INT64_MAX;
    for (uint32_t i = 0; i < lane->run_count; i++) {
        struct nl_host_run *run = &lane->runs[i];
        if (moment < run->start || moment >= run->next)
            seek(run, trace, moment);
        if (run->start > moment) {
            shorten(&lane->until, run->start);
            return;
        }
        if (run->end <= moment) {
            shorten(&lane->until, run->next);
            return;
        }
        shorten(&lane->until, run->end);
        lane->found = run->row;
    }
}

static unsigned telling(const struct nl_trace *trace, uint32_t slice)
{
    switch (trace->slice.kind[slice]) {
    case NL_KIND_API:
    case NL_KIND_OVERHEAD: return 3;
    case NL_KIND_OSRT: return 1;
    case NL_KIND_NVTX: return 0;
    default: return 2;
    }
}

uint32_t nl_host_at(struct nl_host *host, uint32_t thread, int64_t ts, int64_t *until)
{
    const struct nl_trace *trace = host->trace;
    uint32_t best = NL_NULL_ROW;
    unsigned most = 0;
    *until = INT64_MAX;
    if (thread >= trace->thread.rows)
        return NL_NULL_ROW;
    struct nl_host_thread *it = &host->threads[thread];
    for (uint32_t i = 0; i < it->lane_count; i++) {
        struct nl_host_lane *lane = &it->lanes[i];
        if (ts < lane->from || ts >= lane->until) {
            ask_lane(trace, lane, ts);
            lane->rank = lane->found == NL_NULL_ROW ? 0 : telling(trace, lane->found);
        }
        shorten(until, lane->until);
        uint32_t slice = lane->found;
        unsigned rank = lane->rank;
        if (slice == NL_NULL_ROW)
            continue;
        if (best == NL_NULL_ROW || rank > most ||
            (rank == most && trace->slice.ts[slice] > trace->slice.ts[best])) {
            best = slice;
            most = rank;
        }
    }
    return best;
}

/* Ranges are on separate lanes or among operators; modules are among the Python frames inside which
 * they run. */
static uint32_t range_among(const struct nl_host *host, uint32_t slice)
{
    const struct nl_trace *trace = host->trace;
    while (slice != NL_NULL_ROW && trace->slice.kind[slice] != NL_KIND_NVTX &&
           trace->slice.kind[slice] != NL_KIND_LAYER &&
           !(host->range_names && host->range_names[trace->slice.name[slice]]))
        slice = trace->slice.parent[slice];
    return slice;
}

uint32_t nl_host_range(const struct nl_host *host, uint32_t thread)
{
    const struct nl_trace *trace = host->trace;
    uint32_t best = NL_NULL_ROW;
    if (thread >= trace->thread.rows)
        return NL_NULL_ROW;
    const struct nl_host_thread *it = &host->threads[thread];
    for (uint32_t i = 0; i < it->lane_count; i++) {
        if (!it->lanes[i].holds_ranges || it->lanes[i].found == NL_NULL_ROW)
            continue;
        uint32_t slice = range_among(host, it->lanes[i].found);
        if (slice != NL_NULL_ROW &&
            (best == NL_NULL_ROW || trace->slice.ts[slice] > trace->slice.ts[best]))
            best = slice;
    }
    return best;
}
