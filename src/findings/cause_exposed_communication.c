/*
 * exposed_communication — the device waits for other devices.
 *
 * Signal: |communication \ compute| / wall > 5 % (TraceLens), critical > 20 % (nsys-ai, XProf 15 to
 * 30 %). Second evidence: the hidden part, |C ∩ X| / |C|, under 70 % (TraceLens).
 */
#include "findings/bookcause.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20

static void claim_exposed(const struct nl_scene *scene, struct nl_intervals *out)
{
    nl_intervals_subtract(&scene->hidden, &scene->compute, out);
}

static bool is_comm(const struct nl_trace *trace, uint32_t kernel)
{
    return trace->kernel.class[kernel] == NL_CLASS_COMMUNICATION;
}

static enum nl_verdict exposed_communication_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    int64_t exposed = scene->parts->exposed_comm_ns, all = scene->parts->comm_ns;
    if (nl_scene_share(scene, exposed) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    if (!scene->parts->compute_ns)
        return nl_abstain(finding, "no computation was recorded on the device");
    double hidden = (double)scene->parts->overlap_ns / (double)all;
    claim_exposed(scene, &finding->where);
    nl_find(scene, finding, exposed, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "Communication is exposed (not overlapped with compute): %s of %s on %s",
             nl_say_ns(scene, exposed), nl_say_ns(scene, scene->wall_ns), nl_scene_name(scene));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "exposed_comm_ns",
            .says = nl_say(scene, "%s (%s of the time) communication runs and nothing computes",
                           nl_say_ns(scene, exposed), nl_say_share(scene, finding->cost_share)),
            .threshold = "> 5 % of wall",
            .query = nl_say(scene, "SELECT exposed_comm_ns FROM time_breakdown%s WHERE %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)exposed});
    int64_t late = nl_booked_late(scene);
    if (late)
        nl_prove(scene, finding,
                 (struct nl_evidence){
                     .metric = "late_rank_wait_ns",
                     .query = nl_booked_sql(
                         scene, "sum(ns)",
                         nl_say(scene, "part = 'exposed_comm_wait' AND culprit LIKE '%% for %s'",
                                nl_booked_member(scene, scene->late->member))),
                     .meaning = NL_MEANS_NS,
                     .value = (double)late},
                 "%s of it are waiting for %s, which no overlap wins", nl_say_ns(scene, late),
                 nl_booked_member(scene, scene->late->member));
    for (size_t i = 0; i < scene->kernel_count; i++)
        if (is_comm(scene->trace, scene->kernels[i]))
            nl_example_slice(scene, evidence, scene->trace->kernel.slice[scene->kernels[i]]);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "comm_hidden_share",
                    .says = nl_say(scene, "only %s of its %s are hidden behind computation",
                                   nl_say_share(scene, hidden), nl_say_ns(scene, all)),
                    .threshold = "< 70 %",
                    .query = nl_say(scene,
                                    "SELECT overlap_ns * 1.0 / comm_ns FROM time_breakdown%s "
                                    "WHERE %s",
                                    nl_scene_args(scene), nl_scene_place(scene, "")),
                    .meaning = NL_MEANS_SHARE,
                    .value = hidden});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_exposed_communication = {
    .id = "exposed_communication",
    .doc = "Time with communication kernels and without computation on the device. Warning over 5 "
           "% of wall (TraceLens).",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .saves = NL_SAVES_ALL,
    .evaluate = exposed_communication_evaluate,
    .not_this_if = "communication overlaps with computation, or this rank only waits for a slower "
                   "one (its kernel runs while it waits: compare the ranks)",
};
