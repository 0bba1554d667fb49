/*
 * cuda_graph_partial — graphs are replayed, and the device still waits in
 * front of them or inside them.
 *
 * Signal: gaps whose next work belongs to a graph launch, over 5 % of wall, in ten gaps at least.
 * Launched late (host_late): what the CPU does between two replays. Begun already: inside a replay,
 * between its nodes. A replay that was launched and has not begun waits for something else (an
 * event, work that is not in the recording): none of this cause's.
 */
#include "findings/cause.h"

#include "base/search.h"
#include "base/sort.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20
#define MIN_GAPS       10

/* Launches of graphs that gaps wait for, ascending, and when the first work of each began. */
struct replays {
    int64_t *launches, *begins;
    size_t count;
};

static bool is_graphs(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return gap->launch != NL_NULL_ROW &&
           nl_api_slice_role(scene->roles, scene->trace, gap->launch) == NL_API_GRAPH_LAUNCH;
}

static size_t replay_index(const struct replays *replays, uint32_t launch)
{
    return NL_FIRST(i, (size_t)0, replays->count, replays->launches[i] >= (int64_t)launch);
}

static void find_replay_begins(const struct nl_trace *trace, struct replays *replays,
                               const uint32_t *slices, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t slice = slices[row];
        uint32_t launch = slice == NL_NULL_ROW ? NL_NULL_ROW : trace->slice.link[slice];
        if (launch == NL_NULL_ROW)
            continue;
        size_t at = replay_index(replays, launch);
        if (at < replays->count && replays->launches[at] == (int64_t)launch &&
            trace->slice.ts[slice] < replays->begins[at])
            replays->begins[at] = trace->slice.ts[slice];
    }
}

static void find_replays(const struct nl_scene *scene, struct replays *replays)
{
    const struct nl_trace *trace = scene->trace;
    size_t gaps;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    replays->count = 0;
    replays->launches = nl_alloc((gaps + 1) * sizeof *replays->launches);
    replays->begins = nl_alloc((gaps + 1) * sizeof *replays->begins);
    for (size_t i = 0; i < gaps; i++)
        if (is_graphs(scene, &gap[i]))
            replays->launches[replays->count++] = gap[i].launch;
    nl_sort_i64(replays->launches, replays->count);
    size_t kept = 0;
    for (size_t i = 0; i < replays->count; i++)
        if (!kept || replays->launches[i] != replays->launches[kept - 1])
            replays->launches[kept++] = replays->launches[i];
    replays->count = kept;
    if (!kept)
        return; /* no graph: nothing to look for among all kernels */
    for (size_t i = 0; i < kept; i++)
        replays->begins[i] = INT64_MAX;
    find_replay_begins(trace, replays, trace->kernel.slice, trace->kernel.rows);
    find_replay_begins(trace, replays, trace->copy.slice, trace->copy.rows);
    find_replay_begins(trace, replays, trace->memset.slice, trace->memset.rows);
}

struct waits {
    int64_t front, inside;
    size_t fronts, gaps;
};

static struct waits find_waits(const struct nl_scene *scene, struct nl_intervals *where)
{
    struct waits waits = {0};
    struct replays replays;
    size_t gaps;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    find_replays(scene, &replays);
    for (size_t i = 0; replays.count && i < gaps; i++) {
        if (!is_graphs(scene, &gap[i]))
            continue;
        bool late = gap[i].class == NL_IDLE_HOST_LATE;
        if (!late && replays.begins[replay_index(&replays, gap[i].launch)] >= gap[i].start)
            continue;
        nl_sum_add(late ? &waits.front : &waits.inside, gap[i].end - gap[i].start);
        waits.fronts += late;
        waits.gaps++;
        nl_intervals_add(where, gap[i].start, gap[i].end);
    }
    nl_free(replays.launches);
    nl_free(replays.begins);
    return waits;
}

#define BEGUN                                                                                      \
    "EXISTS (SELECT 1 FROM slices w WHERE w.link = g.launch AND w.ts < g.ts AND w.kind IN "        \
    "('kernel', 'memcpy', 'memset'))"

static void entitle(const struct nl_scene *scene, struct nl_finding *finding,
                    const struct waits *waits)
{
    const char *cost = nl_say_ns(scene, waits->front + waits->inside);
    if (!waits->inside)
        nl_title(scene, finding, "Graphs are replayed, but %s waits %s in front of them",
                 nl_scene_name(scene), cost);
    else if (!waits->front)
        nl_title(scene, finding, "Graphs are replayed, but %s waits %s inside them",
                 nl_scene_name(scene), cost);
    else
        nl_title(scene, finding,
                 "Graphs are replayed, but %s waits %s for them: %s in front, %s inside",
                 nl_scene_name(scene), cost, nl_say_ns(scene, waits->front),
                 nl_say_ns(scene, waits->inside));
}

static enum nl_verdict cuda_graph_partial_evaluate(struct nl_scene *scene,
                                                   struct nl_finding *finding)
{
    struct waits waits = find_waits(scene, &finding->where);
    int64_t cost = waits.front;
    nl_sum_add(&cost, waits.inside);
    if (waits.gaps < MIN_GAPS || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *from =
        nl_say(scene,
               "FROM idle_gaps%s g WHERE %s AND g.launch IN (SELECT slice FROM api WHERE "
               "api_role(name) = 'graph_launch') AND (g.class = 'host_late' OR " BEGUN ")",
               nl_scene_args(scene), nl_scene_place(scene, "g."));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    entitle(scene, finding, &waits);
    struct nl_evidence *evidence = nl_evidence(
        finding, (struct nl_evidence){
                     .metric = "graph_idle_ns",
                     .says = nl_say(scene, "%s idle in %s gaps in front of and inside replays",
                                    nl_say_ns(scene, cost), nl_say_count(scene, waits.gaps)),
                     .threshold = "> 5 % of wall",
                     .query = nl_say(scene, "SELECT sum(g.dur) %s", from),
                     .meaning = NL_MEANS_NS,
                     .value = (double)cost});
    nl_scene_gap_examples(scene, is_graphs, evidence);
    const char *late = nl_say(scene, "%s of them because the replay was launched late",
                              nl_say_count(scene, waits.fronts));
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "late_replays",
                    .says = waits.fronts ? late : "every replay was launched before its gaps began",
                    .query = nl_say(scene, "SELECT count(*) %s AND g.class = 'host_late'", from),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)waits.fronts});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cuda_graph_partial = {
    .id = "cuda_graph_partial",
    .doc = "Gaps whose next operation belongs to a graph launch: at least ten, over 5 % of wall. "
           "Gaps before a late graph launch are the CPU's time between replays; gaps after the "
           "first operation of a replay are inside the graph. Replays that were launched in time "
           "and have not started yet do not count.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = cuda_graph_partial_evaluate,
    .not_this_if = "the gaps are in front of kernels that are launched one by one "
                   "(launch_bound_small_kernels), or replays follow each other directly",
};
