/*
 * Steps per rank: marked, else ranges whose text says so, else what the launch sequence repeats.
 * Ranges of one rule on one thread are a candidate; the best one by confidence wins.
 */
#include "base/search.h"
#include "base/sum.h"
#include "timeline/stepfind.h"
#include "timeline/stepphase.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "timeline/coldlaunch.h"
#include "timeline/launchorder.h"
#include "timeline/stepcheck.h"
#include "timeline/stepcycle.h"
#include "timeline/stepdetect.h"
#include "timeline/stepname.h"
#include "timeline/stepranges.h"

#define MARKED_CONFIDENCE 1.0
#define CYCLE_CONFIDENCE  0.6
#define MIN_CONFIDENCE    0.5
#define NOT_TOLD          0.8 /* times: nothing on the host says that it is not layers */

const char *nl_step_method_text(enum nl_step_method method)
{
    static const char *const text[NL_STEP_METHODS] = {"marked", "ranges", "launches"};
    return text[method];
}

const char *nl_step_phase_text(enum nl_step_phase phase)
{
    static const char *const text[] = {"steady", "warm-up", "compile", "last"};
    return text[phase];
}

static int by_start(const void *left, const void *right)
{
    const struct nl_found_step *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct nl_step_group *add_group(struct nl_found_steps *found, int64_t rank,
                                       enum nl_step_method method, double confidence)
{
    nl_grow(&found->groups, &found->group_cap, found->group_count + 1);
    struct nl_step_group *group = &found->groups[found->group_count++];
    *group = (struct nl_step_group){
        .rank = rank, .method = method, .confidence = confidence, .first = found->count};
    return group;
}

static void add_step(struct nl_found_steps *found, struct nl_step_group *group,
                     struct nl_found_step step)
{
    nl_grow(&found->items, &found->cap, found->count + 1);
    found->items[found->count++] = step;
    group->count++;
}

/* ---- marked ---- */

static int64_t rank_of_lane(const struct nl_trace *trace, uint32_t lane)
{
    return lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane);
}

/* Of a thread's lane: marks on lanes of devices (XPlane) are those of each device. */
static uint32_t process_of_lane(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t thread = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.thread[lane];
    return thread == NL_NULL_ROW ? NL_NULL_ROW : trace->thread.process[thread];
}

static bool is_mark_of(const struct nl_trace *trace, uint32_t row, int64_t rank)
{
    return trace->step.dur[row] != NL_NULL_I64 &&
           rank_of_lane(trace, trace->step.lane[row]) == rank;
}

/* Several processes of which no rank is known (files that were merged) mark each step, each for
 * itself: whose marks to take, those of the one that has most. NL_NULL_ROW: all, where the
 * steps of two never overlap. */
static uint32_t marking_process(const struct nl_trace *trace, int64_t rank)
{
    const struct nl_step_table *table = &trace->step;
    struct nl_keyed *marks = nl_alloc((2 * (size_t)table->rows + 1) * sizeof *marks);
    uint64_t *counts = nl_zalloc(((size_t)trace->process.rows + 1) * sizeof *counts);
    size_t count = 0;
    for (uint32_t row = 0; row < table->rows; row++)
        if (is_mark_of(trace, row, rank) && process_of_lane(trace, table->lane[row]) != NL_NULL_ROW)
            marks[count++] = (struct nl_keyed){nl_sort_key(table->ts[row]), row};
    nl_sort_keyed(marks, marks + count, count);
    int64_t end = INT64_MIN;
    uint32_t last = NL_NULL_ROW, best = NL_NULL_ROW;
    bool shared = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = marks[i].row, process = process_of_lane(trace, table->lane[row]);
        shared |= table->ts[row] < end && process != last;
        if (table->ts[row] + table->dur[row] > end) {
            end = table->ts[row] + table->dur[row];
            last = process;
        }
        if (++counts[process] > (best == NL_NULL_ROW ? 0 : counts[best]))
            best = process;
    }
    nl_free(counts);
    nl_free(marks);
    return shared ? best : NL_NULL_ROW;
}

