/*
 * cuda_graph_partial — graphs are replayed, and the device still waits in front of them or inside them.
 *
 * Signal: gaps whose next work belongs to a graph launch, over 5 % of wall, in ten gaps at least. Launched late (host_late):
 * what the CPU does between two replays. Launched before: inside a replay, between its nodes.
 */
#include "findings/cause.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20
#define LEAST_GAPS     10

static bool is_graphs(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return gap->launch != NL_NULL_ROW &&
           nl_api_slice_role(scene->roles, scene->trace, gap->launch) == NL_API_GRAPH_LAUNCH;
}

static bool is_in_front(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return is_graphs(scene, gap) && gap->class == NL_IDLE_HOST_LATE;
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    size_t gaps, fronts;
    int64_t cost = nl_scene_sum_gaps(scene, is_graphs, &gaps, &finding->where);
    int64_t front = nl_scene_sum_gaps(scene, is_in_front, &fronts, NULL);
    if (gaps < LEAST_GAPS || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *from =
        nl_say(scene,
               "FROM idle_gaps%s WHERE %s AND launch IN (SELECT slice FROM api WHERE "
               "api_role(name) = 'graph_launch')",
               nl_scene_args(scene), nl_scene_place(scene, ""));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "Graphs are replayed, but %s waits %s for them: %s in front, %s inside",
             nl_scene_name(scene), nl_say_ns(scene, cost), nl_say_ns(scene, front),
             nl_say_ns(scene, cost - front));
    struct nl_evidence *evidence = nl_evidence(
        finding, (struct nl_evidence){
                     .metric = "graph_idle_ns",
                     .says = nl_say(scene, "%s idle in %s gaps in front of and inside replays",
                                    nl_say_ns(scene, cost), nl_say_count(scene, gaps)),
                     .threshold = "> 5 % of wall",
                     .query = nl_say(scene, "SELECT sum(dur) %s", from),
                     .meaning = NL_MEANS_NS,
                     .value = (double)cost});
    nl_scene_gap_examples(scene, is_graphs, evidence);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "late_replays",
                    .says = nl_say(scene, "%s of them because the replay was launched late",
                                   nl_say_count(scene, fronts)),
                    .query = nl_say(scene, "SELECT count(*) %s AND class = 'host_late'", from),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)fronts});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cuda_graph_partial = {
    .id = "cuda_graph_partial",
    .doc = "Gaps whose next work belongs to a graph launch take over 5 % of wall, in ten gaps at "
           "least. Late launches: the CPU between replays; others: inside a replay.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = evaluate,
    .not_this_if = "the gaps lie in front of kernels that are launched one by one "
                   "(launch_bound_small_kernels), or "
                   "replays follow each other directly",
};
