/* feeder — see feeder.h. Launches are counted by sampling: who launches is
 * no matter of single calls. */
#include "timeline/feeder.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "timeline/interval.h"
#include "timeline/waitname.h"

#define MAX_LOOKED_AT 4096 /* works per lane, evenly spread */

static uint32_t by_launches(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                            size_t count)
{
    uint64_t *launches = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *launches);
    uint32_t best = NL_NULL_ROW;
    for (size_t i = 0; i < count; i++) {
        uint32_t first = trace->lane.first[lanes[i].lane], rows = trace->lane.count[lanes[i].lane];
        uint32_t stride = rows / MAX_LOOKED_AT + 1;
        for (uint32_t row = first; row - first < rows; row += stride) {
            uint32_t launch = trace->slice.link[row];
            if (launch == NL_NULL_ROW || trace->slice.kind[launch] != NL_KIND_API)
                continue;
            uint32_t thread = trace->lane.thread[trace->slice.lane[launch]];
            if (thread != NL_NULL_ROW)
                launches[thread] += stride;
        }
    }
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        if (launches[thread] && (best == NL_NULL_ROW || launches[thread] > launches[best]))
            best = thread;
    nl_free(launches);
    return best;
}

static bool is_telling(enum nl_lanekind kind)
{
    return kind == NL_LANE_THREAD || kind == NL_LANE_ANNOTATION || kind == NL_LANE_PYTHON ||
           kind == NL_LANE_NVTX;
}

/* What the outermost slices of a lane cover; they do not overlap. */
static int64_t covered(const struct nl_trace *trace, uint32_t lane)
{
    int64_t sum = 0;
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    for (uint32_t row = first; row < last && !trace->slice.depth[row]; row++)
        if (trace->slice.dur[row] != NL_NULL_I64)
            nl_sum_add(&sum, trace->slice.dur[row]);
    return sum;
}

/* What slices of a lane cover that only wait by their names, one inside the other or not. */
static int64_t waited(struct nl_wait_names *waits, uint32_t lane)
{
    const struct nl_trace *trace = waits->trace;
    struct nl_intervals set;
    uint32_t row = trace->lane.first[lane], last = row + trace->lane.count[lane];
    nl_intervals_init(&set);
    for (; row < last; row++)
        if (trace->slice.dur[row] != NL_NULL_I64 &&
            nl_wait_names_has(waits, trace->slice.name[row]))
            nl_intervals_add(&set, trace->slice.ts[row], nl_slice_end(trace, row));
    nl_intervals_normalise(&set);
    int64_t sum = nl_intervals_length(&set);
    nl_intervals_release(&set);
    return sum;
}

bool nl_lane_says_main(const struct nl_trace *trace, uint32_t lane)
{
    static const char *const words[] = {"mainthread", "main thread"};
    if (lane == NL_NULL_ROW)
        return false;
    uint32_t thread = trace->lane.thread[lane];
    struct nl_str of_lane = nl_trace_name(trace, trace->lane.name[lane]);
    struct nl_str of_thread =
        nl_trace_name(trace, thread == NL_NULL_ROW ? NL_NO_NAME : trace->thread.name[thread]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_find_nocase(of_lane, words[i]) >= 0 ||
            nl_str_find_nocase(of_thread, words[i]) >= 0)
            return true;
    return false;
}

/* By its number, as the system has it, or by its name. */
static bool is_main(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t thread = trace->lane.thread[lane], process = trace->thread.process[thread];
    return (process != NL_NULL_ROW && trace->thread.tid[thread] != NL_NULL_I64 &&
            trace->thread.tid[thread] == trace->process.pid[process]) ||
           nl_lane_says_main(trace, lane);
}

struct cover {
    uint32_t thread, lane;
    int64_t covered;
};

static int by_thread(const void *left, const void *right)
{
    const struct cover *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->covered < b->covered) - (a->covered > b->covered);
}

/* A helper that is there all the time and mostly waits says nothing of the program: then the thread
 * that does most. The main thread stays, whatever it does. */
static const struct cover *not_waiting(const struct nl_trace *trace, const struct cover *covers,
                                       size_t count, const struct cover *best)
{
    struct nl_wait_names waits;
    int64_t most = 0;
    if (is_main(trace, best->lane))
        return best;
    nl_wait_names_init(&waits, trace);
    bool idle = waited(&waits, best->lane) > best->covered / 2;
    for (size_t i = 0; i < count && idle; i++) {
        int64_t works = covers[i].covered - waited(&waits, covers[i].lane);
        if (works <= most)
            continue;
        most = works;
        best = &covers[i];
    }
    nl_wait_names_release(&waits);
    return best;
}

static uint32_t most_covered(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                             uint32_t process, bool system_calls, bool *others)
{
    uint32_t from = lanes_of->first[process], to = lanes_of->first[process + 1];
    struct cover *covers = nl_alloc(((size_t)to - from + 1) * sizeof *covers);
    size_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t lane = lanes_of->items[i], thread = trace->lane.thread[lane];
        enum nl_lanekind kind = (enum nl_lanekind)trace->lane.kind[lane];
        if (thread != NL_NULL_ROW && trace->lane.count[lane] &&
            (system_calls ? kind == NL_LANE_OSRT : is_telling(kind)))
            covers[count++] = (struct cover){thread, lane, covered(trace, lane)};
    }
    qsort(covers, count, sizeof *covers, by_thread); /* of each thread the most first */
    const struct cover *best = NULL;
    *others = count && covers[0].thread != covers[count - 1].thread;
    for (size_t i = 0; i < count; i++)
        if (!best || covers[i].covered > best->covered)
            best = &covers[i];
    if (best && *others && !system_calls)
        best = not_waiting(trace, covers, count, best);
    uint32_t thread = best ? best->thread : NL_NULL_ROW;
    nl_free(covers);
    return thread;
}

uint32_t nl_main_thread(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                        uint32_t process, bool *others)
{
    uint32_t thread = most_covered(trace, lanes_of, process, false, others);
    return thread != NL_NULL_ROW ? thread : most_covered(trace, lanes_of, process, true, others);
}

uint32_t nl_feeder(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                   const struct nl_work_lane *lanes, size_t count)
{
    bool others = false;
    uint32_t thread = by_launches(trace, lanes, count);
    if (thread != NL_NULL_ROW)
        return thread;
    for (size_t i = 0; i < count; i++)
        if (lanes[i].process == NL_NULL_ROW || lanes[i].process != lanes[0].process)
            return NL_NULL_ROW;
    thread = nl_main_thread(trace, lanes_of, lanes[0].process, &others);
    return others ? NL_NULL_ROW : thread;
}