static bool find_marked(const struct nl_trace *trace, int64_t rank, struct nl_found_steps *found)
{
    const struct nl_step_table *table = &trace->step;
    struct nl_step_group *group = NULL;
    uint32_t only = table->rows ? marking_process(trace, rank) : NL_NULL_ROW;
    for (uint32_t row = 0; row < table->rows; row++) {
        if (!is_mark_of(trace, row, rank) ||
            (only != NL_NULL_ROW && process_of_lane(trace, table->lane[row]) != only))
            continue;
        if (!group)
            group = add_group(found, rank, NL_STEPS_MARKED, MARKED_CONFIDENCE);
        group->on_device =
            table->lane[row] != NL_NULL_ROW && trace->lane.device[table->lane[row]] != NL_NULL_ROW;
        add_step(found, group,
                 (struct nl_found_step){.index = table->index[row],
                                        .start = table->ts[row],
                                        .end = table->ts[row] + table->dur[row],
                                        .name = table->name[row]});
    }
    if (group)
        qsort(found->items + group->first, group->count, sizeof *found->items, by_start);
    return group != NULL;
}

/* ---- ranges ---- */

static bool find_ranges(const struct nl_trace *trace, const struct nl_step_ranges *ranges,
                        int64_t rank, struct nl_found_steps *found)
{
    const struct nl_step_candidate *best = nl_step_ranges_best(ranges, rank);
    if (!best || best->confidence < MIN_CONFIDENCE)
        return false;
    struct nl_step_group *group = add_group(found, rank, NL_STEPS_RANGES, best->confidence);
    group->pattern = nl_step_rules[best->rule].pattern;
    int64_t end = INT64_MIN;
    for (size_t i = best->first; i < best->first + best->count; i++) {
        const struct nl_step_range *range = &ranges->items[i];
        if (range->start < end)
            continue;
        end = range->end;
        int64_t index = range->number == NL_NULL_I64 ? (int64_t)group->count : range->number;
        add_step(found, group,
                 (struct nl_found_step){.index = index,
                                        .start = range->start,
                                        .end = range->end,
                                        .name = trace->slice.name[range->slice]});
    }
    return true;
}

/* ---- parts of a loop that come round ---- */

static bool find_cycle(const struct nl_trace *trace, int64_t rank, struct nl_found_steps *found)
{
    struct nl_step_cycle cycle = nl_step_cycle(trace, rank);
    struct nl_step_group *group = NULL;
    if (cycle.count)
        group = add_group(found, rank, NL_STEPS_RANGES, CYCLE_CONFIDENCE);
    for (size_t i = 0; i < cycle.count; i++)
        add_step(found, group,
                 (struct nl_found_step){.index = (int64_t)i,
                                        .start = cycle.starts[i],
                                        .end = cycle.starts[i + 1],
                                        .name = cycle.name});
    nl_free(cycle.starts);
    return group != NULL;
}

/* ---- launches ---- */

/* The device that ran most kernels and graphs of a rank; NL_NULL_ROW when there is none. */
static uint32_t busiest_device(const struct nl_trace *trace, int64_t rank)
{
    size_t *counts = nl_zalloc((trace->device.rows + (size_t)1) * sizeof *counts);
    uint32_t best = NL_NULL_ROW;
    size_t most = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t device = trace->lane.device[lane];
        if (device == NL_NULL_ROW || trace->lane.kind[lane] != NL_LANE_STREAM ||
            nl_lane_rank(trace, lane) != rank)
            continue;
        counts[device] += trace->lane.count[lane];
        if (counts[device] > most) {
            most = counts[device];
            best = device;
        }
    }
    nl_free(counts);
    return best;
}

