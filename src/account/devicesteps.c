/* devicesteps — see devicesteps.h. A stream runs its work in the order of launches,
 * so per stream and step one search by the time of the launch finds the step's first
 * work and the one before it. */
#include "account/devicesteps.h"

#include "base/mem.h"
#include "base/search.h"
#include "timeline/worksweep.h"
#include "timeline/stepphase.h"

/* The outermost work of a lane. A launch that was not recorded is no later
 * than the next that is known. */
struct queue {
    uint32_t first, last; /* rows */
    uint32_t *known;      /* rows whose launch is known */
    size_t count;
};

static int64_t launched_at(const struct nl_trace *trace, uint32_t row)
{
    return trace->slice.ts[trace->slice.link[row]];
}

static struct queue queue_of(const struct nl_trace *trace, uint32_t lane)
{
    struct queue queue = {.first = trace->lane.first[lane]};
    uint32_t end = queue.first + trace->lane.count[lane];
    queue.last = NL_FIRST(i, queue.first, end, trace->slice.depth[i] != 0);
    queue.known = nl_alloc((queue.last - queue.first + (size_t)1) * sizeof *queue.known);
    for (uint32_t row = queue.first; row < queue.last; row++) {
        uint32_t launch = trace->slice.link[row];
        if (launch != NL_NULL_ROW && trace->slice.kind[launch] == NL_KIND_API)
            queue.known[queue.count++] = row;
    }
    return queue;
}

/* First row that was launched at or after `ts`. */
static uint32_t first_launched(const struct nl_trace *trace, const struct queue *queue, int64_t ts)
{
    size_t found = NL_FIRST(i, 0, queue->count, launched_at(trace, queue->known[i]) >= ts);
    return found ? queue->known[found - 1] + 1 : queue->first;
}

struct boundary {
    int64_t first,
        before; /* start of the first work launched at or after it; end of the one before */
};

static struct boundary boundary_at(const struct nl_trace *trace, const struct queue *queues,
                                   size_t count, int64_t ts)
{
    struct boundary at = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        const struct queue *queue = &queues[i];
        if (!queue->count)
            continue;
        uint32_t row = first_launched(trace, queue, ts);
        if (row < queue->last && trace->slice.ts[row] < at.first)
            at.first = trace->slice.ts[row];
        if (row > queue->first && nl_slice_end(trace, row - 1) > at.before)
            at.before = nl_slice_end(trace, row - 1);
    }
    return at;
}

static int64_t moved(const struct boundary *at, int64_t ts)
{
    if (at->before <= ts)
        return ts;
    int64_t to = at->first < at->before ? at->first : at->before;
    return to > ts ? to : ts;
}

/* Moves the steps to where the queues ran them. */
static bool move_all(const struct nl_trace *trace, const struct queue *queues, size_t queue_count,
                     struct nl_found_step *steps, size_t count)
{
    bool any = false;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        struct boundary at = boundary_at(trace, queues, queue_count, steps[i].start);
        int64_t start = moved(&at, steps[i].start);
        start = start > last ? start : last;
        at = boundary_at(trace, queues, queue_count, steps[i].end);
        int64_t end = moved(&at, steps[i].end);
        end = end > start ? end : start;
        any |= start != steps[i].start || end != steps[i].end;
        last = steps[i].start = start;
        steps[i].end = end;
    }
    for (size_t i = 0; i + 1 < count && any; i++)
        if (steps[i].end > steps[i + 1].start)
            steps[i].end = steps[i + 1].start;
    return any;
}

bool nl_steps_move(const struct nl_trace *trace, int64_t rank, struct nl_found_step *steps,
                   size_t count)
{
    struct nl_window window = {.has_rank = true, .rank = rank};
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, &window, &lanes);
    struct queue *queues = nl_alloc((lane_count + 1) * sizeof *queues);
    for (size_t i = 0; i < lane_count; i++)
        queues[i] = queue_of(trace, lanes[i].lane);
    bool any = lane_count && move_all(trace, queues, lane_count, steps, count);
    for (size_t i = 0; i < lane_count; i++)
        nl_free(queues[i].known);
    nl_free(queues);
    nl_free(lanes);
    return any;
}

void nl_steps_as_run(const struct nl_trace *trace, struct nl_found_steps *found)
{
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        struct nl_found_step *steps = found->items + group->first;
        if (group->method == NL_STEPS_LAUNCHES || group->on_device ||
            !nl_steps_move(trace, group->rank, steps, group->count))
            continue;
        for (size_t i = 0; i < group->count; i++)
            steps[i].phase = NL_STEP_STEADY;
        nl_steps_set_phases(steps, group->count);
    }
}

void nl_steps_find_run(const struct nl_trace *trace, struct nl_found_steps *found)
{
    nl_steps_find(trace, found);
    nl_steps_as_run(trace, found);
}
