/*
 * launch_api_slow — the launch call itself takes long while the device is idle.
 *
 * Signal: median launch call over 20 µs, or over 5 % of them over 50 µs (HTA's runtime cut-off;
 * medians of 22 public traces are 3.2 to 15 µs), and idle time under launch calls over 2 % of wall.
 * Calls that block because the queue is full cost nothing (the device is busy) and do not count.
 */
#include "findings/launchcause.h"
#include "base/sum.h"

#define SLOW_MEDIAN_NS 20000
#define SLOW_SHARE     0.05
#define LONGEST_NS     1000000 /* longer calls load code or set up something: once */
#define MIN_GAPS       20
#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.10

static bool in_launch(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->activity == NL_ACTIVITY_LAUNCH && gap->activity_ns <= LONGEST_NS;
}

static enum nl_verdict launch_api_slow_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    size_t gaps;
    int64_t cost = nl_scene_sum_gaps(scene, in_launch, &gaps, &finding->where);
    if (nl_scene_share(scene, cost) <= WARN_SHARE || gaps < MIN_GAPS)
        return NL_CAUSE_ABSENT;
    struct nl_launch_facts facts = nl_launch_facts(scene);
    double slow = facts.calls ? (double)facts.slow_calls / (double)facts.calls : 0;
    if (facts.call_median_ns <= SLOW_MEDIAN_NS && slow <= SLOW_SHARE)
        return NL_CAUSE_ABSENT;
    const char *calls = nl_say(scene,
                               "FROM kernels k JOIN slices a ON a.id = k.launch WHERE a.link = "
                               "k.slice AND %s",
                               nl_scene_on(scene, "k."));
    nl_find(scene, finding, cost, CRITICAL_SHARE, scene->linked);
    nl_title(scene, finding, "Launch calls are slow (median %s) and leave %s idle for %s",
             nl_say_ns(scene, nl_sum_near(facts.call_median_ns)), nl_scene_name(scene),
             nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "launch_call_idle_ns",
            .says = nl_say(scene,
                           "%s idle (%s of the time) in %s gaps spent mostly inside a launch "
                           "call",
                           nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                           nl_say_count(scene, gaps)),
            .threshold = "> 2 % of wall",
            .query = nl_say(scene,
                            "SELECT sum(dur) FROM idle_gaps%s WHERE activity = 'launch call' "
                            "AND activity_ns <= 1000000 AND %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, in_launch, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "launch_call_median_ns",
                             .says = nl_say(scene, "the median launch call takes %s",
                                            nl_say_ns(scene, nl_sum_near(facts.call_median_ns))),
                             .threshold = facts.call_median_ns > SLOW_MEDIAN_NS ? "> 20 µs" : NULL,
                             .query = nl_say(scene, "SELECT median(a.dur) %s", calls),
                             .meaning = NL_MEANS_NUMBER,
                             .value = facts.call_median_ns});
    nl_evidence(finding,
                (struct nl_evidence){.metric = "slow_launch_share",
                                     .says = nl_say(scene, "%s of launch calls take over 50 µs",
                                                    nl_say_share(scene, slow)),
                                     .threshold = slow > SLOW_SHARE ? "> 5 %" : NULL,
                                     .query = nl_say(scene, "SELECT avg(a.dur > 50000) %s", calls),
                                     .meaning = NL_MEANS_SHARE,
                                     .value = slow});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_launch_api_slow = {
    .id = "launch_api_slow",
    .doc = "The median launch call takes over 20 µs, or more than 5 % of launch calls take over 50 "
           "µs (HTA), and gaps of at most 1 ms mostly spent inside launch calls take more than 2 % "
           "of wall.",
    .needs = {{NL_T_kernel, "correlation"}, {NL_T_api, NULL}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = launch_api_slow_evaluate,
    .not_this_if = "the calls wait because the launch queue is full: then the device is busy and "
                   "has no idle time to lose (launch_queue_full)",
};
