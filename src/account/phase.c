/* phase — see phase.h. */
#include "account/phase.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "timeline/apirole.h"
#include "timeline/worksweep.h"

#define LOADING_SHARE  0.3
#define COLD_LAUNCH_NS 1000000 /* a launch call of this length that loads code first */
#define LEAST_STEPS    4       /* fewer have no usual length */
#define OUTLIER_TIMES  1.5     /* the median, at least */
#define MOST_Z         3.5     /* Iglewicz and Hoaglin 1993, as stepphase.c */
#define PAUSE_TIMES    2.0     /* the median step: a pause this long belongs to no step */

const char *nl_phase_name(enum nl_phase phase)
{
    static const char *const names[NL_PHASES] = {"startup", "warmup", "steady", "tail", "outlier"};
    return names[phase];
}

static void add_cut(struct nl_phases *phases, int64_t start, enum nl_phase phase)
{
    struct nl_phase_group *group = &phases->groups[phases->group_count - 1];
    if (group->count && phases->cuts[phases->cut_count - 1].phase == phase)
        return;
    if (group->count && phases->cuts[phases->cut_count - 1].start == start) {
        phases->cuts[phases->cut_count - 1].phase = phase;
        return;
    }
    nl_grow(&phases->cuts, &phases->cut_cap, phases->cut_count + 1);
    phases->cuts[phases->cut_count++] = (struct nl_phase_cut){start, phase};
    group->count++;
}

static struct nl_phase_group *add_group(struct nl_phases *phases, int64_t rank)
{
    nl_grow(&phases->groups, &phases->group_cap, phases->group_count + 1);
    struct nl_phase_group *group = &phases->groups[phases->group_count++];
    *group = (struct nl_phase_group){.rank = rank, .first = phases->cut_count};
    return group;
}

/* ---- With steps ---- */

struct usual {
    int64_t median; /* 0: too few to tell */
    double most;
};

static int64_t middle_of(int64_t *values, size_t count)
{
    nl_sort_i64(values, count);
    return values[count / 2];
}

static struct usual usual_length(const struct nl_found_step *steps, size_t count)
{
    struct usual usual = {0, 0};
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].phase == NL_STEP_STEADY)
            values[kept++] = steps[i].end - steps[i].start;
    if (kept) {
        usual.median = middle_of(values, kept);
        for (size_t i = 0; i < kept; i++)
            values[i] = llabs(values[i] - usual.median);
        double spread = 1.4826 * (double)middle_of(values, kept);
        double least = OUTLIER_TIMES * (double)usual.median;
        usual.most = (double)usual.median + MOST_Z * spread;
        usual.most = usual.most > least ? usual.most : least;
    }
    if (kept < LEAST_STEPS)
        usual.most = 0;
    nl_free(values);
    return usual;
}

static enum nl_phase phase_of(const struct nl_found_step *step, const struct usual *usual,
                              bool warm)
{
    if (step->phase != NL_STEP_STEADY)
        return warm ? NL_OUTLIER : NL_WARMUP;
    if (usual->most > 0 && (double)(step->end - step->start) > usual->most)
        return NL_OUTLIER;
    return NL_STEADY;
}

static void cut_by_steps(struct nl_phases *phases, const struct nl_step_group *steps)
{
    struct nl_phase_group *group = add_group(phases, steps->rank);
    const struct nl_found_step *items = phases->steps->items + steps->first;
    struct usual usual = usual_length(items, steps->count);
    bool warm = false;
    group->step_first = steps->first;
    group->step_count = steps->count;
    add_cut(phases, INT64_MIN, NL_STARTUP);
    for (size_t i = 0; i < steps->count; i++) {
        enum nl_phase phase = phase_of(&items[i], &usual, warm);
        warm |= phase == NL_STEADY;
        group->steps[phase]++;
        add_cut(phases, items[i].start, phase);
        if (i + 1 == steps->count)
            add_cut(phases, items[i].end, NL_TAIL);
        else if (usual.median > 0 &&
                 (double)(items[i + 1].start - items[i].end) > PAUSE_TIMES * (double)usual.median)
            add_cut(phases, items[i].end, NL_OUTLIER);
    }
}

/* ---- Without ---- */

struct busy_span {
    int64_t rank, start, end; /* of the device work of a rank */
};

static struct busy_span *add_span(struct busy_span *spans, size_t *count, int64_t rank)
{
    for (size_t i = 0; i < *count; i++)
        if (spans[i].rank == rank)
            return &spans[i];
    spans[*count] = (struct busy_span){rank, INT64_MAX, INT64_MIN};
    return &spans[(*count)++];
}

static int by_span_rank(const void *left, const void *right)
{
    const struct busy_span *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Ranks of lanes, with the span of their device work; nl_free it. */
static struct busy_span *spans_of_ranks(const struct nl_trace *trace, size_t *count)
{
    struct busy_span *spans = nl_alloc(((size_t)trace->lane.rows + 2) * sizeof *spans);
    *count = 0;
    add_span(spans, count, NL_NULL_I64);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        add_span(spans, count, nl_lane_rank(trace, lane));
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, NULL, &lanes);
    for (size_t i = 0; i < lane_count; i++) {
        struct busy_span *span = add_span(spans, count, lanes[i].rank);
        uint32_t first = trace->lane.first[lanes[i].lane];
        uint32_t last = first + trace->lane.count[lanes[i].lane];
        if (trace->slice.ts[first] < span->start)
            span->start = trace->slice.ts[first];
        for (uint32_t row = first; row < last; row++)
            if (nl_slice_end(trace, row) > span->end)
                span->end = nl_slice_end(trace, row);
    }
    nl_free(lanes);
    qsort(spans, *count, sizeof *spans, by_span_rank);
    return spans;
}

