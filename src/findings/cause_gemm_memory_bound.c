/*
 * gemm_memory_bound — matrix products that wait for their operands: few rows (small batches, decode
 * of language models) against large weights.
 *
 * Signal: FLOPs per byte below the device's ridge, and at least half of memory's peak reached (both
 * sides: the work asks for bandwidth, and the device gives it), over 10 % of wall. Cost: what they
 * take beyond their FLOPs at 80 % of the peak.
 */
#include "findings/workcause.h"
#include "base/sum.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.40
#define MIN_ROOF_SHARE 0.50

static bool is_starved(const struct nl_op_work *work, struct nl_least_time least)
{
    return work->family == WORK_GEMM && least.both == least.both && least.memory > least.compute;
}

static enum nl_verdict gemm_memory_bound_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum sum = nl_work_add_up(scene, is_starved, &finding->where, &longest);
    double reached = sum.ns > 0 ? sum.least_s * 1e9 / (double)sum.ns : 0;
    double beyond = (double)sum.ns - sum.compute_s / NL_ROOF_TARGET * 1e9;
    if (nl_scene_share(scene, sum.ns) < MIN_SHARE || reached < MIN_ROOF_SHARE || beyond <= 0 ||
        reached > NL_ROOF_BROKEN)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, nl_sum_near(beyond), CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding,
             "Matrix products on %s are bound by reading operands, not arithmetic: %s",
             nl_scene_name(scene), nl_say_ns(scene, sum.ns));
    static const char what[] = "model = 'gemm' AND bound = 'memory'";
    longest.metric = "memory_bound_gemm_ns";
    longest.says =
        nl_say(scene, "%s in %s products with fewer FLOPs per byte than the device needs",
               nl_say_ns(scene, sum.ns), nl_say_count(scene, sum.calls));
    longest.threshold = "> 10 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", what);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "memory_roof_share",
            .says = nl_say(scene, "they reach %s of memory's peak", nl_say_share(scene, reached)),
            .threshold = ">= 50 % of memory's peak",
            .query = nl_work_sql(scene, "sum(least_ns) * 1.0 / sum(kernel_ns)", what),
            .meaning = NL_MEANS_SHARE,
            .value = reached});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_gemm_memory_bound = {
    .id = "gemm_memory_bound",
    .doc = "Matrix products with fewer FLOPs per byte than the device's ridge point (peak of their "
           "type / memory bandwidth) take more than 10 % of wall and reach at least half of the "
           "memory bandwidth: decode with small batches, skinny layers. Cost: their time beyond "
           "their FLOPs at 80 % of the peak. Needs shapes and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = gemm_memory_bound_evaluate,
    .not_this_if = "the products reach little of the memory bandwidth (then they are too small or "
                   "badly shaped), or have enough rows to be compute-bound",
};
