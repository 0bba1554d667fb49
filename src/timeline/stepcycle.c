/* stepcycle — see stepcycle.h. */
#include "timeline/stepcycle.h"

#include "base/mem.h"
#include "timeline/worksweep.h"

#define MIN_ROUNDS  3
#define MIN_PARTS   2
#define MAX_PARTS   64
#define ALIKE_COUNT 0.9 /* of the most frequent name's count, or one less: it belongs to the loop */
#define MIN_COVERED 0.5
#define MIN_ORDERLY 0.9 /* of the rounds have every part once */

struct part {
    uint32_t name;
    uint64_t count;
    int64_t pause; /* sum of the pauses before it */
};

struct loop {
    const struct nl_trace *trace;
    uint32_t first, last; /* outermost ranges of the lane */
    struct part parts[MAX_PARTS];
    size_t part_count;
};

static struct part *part_of(struct loop *loop, uint32_t name)
{
    for (size_t i = 0; i < loop->part_count; i++)
        if (loop->parts[i].name == name)
            return &loop->parts[i];
    return NULL;
}

/* Names of the outermost ranges; false when there are too many. */
static bool count_parts(struct loop *loop)
{
    for (uint32_t row = loop->first; row < loop->last; row++) {
        uint32_t name = loop->trace->slice.name[row];
        struct part *part = part_of(loop, name);
        if (!part) {
            if (loop->part_count == MAX_PARTS)
                return false;
            part = &loop->parts[loop->part_count++];
            *part = (struct part){.name = name};
        }
        part->count++;
    }
    return true;
}

/* Drops names that are no part of the loop. */
static bool keep_frequent(struct loop *loop)
{
    uint64_t most = 0;
    size_t kept = 0;
    for (size_t i = 0; i < loop->part_count; i++)
        most = loop->parts[i].count > most ? loop->parts[i].count : most;
    for (size_t i = 0; i < loop->part_count; i++)
        if (loop->parts[i].count + 1 >= most ||
            (double)loop->parts[i].count >= ALIKE_COUNT * (double)most)
            loop->parts[kept++] = loop->parts[i];
    loop->part_count = kept;
    return kept >= MIN_PARTS && most > MIN_ROUNDS;
}

/* Pauses before each part, and what all cover. */
static bool covers(struct loop *loop)
{
    const struct nl_slice_table *slice = &loop->trace->slice;
    int64_t covered = 0, end = slice->ts[loop->first];
    for (uint32_t row = loop->first; row < loop->last; row++) {
        struct part *part = part_of(loop, slice->name[row]);
        if (part) {
            covered += nl_slice_end(loop->trace, row) - slice->ts[row];
            part->pause += slice->ts[row] - end;
        }
        end = nl_slice_end(loop->trace, row);
    }
    return (double)covered >= MIN_COVERED * (double)(end - slice->ts[loop->first]);
}

/* Starts of the rounds that begin with `name`, and where the last one ends. */
static struct nl_step_cycle cut(struct loop *loop, uint32_t name)
{
    const struct nl_slice_table *slice = &loop->trace->slice;
    struct nl_step_cycle cycle = {
        .starts = nl_alloc(((size_t)(loop->last - loop->first) + 2) * sizeof *cycle.starts),
        .name = name};
    size_t orderly = 0, seen = 0;
    int64_t end = 0;
    for (uint32_t row = loop->first; row < loop->last; row++) {
        if (!part_of(loop, slice->name[row]))
            continue;
        if (slice->name[row] == name) {
            orderly += cycle.count && seen == loop->part_count;
            cycle.starts[cycle.count++] = slice->ts[row];
            seen = 0;
        }
        seen++;
        end = nl_slice_end(loop->trace, row);
    }
    if (cycle.count && seen != loop->part_count)
        cycle.count--; /* the last one was cut off */
    else if (cycle.count) {
        cycle.starts[cycle.count] = end;
        orderly++;
    }
    if ((double)orderly < MIN_ORDERLY * (double)cycle.count || cycle.count < MIN_ROUNDS)
        cycle.count = 0;
    return cycle;
}

static struct nl_step_cycle cycle_of(const struct nl_trace *trace, uint32_t lane)
{
    struct loop loop = {.trace = trace, .first = trace->lane.first[lane]};
    struct nl_step_cycle none = {0};
    uint32_t last = loop.first + trace->lane.count[lane];
    for (loop.last = loop.first; loop.last < last && trace->slice.depth[loop.last] == 0;)
        loop.last++;
    if (loop.last - loop.first < MIN_ROUNDS * MIN_PARTS || !count_parts(&loop) ||
        !keep_frequent(&loop) || !covers(&loop))
        return none;
    const struct part *first = &loop.parts[0];
    for (size_t i = 1; i < loop.part_count; i++)
        if (loop.parts[i].pause > first->pause)
            first = &loop.parts[i];
    struct nl_step_cycle cycle = cut(&loop, first->name);
    if (cycle.count)
        return cycle;
    nl_free(cycle.starts);
    return none;
}

struct nl_step_cycle nl_step_cycle(const struct nl_trace *trace, int64_t rank)
{
    struct nl_window window = {.has_rank = true, .rank = rank};
    struct nl_work_lane *lanes;
    struct nl_step_cycle best = {0};
    size_t work = nl_work_lanes(trace, &window, &lanes);
    nl_free(lanes);
    for (uint32_t lane = 0; lane < trace->lane.rows && !work; lane++) {
        enum nl_lanekind kind = (enum nl_lanekind)trace->lane.kind[lane];
        if ((kind != NL_LANE_NVTX && kind != NL_LANE_ANNOTATION) || trace->lane.sub[lane] ||
            nl_lane_rank(trace, lane) != rank)
            continue;
        struct nl_step_cycle cycle = cycle_of(trace, lane);
        if (cycle.count > best.count) {
            nl_free(best.starts);
            best = cycle;
        } else {
            nl_free(cycle.starts);
        }
    }
    return best;
}