struct load {
    int64_t rank, start, end;
};

struct loads {
    struct load *items;
    size_t count, cap;
};

/* A launch that takes long and whose work begins as soon as it returns loaded its code; while a queue is
 * full the work begins much later. */
static bool is_cold_launch(const struct nl_trace *trace, uint32_t slice)
{
    int64_t dur = trace->slice.dur[slice];
    uint32_t work = trace->slice.link[slice];
    if (dur < COLD_LAUNCH_NS || work == NL_NULL_ROW)
        return false;
    return trace->slice.ts[work] <= nl_slice_end(trace, slice) + dur / 10 &&
           trace->slice.ts[work] >= trace->slice.ts[slice] + dur / 2;
}

static bool loads_code(const struct nl_trace *trace, const struct nl_api_roles *roles,
                       uint32_t slice)
{
    switch (nl_api_slice_role(roles, trace, slice)) {
    case NL_API_MODULE:
    case NL_API_GRAPH_BUILD: return true;
    case NL_API_LAUNCH: return is_cold_launch(trace, slice);
    default: return false;
    }
}

static void add_load(struct loads *loads, const struct nl_trace *trace, uint32_t slice)
{
    if (trace->slice.dur[slice] == NL_NULL_I64 || trace->slice.dur[slice] <= 0)
        return;
    nl_grow(&loads->items, &loads->cap, loads->count + 1);
    loads->items[loads->count++] =
        (struct load){nl_lane_rank(trace, trace->slice.lane[slice]), trace->slice.ts[slice],
                      nl_slice_end(trace, slice)};
}

static int by_start(const void *left, const void *right)
{
    const struct load *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Of all ranks, by rank and start. */
static struct loads list_loads(const struct nl_trace *trace)
{
    struct loads loads = {0};
    struct nl_api_roles roles;
    nl_api_roles_init(&roles, trace);
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (slice != NL_NULL_ROW && loads_code(trace, &roles, slice))
            add_load(&loads, trace, slice);
    }
    nl_api_roles_release(&roles);
    if (loads.count)
        qsort(loads.items, loads.count, sizeof *loads.items, by_start);
    return loads;
}

/* Start-up goes on while loading takes its share of the time since `start`. */
static int64_t startup_end(const struct loads *loads, const struct busy_span *span)
{
    int64_t start = span->start, last = span->end;
    int64_t end = start, covered = start, loading = 0;
    for (size_t i = 0; i < loads->count; i++) {
        if (loads->items[i].rank != span->rank)
            continue;
        int64_t from = loads->items[i].start > covered ? loads->items[i].start : covered;
        int64_t to = loads->items[i].end < last ? loads->items[i].end : last;
        if (to <= from)
            continue;
        loading += to - from;
        covered = to;
        if ((double)loading >= LOADING_SHARE * (double)(to - start))
            end = to;
    }
    return end;
}

static void cut_by_work(struct nl_phases *phases, const struct loads *loads,
                        const struct busy_span *span)
{
    add_group(phases, span->rank);
    if (span->start >= span->end) {
        add_cut(phases, INT64_MIN, NL_STEADY);
        return;
    }
    int64_t end = startup_end(loads, span);
    add_cut(phases, INT64_MIN, NL_STARTUP);
    if (end < span->end)
        add_cut(phases, end, NL_STEADY);
    add_cut(phases, span->end, NL_TAIL);
}

static const struct nl_step_group *steps_of(const struct nl_found_steps *steps, int64_t rank)
{
    for (size_t i = 0; i < steps->group_count; i++)
        if (steps->groups[i].rank == rank && steps->groups[i].count)
            return &steps->groups[i];
    return NULL;
}

void nl_phases_init(struct nl_phases *phases, const struct nl_trace *trace,
                    const struct nl_found_steps *steps)
{
    size_t count;
    struct busy_span *spans = spans_of_ranks(trace, &count);
    struct loads loads = list_loads(trace);
    *phases = (struct nl_phases){.steps = steps};
    for (size_t i = 0; i < count; i++) {
        const struct nl_step_group *group = steps_of(steps, spans[i].rank);
        if (group)
            cut_by_steps(phases, group);
        else
            cut_by_work(phases, &loads, &spans[i]);
    }
    nl_free(loads.items);
    nl_free(spans);
}

void nl_phases_release(struct nl_phases *phases)
{
    nl_free(phases->cuts);
    nl_free(phases->groups);
    *phases = (struct nl_phases){0};
}

const struct nl_phase_group *nl_phases_of(const struct nl_phases *phases, int64_t rank)
{
    const struct nl_phase_group *with_steps = NULL;
    for (size_t i = 0; i < phases->group_count; i++) {
        const struct nl_phase_group *group = &phases->groups[i];
        if (group->rank == rank && (group->step_count || rank != NL_NULL_I64))
            return group;
        if (group->step_count && !with_steps)
            with_steps = group;
    }
    return with_steps ? with_steps : &phases->groups[0];
}

size_t nl_phase_find(const struct nl_phases *phases, const struct nl_phase_group *group, int64_t ts,
                     size_t hint)
{
    size_t low = group->first, high = group->first + group->count;
    if (hint >= low && hint < high && phases->cuts[hint].start <= ts &&
        ts < nl_phase_end(phases, group, hint))
        return hint;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (phases->cuts[middle].start <= ts)
            low = middle;
        else
            high = middle;
    }
    return low;
}
