/*
 * lazy_loading — the device waits while kernels are loaded on their first use.
 *
 * Signal: host-late gaps whose work was launched by a call that first loaded its code
 * (timeline/coldlaunch.h), or that were spent in loading modules, at any time of the recording:
 * three at least, over 5 % of wall. Later than the first fifth of the time they are
 * jit_compile_in_loop, too, which claims that part.
 */
#include "findings/cause.h"
#include "timeline/coldlaunch.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30
#define MIN_GAPS       3

static bool is_loading(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    if (gap->class != NL_IDLE_HOST_LATE)
        return false;
    return gap->activity == NL_ACTIVITY_MODULE ||
           (gap->launch != NL_NULL_ROW &&
            nl_api_slice_role(scene->roles, scene->trace, gap->launch) == NL_API_LAUNCH &&
            nl_is_cold_launch(scene->trace, gap->launch));
}

static enum nl_verdict lazy_loading_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    size_t gaps;
    int64_t cost = nl_scene_sum_gaps(scene, is_loading, &gaps, &finding->where);
    if (gaps < MIN_GAPS || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *from = nl_say(
        scene,
        "FROM idle_gaps%s WHERE class = 'host_late' AND %s AND (activity = 'module loading' OR "
        "launch IN (SELECT a.slice FROM api a JOIN slices w ON w.id = a.launched WHERE "
        "api_role(a.name) = "
        "'launch' AND a.dur >= %d AND w.ts <= a.ts + a.dur + a.dur / 10 AND w.ts >= a.ts + a.dur / "
        "2))",
        nl_scene_args(scene), nl_scene_place(scene, ""), NL_COLD_LAUNCH_NS);
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Loading kernels on their first use leaves %s idle for %s (%s)",
             nl_scene_name(scene), nl_say_ns(scene, cost),
             nl_say_share(scene, finding->cost_share));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "lazy_loading_idle_ns",
            .says = nl_say(scene, "%s idle in front of work whose launch first loaded code",
                           nl_say_ns(scene, cost)),
            .threshold = "> 5 % of wall",
            .query = nl_say(scene, "SELECT sum(dur) %s", from),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_loading, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "cold_launches",
                             .says = nl_say(scene, "%s such gaps", nl_say_count(scene, gaps)),
                             .threshold = "3 at least",
                             .query = nl_say(scene, "SELECT count(*) %s", from),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)gaps});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_lazy_loading = {
    .id = "lazy_loading",
    .doc = "Host-bound gaps before launch calls of 1 ms or more whose kernel starts when the call "
           "returns (the call first loaded the kernel's code), or gaps spent loading modules: at "
           "least three, over 5 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = lazy_loading_evaluate,
    .not_this_if = "the calls wait for a full launch queue (then their kernels start much later), "
                   "or the code is compiled (jit_compile_in_loop)",
};
