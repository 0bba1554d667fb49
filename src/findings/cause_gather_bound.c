/*
 * gather_bound — embeddings, gathers and index operators take the time, far from memory's peak.
 *
 * Signal: operators that read or write rows by index take over 10 % of wall and reach less than
 * half of memory's bandwidth. Cost: their headroom.
 */
#include "findings/workcause.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.30
#define MAX_ROOF_SHARE 0.50

static bool is_gather(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->family == WORK_GATHER;
}

static enum nl_verdict gather_bound_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum sum = nl_work_add_up(scene, is_gather, &finding->where, &longest);
    double reached = sum.judged_ns > 0 ? sum.least_s * 1e9 / (double)sum.judged_ns : 1;
    if (nl_scene_share(scene, sum.ns) < MIN_SHARE || reached >= MAX_ROOF_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.headroom_ns, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding, "Embeddings and gathers on %s take %s at %s of memory's bandwidth",
             nl_scene_name(scene), nl_say_ns(scene, sum.ns), nl_say_share(scene, reached));
    longest.metric = "gather_ns";
    longest.says = nl_say(scene, "%s in %s operators that read or write rows by index",
                          nl_say_ns(scene, sum.ns), nl_say_count(scene, sum.calls));
    longest.threshold = "> 10 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", "model = 'gather'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "gather_roof_share",
                             .says = nl_say(scene, "they reach %s of memory's bandwidth",
                                            nl_say_share(scene, reached)),
                             .threshold = "< 50 %",
                             .query = nl_work_sql(scene, "sum(least_ns) * 1.0 / sum(kernel_ns)",
                                                  "model = 'gather' AND least_ns IS NOT NULL"),
                             .meaning = NL_MEANS_SHARE,
                             .value = reached});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_gather_bound = {
    .id = "gather_bound",
    .doc = "Embeddings, gathers, scatters and index operators take more than 10 % of wall and "
           "reach less than half of the memory bandwidth. Cost: their headroom. Needs shapes and "
           "the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = gather_bound_evaluate,
    .not_this_if = "the calls are so small that they are launch-bound, or rows are read in order",
};
