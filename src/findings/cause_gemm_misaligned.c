/*
 * gemm_misaligned — matrix products whose inner or outer size is no multiple of 16 bytes.
 *
 * Signal: N or K is not a multiple of 16 bytes of the element type (8 elements of 16 bits, NVIDIA's
 * guide to matrix multiplication), they take over 5 % of wall, and reach less than half of their
 * roof. Cost: their headroom.
 */
#include "findings/workcause.h"

#define MIN_SHARE      0.05
#define CRITICAL_SHARE 0.20
#define MAX_ROOF_SHARE 0.50

static bool is_misaligned(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->misaligned;
}

static enum nl_verdict gemm_misaligned_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum sum = nl_work_add_up(scene, is_misaligned, &finding->where, &longest);
    double reached = sum.ns > 0 ? sum.least_s * 1e9 / (double)sum.ns : 1;
    if (nl_scene_share(scene, sum.ns) < MIN_SHARE || reached >= MAX_ROOF_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.headroom_ns, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding,
             "Matrix sizes on %s are not multiples of 16 bytes: %s at %s of the roof",
             nl_scene_name(scene), nl_say_ns(scene, sum.ns), nl_say_share(scene, reached));
    longest.metric = "misaligned_gemm_ns";
    longest.says = nl_say(scene, "%s in %s products with such an N or K", nl_say_ns(scene, sum.ns),
                          nl_say_count(scene, sum.calls));
    longest.threshold = "> 5 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", "misaligned = 1");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "misaligned_gemm_roof_share",
            .says = nl_say(scene, "they reach %s of their roof", nl_say_share(scene, reached)),
            .threshold = "< 50 % of the roof",
            .query = nl_work_sql(scene, "sum(least_ns) * 1.0 / sum(kernel_ns)", "misaligned = 1"),
            .meaning = NL_MEANS_SHARE,
            .value = reached});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_gemm_misaligned = {
    .id = "gemm_misaligned",
    .doc =
        "Matrix products in TF32 or in 16 or fewer bits, with an N or K that is not a multiple of "
        "16 bytes (NVIDIA, Matrix Multiplication Background), take more than 5 % of wall and reach "
        "less than half of their roof. Cost: their headroom. Needs shapes and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = gemm_misaligned_evaluate,
    .not_this_if = "the products reach their roof anyway, or are a small part of the step",
};
