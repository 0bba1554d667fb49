/* feeder — see feeder.h. Launches are counted by sampling: who launches is no matter of single calls. */
#include "timeline/feeder.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "timeline/interval.h"
#include "timeline/waitname.h"

#define MOST_LOOKED_AT 4096 /* works per lane, evenly spread */

static uint32_t by_launches(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                            size_t count)
{
    uint64_t *launches = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *launches);
    uint32_t best = NL_NULL_ROW;
    for (size_t i = 0; i < count; i++) {
        uint32_t first = trace->lane.first[lanes[i].lane], rows = trace->lane.count[lanes[i].lane];
        uint32_t stride = rows / MOST_LOOKED_AT + 1;
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

/* What slices of a lane cover that only wait by their names, one inside the other or not; `names`: 0 not asked yet, 1 no, 2
 * yes. */
static int64_t waited(const struct nl_trace *trace, uint32_t lane, uint8_t *names)
{
    struct nl_intervals set;
    uint32_t row = trace->lane.first[lane], last = row + trace->lane.count[lane];
    nl_intervals_init(&set);
    for (; row < last; row++) {
        uint8_t *known = &names[trace->slice.name[row]];
        if (!*known)
            *known = nl_is_wait_name(nl_trace_name(trace, trace->slice.name[row])) ? 2 : 1;
        if (*known == 2 && trace->slice.dur[row] != NL_NULL_I64)
            nl_intervals_add(&set, trace->slice.ts[row], nl_slice_end(trace, row));
    }
    nl_intervals_normalise(&set);
    int64_t sum = nl_intervals_length(&set);
    nl_intervals_release(&set);
    return sum;
}

static bool is_main(const struct nl_trace *trace, uint32_t thread)
{
    uint32_t process = trace->thread.process[thread];
    return (process != NL_NULL_ROW && trace->thread.tid[thread] != NL_NULL_I64 &&
            trace->thread.tid[thread] == trace->process.pid[process]) ||
           nl_str_find_nocase(nl_trace_name(trace, trace->thread.name[thread]), "mainthread") >= 0;
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

/* A helper that is there all the time and mostly waits says nothing of the program: then the thread that does most. The main
 * thread stays, whatever it does. */
static uint32_t not_waiting(const struct nl_trace *trace, const struct cover *covers, size_t count,
                            uint32_t best)
{
    uint8_t *names = NULL;
    int64_t most = 0;
    bool waits = false;
    if (is_main(trace, best))
        return best;
    names = nl_zalloc((size_t)trace->names.count + 1);
    for (size_t i = 0; i < count && !waits; i++)
        waits = covers[i].thread == best &&
                waited(trace, covers[i].lane, names) > covers[i].covered / 2;
    for (size_t i = 0; i < count && waits; i++) {
        int64_t works = covers[i].covered - waited(trace, covers[i].lane, names);
        if (works <= most)
            continue;
        most = works;
        best = covers[i].thread;
    }
    nl_free(names);
    return best;
}

static uint32_t most_covered(const struct nl_trace *trace, const struct nl_lanes_of *lanes_of,
                             uint32_t process, bool system_calls, bool *others)
{
    uint32_t from = lanes_of->first[process], to = lanes_of->first[process + 1], best = NL_NULL_ROW;
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
    int64_t most = -1;
    *others = count && covers[0].thread != covers[count - 1].thread;
    for (size_t i = 0; i < count; i++)
        if (covers[i].covered > most) {
            most = covers[i].covered;
            best = covers[i].thread;
        }
    if (*others && !system_calls)
        best = not_waiting(trace, covers, count, best);
    nl_free(covers);
    return best;
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
