/*
 * tf32_products — products of FP32 inputs run as TF32 where 16 bits would be faster.
 *
 * Signal: matrix products on tensor cores whose inputs are FP32, and which their FLOPs bound, take
 * over 10 % of wall, and the device's 16-bit peak is at least 1.5 times that of TF32. Other
 * products in 16 bits in the same profile say that the program allows them (XProf advises when
 * under 10 % is in 16 bits). Cost: the part of their time that the ratio of the peaks would save.
 * FP32 outside tensor cores is tensor_core_unused.
 */
#include "findings/workcause.h"
#include "base/sum.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.40
#define MIN_RATIO      1.5

static bool is_tf32(const struct nl_op_work *work, struct nl_least_time least)
{
    return work->matrix && work->type == WORK_TF32 && least.compute >= least.memory;
}

static bool is_product(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->matrix && work->flops == work->flops;
}

static enum nl_verdict tf32_products_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    const struct nl_device_peaks *peaks = nl_work_peaks(scene);
    if (lacks || !peaks)
        return nl_abstain(finding, lacks ? lacks : "the peaks of the device are not known");
    double ratio =
        nl_nominal_flops(peaks, WORK_BF16, true) / nl_nominal_flops(peaks, WORK_TF32, true);
    if (!(ratio >= MIN_RATIO))
        return NL_CAUSE_ABSENT;
    struct nl_evidence longest = {0};
    struct nl_work_sum wide = nl_work_add_up(scene, is_tf32, &finding->where, &longest);
    struct nl_work_sum all = nl_work_add_up(scene, is_product, NULL, NULL);
    if (nl_scene_share(scene, wide.ns) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    int64_t cost = nl_sum_near((double)wide.ns * (1 - 1 / ratio));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding,
             "Products on %s run in TF32: %s that 16 bits would do %.3g times as fast",
             nl_scene_name(scene), nl_say_ns(scene, wide.ns), ratio);
    longest.metric = "tf32_product_ns";
    longest.says =
        nl_say(scene, "%s in %s products of FP32 inputs on tensor cores, bound by arithmetic",
               nl_say_ns(scene, wide.ns), nl_say_count(scene, wide.calls));
    longest.threshold = "> 10 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", "dtype = 'tf32' AND bound = 'compute'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)wide.ns;
    nl_evidence(finding, longest);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "product_ns",
            .says = nl_say(scene, "of %s in all products of known work", nl_say_ns(scene, all.ns)),
            .query =
                nl_work_sql(scene, "sum(kernel_ns)",
                            "flops IS NOT NULL AND model IN ('gemm', 'convolution', 'attention', "
                            "'moe', 'rnn')"),
            .meaning = NL_MEANS_NS,
            .value = (double)all.ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_tf32_products = {
    .id = "tf32_products",
    .doc = "Compute-bound matrix products of FP32 inputs on tensor cores (TF32) take more than 10 "
           "% of wall on a device whose 16-bit peak is at least 1.5 times as high. Cost: what the "
           "ratio of the peaks would save. Needs shapes and the device's peaks; FP32 outside "
           "tensor cores is tensor_core_unused.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = tf32_products_evaluate,
    .not_this_if = "the results need the precision of FP32 or TF32 (16-bit training loses it), or "
                   "the products are memory-bound",
};
