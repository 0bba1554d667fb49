/*
 * roof_headroom — the device computes, but far from what it can: kernels could take much less time.
 * A remark that says where tuning pays.
 *
 * Signal: headroom to 80 % of the roofs over 30 % of wall (TraceLens ranks by the same figure at 75
 * to 100 %). Cost: the headroom, an upper bound.
 */
#include "base/utf8.h"
#include "findings/workcause.h"
#include "tables/memo.h"

#define MIN_SHARE 0.30

static const struct nl_roof *most_of(const struct nl_scene *scene)
{
    const struct nl_roofs *roofs = nl_memo_roofs(scene->memo);
    size_t count;
    const uint32_t *order = nl_device_order_of(&roofs->order, scene->device->device, &count);
    for (size_t i = 0; i < count; i++) {
        const struct nl_roof *roof = &roofs->items[order[i]];
        if (roof->kind == NL_ROOF_OPERATOR && roof->rank == scene->device->rank &&
            roof->headroom_ns != NL_NULL_I64)
            return roof;
    }
    return NULL;
}

static bool is_any(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)work;
    return least.both == least.both;
}

static enum nl_verdict roof_headroom_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_work_sum sum = nl_work_add_up(scene, is_any, &finding->where, NULL);
    const struct nl_roof *most = most_of(scene);
    if (!most || nl_scene_share(scene, sum.headroom_ns) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.headroom_ns, 2, 1);
    finding->severity = NL_SEVERITY_INFO;
    finding->saving_ns[0] = 0;
    struct nl_str name = nl_trace_name(scene->trace, most->name);
    nl_title(scene, finding, "Kernels on %s run far below their roofs: up to %s to save",
             nl_scene_name(scene), nl_say_ns(scene, sum.headroom_ns));
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "judged_kernel_ns",
                    .says = nl_say(scene, "%s of kernels with a roof reach %s of it",
                                   nl_say_ns(scene, sum.judged_ns),
                                   nl_say_share(scene, sum.least_s * 1e9 / (double)sum.judged_ns)),
                    .threshold = "headroom > 30 % of wall",
                    .query = nl_work_sql(scene, "sum(kernel_ns)", "least_ns IS NOT NULL"),
                    .meaning = NL_MEANS_NS,
                    .value = (double)sum.judged_ns});
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "largest_headroom_ns",
            .says = nl_say(scene, "most headroom is in %.*s: %s", NL_UP_TO(60, name),
                           nl_say_ns(scene, most->headroom_ns)),
            .query = nl_say(scene,
                            "SELECT max(headroom_ns) FROM roofline%s WHERE kind = 'operator' "
                            "AND %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)most->headroom_ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_roof_headroom = {
    .id = "roof_headroom",
    .doc = "Informational: the time that kernels take beyond 80 % of their roofs, summed over "
           "calls, is more than 30 % of wall. Cost: that headroom, as an upper bound; analyze "
           "--section roofline ranks it. Needs shapes and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = roof_headroom_evaluate,
    .not_this_if = "kernels are too short to reach a roof (then reduce launches or fuse kernels)",
};