/* From the beginning of its first launch to that of the next segment; the last one to its end. */
static void add_cut(struct nl_found_steps *found, struct nl_step_group *group,
                    const struct nl_trace *trace, const struct nl_launch_order *order,
                    const struct nl_step_cut *cut)
{
    bool alike = cut->likeness >= NL_STEP_ALIKE, whole = cut->last < order->count;
    int64_t end = whole ? trace->slice.ts[order->slices[cut->last]] : INT64_MIN;
    for (size_t k = cut->first; !whole && k < order->count; k++) {
        int64_t own = nl_slice_end(trace, order->slices[k]);
        end = own > end ? own : end;
    }
    add_step(found, group,
             (struct nl_found_step){.index = (int64_t)group->count,
                                    .start = trace->slice.ts[order->slices[cut->first]],
                                    .end = end,
                                    .phase = alike ? NL_STEP_STEADY : NL_STEP_WARM_UP});
}

/* How sure, once the host was asked whether these are layers. */
static double sureness(const struct nl_trace *trace, int64_t rank,
                       const struct nl_launch_order *order, const struct nl_step_cuts *cuts)
{
    uint32_t *markers = nl_alloc((cuts->count + 1) * sizeof *markers);
    for (size_t i = 0; i < cuts->count; i++)
        markers[i] = order->slices[cuts->items[i].first];
    enum nl_step_verdict verdict = nl_steps_check(trace, rank, markers, cuts->count);
    nl_free(markers);
    switch (verdict) {
    case NL_STEPS_ARE_LAYERS: return 0;
    case NL_STEPS_ARE_STEPS: return cuts->confidence;
    default: return cuts->confidence * NOT_TOLD;
    }
}

static void find_launches(const struct nl_trace *trace, int64_t rank, struct nl_found_steps *found)
{
    struct nl_launch_order order;
    uint32_t device = busiest_device(trace, rank);
    if (device == NL_NULL_ROW)
        return;
    nl_launch_order_init(&order, trace, rank, device);
    struct nl_step_sequence sequence = {order.names, order.count, order.name_count, order.idle};
    struct nl_step_cuts cuts = nl_step_detect(&sequence);
    double confidence = cuts.count > 1 ? sureness(trace, rank, &order, &cuts) : 0;
    if (confidence >= MIN_CONFIDENCE) {
        struct nl_step_group *group = add_group(found, rank, NL_STEPS_LAUNCHES, confidence);
        for (size_t i = 0; i < cuts.count; i++) { /* unlike ones count at the beginning only */
            if (cuts.items[i].likeness < NL_STEP_ALIKE && i != group->count)
                continue;
            add_cut(found, group, trace, &order, &cuts.items[i]);
            found->items[found->count - 1].name = order.name_ids[cuts.name];
        }
    }
    nl_free(cuts.items);
    nl_launch_order_release(&order);
}

/* ---- phases ---- */

static bool is_loading_call(struct nl_str name)
{
    static const char *const starts[] = {"cuModuleLoad",   "cuLibraryLoad",  "cudaLibraryLoad",
                                         "hipModuleLoad",  "cuLinkComplete", "nvrtcCompileProgram",
                                         "hiprtcCompileP", "hipLibraryLoad"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(name, starts[i]))
            return true;
    return false;
}

/* Adds `dur` to the step of the group that holds `ts`. */
static void add_load(struct nl_found_steps *found, const struct nl_step_group *group, int64_t ts,
                     int64_t dur)
{
    size_t low = NL_FIRST(i, group->first, group->first + group->count, found->items[i].end > ts);
    if (low == group->first + group->count || found->items[low].start > ts)
        return;
    struct nl_found_step *step = &found->items[low];
    nl_sum_add(&step->load_ns, ts + dur > step->end ? step->end - ts : dur);
}

static struct nl_step_group *group_of(struct nl_found_steps *found, int64_t rank)
{
    for (size_t i = 0; i < found->group_count; i++)
        if (found->groups[i].rank == rank)
            return &found->groups[i];
    return NULL;
}

