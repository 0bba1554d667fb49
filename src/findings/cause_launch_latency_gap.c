/*
 * launch_latency_gap — the device pauses between kernels that were launched in time.
 *
 * Signal: gaps of class launch_latency between 1 and 30 µs (HTA's kernel_wait) that add up to over
 * 5 % of wall. About 1 µs per gap remains even inside a graph, so the saving leaves that out.
 */
#include "findings/cause.h"

#define LONGEST_NS     30000
#define LEFT_NS        1000
#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20

static bool is_latency(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->class == NL_IDLE_LAUNCH_LATENCY && gap->end - gap->start <= LONGEST_NS;
}

static enum nl_verdict launch_latency_gap_evaluate(struct nl_scene *scene,
                                                   struct nl_finding *finding)
{
    size_t gaps;
    int64_t cost = nl_scene_sum_gaps(scene, is_latency, &gaps, &finding->where);
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *from = nl_say(scene,
                              "FROM idle_gaps%s WHERE class = 'launch_latency' AND dur <= 30000 "
                              "AND %s",
                              nl_scene_args(scene), nl_scene_place(scene, ""));
    nl_find(scene, finding, cost, CRITICAL_SHARE, scene->linked);
    int64_t most = cost - (int64_t)gaps * LEFT_NS;
    finding->saving_ns[0] = most / 2;
    finding->saving_ns[1] = most;
    nl_title(scene, finding, "%s pauses between kernels that are already queued: %s in %s",
             nl_scene_name(scene), nl_say_ns(scene, cost),
             gaps == 1 ? "one gap" : nl_say(scene, "%s gaps", nl_say_count(scene, gaps)));
    struct nl_evidence *evidence = nl_evidence(
        finding, (struct nl_evidence){.metric = "launch_latency_ns",
                                      .says = nl_say(scene,
                                                     "%s (%s of the time) in gaps of 1 to 30 µs "
                                                     "whose next work had been launched before",
                                                     nl_say_ns(scene, cost),
                                                     nl_say_share(scene, finding->cost_share)),
                                      .threshold = "> 5 % of wall",
                                      .query = nl_say(scene, "SELECT sum(dur) %s", from),
                                      .meaning = NL_MEANS_NS,
                                      .value = (double)cost});
    nl_scene_gap_examples(scene, is_latency, evidence);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "launch_latency_mean_ns",
                    .says = nl_say(scene, "%s per gap on average, for %s kernels and copies",
                                   nl_say_ns(scene, cost / (int64_t)(gaps ? gaps : 1)),
                                   nl_say_count(scene, scene->kernel_count + scene->copy_count)),
                    .query = nl_say(scene, "SELECT avg(dur) %s", from),
                    .meaning = NL_MEANS_NUMBER,
                    .value = gaps ? (double)cost / (double)gaps : 0});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_launch_latency_gap = {
    .id = "launch_latency_gap",
    .doc = "Gaps of 1 to 30 µs whose next operation was launched before the gap, with no known "
           "wait (HTA's kernel_wait), take more than 5 % of wall. The saving leaves 1 µs per gap.",
    .needs = {{NL_T_kernel, "correlation"}, {NL_T_api, NULL}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = launch_latency_gap_evaluate,
    .not_this_if =
        "the gap is longer (then the device waits for something else), or the launch came late",
};
