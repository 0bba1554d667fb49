/*
 * fp8_unused — a remark: products in 16 bits are bound by arithmetic on a device
 * whose 8-bit rate is higher.
 *
 * Signal: matrix products (GEMM) in FP16 or BF16 that their FLOPs bound take over 40 % of wall, the
 * device has an FP8 peak of at least 1.5 times that of 16 bits, and less than a tenth of that time
 * runs in FP8. Cost: the part of their time that the ratio of the peaks would save.
 */
#include "base/sum.h"
#include "findings/workcause.h"

#define MIN_SHARE 0.40
#define MIN_RATIO 1.5
#define MAX_FP8   0.1

static bool is_wide(const struct nl_op_work *work, struct nl_least_time least)
{
    return work->family == WORK_GEMM && (work->type == WORK_FP16 || work->type == WORK_BF16) &&
           least.compute >= least.memory;
}

static bool is_fp8(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->family == WORK_GEMM && work->type == WORK_FP8;
}

static enum nl_verdict fp8_unused_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    const struct nl_device_peaks *peaks = nl_work_peaks(scene);
    if (lacks || !peaks)
        return nl_abstain(finding, lacks ? lacks : "the peaks of the device are not known");
    double ratio =
        nl_nominal_flops(peaks, WORK_FP8, true) / nl_nominal_flops(peaks, WORK_BF16, true);
    if (!(ratio >= MIN_RATIO))
        return NL_CAUSE_ABSENT;
    struct nl_evidence longest = {0};
    struct nl_work_sum wide = nl_work_add_up(scene, is_wide, &finding->where, &longest);
    struct nl_work_sum narrow = nl_work_add_up(scene, is_fp8, NULL, NULL);
    if (nl_scene_share(scene, wide.ns) < MIN_SHARE || (double)narrow.ns > MAX_FP8 * (double)wide.ns)
        return NL_CAUSE_ABSENT;
    int64_t cost = nl_sum_near((double)wide.ns * (1 - 1 / ratio));
    nl_find(scene, finding, cost, 2, 1);
    finding->severity = NL_SEVERITY_INFO;
    finding->saving_ns[0] = 0;
    nl_title(scene, finding, "%s has FP8 at %.3g times the rate; %s of products run in 16 bits",
             nl_scene_name(scene), ratio, nl_say_ns(scene, wide.ns));
    longest.metric = "wide_gemm_ns";
    longest.says = nl_say(scene, "%s in %s products of 16 bits that arithmetic bounds",
                          nl_say_ns(scene, wide.ns), nl_say_count(scene, wide.calls));
    longest.threshold = "> 40 % of wall";
    longest.query =
        nl_work_sql(scene, "sum(kernel_ns)",
                    "model = 'gemm' AND dtype IN ('fp16', 'bf16') AND bound = 'compute'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)wide.ns;
    nl_evidence(finding, longest);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "fp8_gemm_ns",
            .says = nl_say(scene, "%s in products of FP8", nl_say_ns(scene, narrow.ns)),
            .threshold = "< 10 % of the former",
            .query = nl_work_sql(scene, "total(kernel_ns)", "model = 'gemm' AND dtype = 'fp8'"),
            .meaning = NL_MEANS_NS,
            .value = (double)narrow.ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_fp8_unused = {
    .id = "fp8_unused",
    .doc = "Informational: compute-bound products in FP16 or BF16 take more than 40 % of wall on a "
           "device whose FP8 peak is at least 1.5 times theirs, and hardly any run in FP8. Cost: "
           "what the ratio of the peaks would save. Needs shapes and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = fp8_unused_evaluate,
    .not_this_if = "the model's accuracy does not allow 8 bits, or the products are far below "
                   "their current peak",
};