static void count_loads(const struct nl_trace *trace, struct nl_found_steps *found)
{
    enum { UNSEEN, OTHER, LOADS, LAUNCHES };
    uint8_t *calls = nl_zalloc(trace->names.count);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        uint8_t kind = trace->slice.kind[row];
        if (kind != NL_KIND_API && kind != NL_KIND_COMPILE)
            continue;
        uint8_t *call = &calls[trace->slice.name[row]];
        if (*call == UNSEEN) {
            struct nl_str name = nl_trace_name(trace, trace->slice.name[row]);
            *call = is_loading_call(name) ? LOADS : OTHER;
            if (*call == OTHER && nl_api_role_of(name, NULL) == NL_API_LAUNCH)
                *call = LAUNCHES;
        }
        bool loads = *call == LOADS || (*call == LAUNCHES && nl_is_cold_launch(trace, row));
        if ((kind == NL_KIND_API && !loads) || trace->slice.dur[row] == NL_NULL_I64)
            continue;
        const struct nl_step_group *group =
            group_of(found, nl_lane_rank(trace, trace->slice.lane[row]));
        if (group)
            add_load(found, group, trace->slice.ts[row], trace->slice.dur[row]);
    }
    nl_free(calls);
}

/* ---- all ranks ---- */

static int by_rank(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Ranks of all lanes, ascending, each once. nl_free the array. */
static int64_t *list_ranks(const struct nl_trace *trace, size_t *count)
{
    int64_t *ranks = nl_alloc((trace->lane.rows + (size_t)1) * sizeof *ranks);
    size_t kept = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        ranks[lane] = nl_lane_rank(trace, lane);
    ranks[trace->lane.rows] = NL_NULL_I64; /* of steps without a lane */
    qsort(ranks, trace->lane.rows + (size_t)1, sizeof *ranks, by_rank);
    for (size_t i = 0; i <= trace->lane.rows; i++)
        if (!kept || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    *count = kept;
    return ranks;
}

/* By the first of the methods that answers. */
static void find_of_rank(const struct nl_trace *trace, const struct nl_step_ranges *ranges,
                         int64_t rank, unsigned methods, struct nl_found_steps *found)
{
    if (methods & 1u << NL_STEPS_MARKED && find_marked(trace, rank, found))
        return;
    if (methods & 1u << NL_STEPS_RANGES &&
        (find_ranges(trace, ranges, rank, found) || find_cycle(trace, rank, found)))
        return;
    if (methods & 1u << NL_STEPS_LAUNCHES)
        find_launches(trace, rank, found);
}

/* Phases, and the marks. Where the last period of launches would have ended is not known,
 * unless it is the only one. */
static void set_phases_and_marks(struct nl_found_steps *found, const struct nl_step_group *group)
{
    struct nl_found_step *steps = found->items + group->first;
    nl_steps_set_phases(steps, group->count);
    for (size_t i = 0; i < group->count; i++) {
        steps[i].marked_start = steps[i].start;
        steps[i].marked_end = steps[i].end;
    }
    if (group->method == NL_STEPS_LAUNCHES && group->count > 1)
        steps[group->count - 1].phase = NL_STEP_LAST;
}

void nl_steps_find(const struct nl_trace *trace, struct nl_found_steps *found)
{
    nl_steps_find_by(trace, (1u << NL_STEP_METHODS) - 1, found);
}

void nl_steps_find_by(const struct nl_trace *trace, unsigned methods, struct nl_found_steps *found)
{
    size_t rank_count;
    int64_t *ranks = list_ranks(trace, &rank_count);
    struct nl_step_ranges ranges;
    *found = (struct nl_found_steps){0};
    nl_step_ranges_init(&ranges, trace);
    for (size_t i = 0; i < rank_count; i++)
        find_of_rank(trace, &ranges, ranks[i], methods, found);
    nl_step_ranges_release(&ranges);
    nl_free(ranks);
    if (found->count)
        count_loads(trace, found);
    for (size_t i = 0; i < found->group_count; i++)
        set_phases_and_marks(found, &found->groups[i]);
}

void nl_steps_release(struct nl_found_steps *found)
{
    nl_free(found->items);
    nl_free(found->groups);
    *found = (struct nl_found_steps){0};
}
