/*
 * Attribution of launches to ranges: nl_launch_ranges and the projection's parts on a made-up
 * trace, beside a radix sort of the same events by time, which is what a sweep needs at least.
 *
 *     build/bench/bench_attribution [RANGES [LAUNCHES [DEPTH]]]       default 10000000 3000000 8
 *
 * Four threads; each has ranges DEPTH deep, launches spread over them, and two lanes of ranges.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "timeline/attribution.h"
#include "timeline/owner.h"

#define THREADS 4

struct counts {
    uint32_t ranges, launches, depth;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void alloc_slices(struct nl_trace *trace, uint32_t rows)
{
    struct nl_slice_table *slice = &trace->slice;
    slice->ts = nl_zalloc(rows * sizeof *slice->ts);
    slice->dur = nl_zalloc(rows * sizeof *slice->dur);
    slice->name = nl_zalloc(rows * sizeof *slice->name);
    slice->kind = nl_zalloc(rows);
    slice->flags = nl_zalloc(rows);
    slice->depth = nl_zalloc(rows * sizeof *slice->depth);
    slice->lane = nl_zalloc(rows * sizeof *slice->lane);
    slice->parent = nl_no_rows(rows);
    slice->link = nl_no_rows(rows);
    slice->detail = nl_no_rows(rows);
}

static uint32_t open_lane(struct nl_trace *trace, uint32_t thread)
{
    uint32_t lane = trace->lane.rows++;
    trace->lane.thread[lane] = thread;
    trace->lane.process[lane] = NL_NULL_ROW;
    trace->lane.first[lane] = trace->slice.rows;
    return lane;
}

static void add(struct nl_trace *trace, uint32_t lane, enum nl_kind kind, int64_t ts, int64_t dur,
                unsigned depth)
{
    uint32_t row = trace->slice.rows++;
    trace->slice.ts[row] = ts;
    trace->slice.dur[row] = dur;
    trace->slice.kind[row] = (uint8_t)kind;
    trace->slice.lane[row] = lane;
    trace->slice.depth[row] = (uint16_t)depth;
    trace->lane.count[lane]++;
}

/* Towers of nested ranges, one beside the other, depth by depth as the store has them. */
static void add_ranges(struct nl_trace *trace, uint32_t thread, uint32_t ranges, uint32_t depth,
                       int64_t offset)
{
    uint32_t lane = open_lane(trace, thread), towers = ranges / depth;
    int64_t width = 4 * (int64_t)depth;
    for (uint32_t level = 0; level < depth; level++)
        for (uint32_t tower = 0; tower < towers; tower++) {
            add(trace, lane, NL_KIND_NVTX, tower * width + level + offset, width - 2 * level - 1,
                level);
            if (level)
                trace->slice.parent[trace->slice.rows - 1] = trace->slice.rows - 1 - towers;
        }
}

static void build(struct nl_trace *trace, const struct counts *counts)
{
    uint32_t lanes = 4 * THREADS, each = counts->launches / THREADS;
    int64_t span = 2 * (int64_t)counts->ranges / THREADS;
    alloc_slices(trace, counts->ranges + 2 * counts->launches + 1);
    trace->thread.rows = THREADS;
    trace->lane.thread = nl_zalloc(lanes * sizeof *trace->lane.thread);
    trace->lane.process = nl_zalloc(lanes * sizeof *trace->lane.process);
    trace->lane.first = nl_zalloc(lanes * sizeof *trace->lane.first);
    trace->lane.count = nl_zalloc(lanes * sizeof *trace->lane.count);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        uint32_t half = counts->ranges / THREADS / 2;
        add_ranges(trace, thread, half, counts->depth, 0);
        add_ranges(trace, thread, half, counts->depth, 1);
        uint32_t calls = open_lane(trace, thread), first = trace->slice.rows;
        for (uint32_t i = 0; i < each; i++)
            add(trace, calls, NL_KIND_API, span * i / each, 1, 0);
        uint32_t stream = open_lane(trace, NL_NULL_ROW);
        for (uint32_t i = 0; i < each; i++) {
            add(trace, stream, NL_KIND_KERNEL, span * i / each + 100, 1, 0);
            trace->slice.link[trace->slice.rows - 1] = first + i;
        }
    }
}

static double time_sort(const struct nl_trace *trace)
{
    uint32_t count = 0;
    struct nl_keyed *items = nl_alloc(2 * ((size_t)trace->slice.rows + 1) * sizeof *items);
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (trace->slice.kind[row] != NL_KIND_KERNEL)
            items[count++] = (struct nl_keyed){nl_sort_key(trace->slice.ts[row]), row};
    double start = now();
    nl_sort_keyed(items, items + count, count);
    double took = now() - start;
    nl_free(items);
    return took;
}

int main(int argc, char **argv)
{
    struct counts counts = {10000000, 3000000, 8};
    struct nl_trace trace = {0};
    if (argc > 1)
        counts.ranges = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        counts.launches = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        counts.depth = (uint32_t)strtoul(argv[3], NULL, 10);
    build(&trace, &counts);
    double sorted = time_sort(&trace), start = now();
    size_t count, owned = 0;
    struct nl_launch_range *answer = nl_launch_ranges(&trace, NL_KIND_NVTX, &count);
    double took = now() - start;
    for (size_t i = 0; i < count; i++)
        owned += answer[i].range != NL_NULL_ROW;
    printf("%u ranges, %zu launches (%zu owned): %.3f s; sorting the events: %.3f s; ratio %.2f\n",
           counts.ranges, count, owned, took, sorted, took / sorted);
    return 0;
}
