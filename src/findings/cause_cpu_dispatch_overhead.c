/*
 * cpu_dispatch_overhead — eager operators and Python take longer than the kernels they launch.
 *
 * Signal: idle time of host-late gaps whose innermost host event is an operator, Python, a layer or
 * a range (not a wait, not input or output): over half of all host-late idle time and over 10 % of
 * wall (XProf kernel launch 3 / 15 % of step).
 */
#include "findings/launchcause.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.30
#define OF_LATE        0.5

static bool is_dispatch(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return nl_launch_is_dispatch_gap(scene, gap) && gap->activity != NL_ACTIVITY_NOTHING &&
           gap->activity != NL_ACTIVITY_LAUNCH && gap->activity != NL_ACTIVITY_QUEUED;
}

static enum nl_verdict cpu_dispatch_overhead_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    size_t gaps;
    int64_t late = scene->device->class_ns[NL_IDLE_HOST_LATE];
    int64_t cost = nl_scene_sum_gaps(scene, is_dispatch, &gaps, &finding->where);
    if (gaps < NL_DISPATCH_GAPS || nl_scene_share(scene, cost) <= WARN_SHARE ||
        (double)cost <= OF_LATE * (double)late)
        return NL_CAUSE_ABSENT;
    struct nl_launch_facts facts = nl_launch_facts(scene);
    if (nl_launch_is_ahead(&facts))
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, scene->linked);
    nl_title(scene, finding, "%s waits %s for the CPU to dispatch operators", nl_scene_name(scene),
             nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "operator_idle_ns",
            .says =
                nl_say(scene,
                       "%s idle (%s of the time, %s of all host-late time) in %s gaps "
                       "that the launching thread spends in operators, Python or ranges",
                       nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                       nl_say_share(scene, (double)cost / (double)late), nl_say_count(scene, gaps)),
            .threshold = "> 10 % of wall",
            .query = nl_say(scene,
                            "SELECT sum(dur) FROM idle_gaps%s WHERE class = 'host_late' AND "
                            "sync IS NULL AND dur <= 1000000 AND activity IN ('operator', "
                            "'python', 'layer', 'range', 'other call', 'copy call') AND %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_dispatch, evidence);
    nl_launch_tell_delay(scene, finding, &facts);
    nl_launch_tell_small(scene, finding, &facts);
    if (nl_launch_is_served(scene))
        finding->remedies = "cpu_dispatch_overhead:served";
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cpu_dispatch_overhead = {
    .id = "cpu_dispatch_overhead",
    .doc = "Host-bound gaps of at most 1 ms spent mostly in operators, Python, layers, ranges or "
           "other calls: over half of all host-bound idle time and over 10 % of wall.",
    .needs = {{NL_T_kernel, "correlation"}, {NL_T_api, NULL}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = cpu_dispatch_overhead_evaluate,
    .not_this_if = "the gaps begin in a wait (sync_calls), are long (input, start-up), or the "
                   "launch calls themselves are slow (launch_api_slow)",
};
