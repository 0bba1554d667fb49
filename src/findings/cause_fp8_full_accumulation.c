/*
 * fp8_full_accumulation — a remark: products of FP8 on Hopper add up in full precision where
 * fast accumulation would do.
 *
 * Signal: on compute capability 9.0, FP8 products that were called without fast accumulation
 * (use_fast_accum of torch._scaled_mm) and that arithmetic bounds take over 10 % of wall and
 * stay below 80 % of their roof, and hardly any product accumulates fast: where some do, the
 * others are those of gradients, which keep it on purpose. Cost: what they take beyond 80 % of
 * the roof, an upper bound.
 */
#include "base/sum.h"
#include "findings/workcause.h"

#define MIN_SHARE 0.10
#define MAX_FAST  0.1 /* of the time of those without */

static bool is_full(const struct nl_op_work *work, struct nl_least_time least)
{
    return work->type == WORK_FP8 && work->accumulation == WORK_ACCUMULATES_FULL &&
           least.compute >= least.memory;
}

static bool is_fast(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->type == WORK_FP8 && work->accumulation == WORK_ACCUMULATES_FAST;
}

/* Ada's and Blackwell's matrix units have no such choice. */
static bool is_hopper(const struct nl_scene *scene)
{
    uint32_t device = scene->device->device;
    const struct nl_device_table *devices = &scene->trace->device;
    if (device == NL_NULL_ROW || devices->compute_major[device] != 9 ||
        devices->compute_minor[device] != 0)
        return false;
    struct nl_str vendor = nl_trace_name(scene->trace, devices->vendor[device]);
    return nl_str_find_nocase(vendor, "amd") < 0; /* MI200 is 9.0, too */
}

static void describe_accumulation(struct nl_scene *scene, struct nl_finding *finding,
                                  const struct nl_work_sum *full, const struct nl_work_sum *fast,
                                  struct nl_evidence longest)
{
    nl_title(scene, finding,
             "FP8 products on %s accumulate in full precision: %s at %s of the roof",
             nl_scene_name(scene), nl_say_ns(scene, full->ns),
             nl_say_share(scene, full->least_s * 1e9 / (double)full->judged_ns));
    longest.metric = "fp8_full_ns";
    longest.says = nl_say(scene, "%s in %s FP8 products without fast accumulation",
                          nl_say_ns(scene, full->ns), nl_say_count(scene, full->calls));
    longest.threshold = "> 10 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)",
                                "dtype = 'fp8' AND accumulation = 'full' AND bound = 'compute'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)full->ns;
    nl_evidence(finding, longest);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "fp8_fast_ns",
                             .says = nl_say(scene, "%s in FP8 products that accumulate fast",
                                            nl_say_ns(scene, fast->ns)),
                             .threshold = "< 10 % of the former",
                             .query = nl_work_sql(scene, "total(kernel_ns)",
                                                  "dtype = 'fp8' AND accumulation = 'fast'"),
                             .meaning = NL_MEANS_NS,
                             .value = (double)fast->ns});
}

static enum nl_verdict fp8_full_accumulation_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    if (!is_hopper(scene))
        return NL_CAUSE_ABSENT;
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum full = nl_work_add_up(scene, is_full, &finding->where, &longest);
    struct nl_work_sum fast = nl_work_add_up(scene, is_fast, NULL, NULL);
    if (nl_scene_share(scene, full.ns) < MIN_SHARE || full.headroom_ns <= 0 ||
        (double)fast.ns > MAX_FAST * (double)full.ns)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, full.headroom_ns, 2, 1);
    finding->severity = NL_SEVERITY_INFO;
    finding->saving_ns[0] = 0;
    describe_accumulation(scene, finding, &full, &fast, longest);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_fp8_full_accumulation = {
    .id = "fp8_full_accumulation",
    .doc = "Informational: on Hopper (compute capability 9.0), compute-bound FP8 products without "
           "fast accumulation take more than 10 % of wall, below 80 % of their roof, and hardly "
           "any use fast accumulation. Cost: their time beyond 80 % of the roof. Needs shapes, "
           "scalar inputs and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = fp8_full_accumulation_evaluate,
    .not_this_if = "some products accumulate fast (the others compute gradients, which keep full "
                   "accumulation on purpose), or the results would lose too much precision",
};
