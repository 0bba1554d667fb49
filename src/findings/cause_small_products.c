/*
 * small_products — many matrix products are too small to fill the device, and
 * each runs far from its roof.
 *
 * Signal: products (GEMM) whose least time at the roof is below 5 µs, of which a kernel's start and
 * its last wave are a large part, take over 10 % of wall, are 20 or more, and reach less than half
 * of their roofs together. Cost: what each takes beyond its roof at 80 %, or beyond 2 µs, which the
 * shortest kernels take. A call over 30 µs is held up by something else than its start, and does
 * not count. Products that wait for their operands near memory's peak are gemm_memory_bound.
 */
#include "base/mem.h"
#include "base/sum.h"
#include "findings/workcause.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.40
#define MIN_CALLS      20
#define SMALL_S        5e-6
#define MAX_ROOF_SHARE 0.50
#define LONGEST_NS     30000
#define SHORTEST_NS    2000

static bool is_small(const struct nl_op_work *work, struct nl_least_time least)
{
    return work->family == WORK_GEMM && !work->inside && least.both < SMALL_S &&
           work->kernel_ns <= LONGEST_NS;
}

/* What the calls take beyond what such a call needs. */
static int64_t spare_ns(struct nl_scene *scene)
{
    const struct nl_device_peaks *peaks = nl_work_peaks(scene);
    size_t count;
    const struct nl_op_work *const *works = nl_work_rows(scene, &count);
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct nl_least_time least = nl_least_time(works[i], peaks);
        if (!is_small(works[i], least))
            continue;
        double needed = least.both / NL_ROOF_TARGET * 1e9;
        double spare = (double)works[i]->kernel_ns - (needed > SHORTEST_NS ? needed : SHORTEST_NS);
        nl_sum_add(&sum, spare > 0 ? nl_sum_near(spare) : 0);
    }
    return sum;
}

static enum nl_verdict small_products_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, true);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum sum = nl_work_add_up(scene, is_small, &finding->where, &longest);
    double reached = sum.ns > 0 ? sum.least_s * 1e9 / (double)sum.ns : 1;
    int64_t spare = spare_ns(scene);
    if (sum.calls < MIN_CALLS || spare <= 0 || nl_scene_share(scene, sum.ns) < MIN_SHARE ||
        reached >= MAX_ROOF_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, spare, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding,
             "%s matrix products on %s are too small to fill it: %s at %s of their roofs",
             nl_say_count(scene, sum.calls), nl_scene_name(scene), nl_say_ns(scene, sum.ns),
             nl_say_share(scene, reached));
    static const char which[] =
        "model = 'gemm' AND least_ns < 5000 AND kernel_ns <= 30000 AND inside = 0";
    longest.metric = "small_products_ns";
    longest.says = nl_say(scene, "%s in %s products whose roof is below 5 µs each",
                          nl_say_ns(scene, sum.ns), nl_say_count(scene, sum.calls));
    longest.threshold = "> 10 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", which);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "small_products_roof_share",
                    .says = nl_say(scene, "together they reach %s of their roofs",
                                   nl_say_share(scene, reached)),
                    .threshold = "< 50 % of the roof",
                    .query = nl_work_sql(scene, "sum(least_ns) * 1.0 / sum(kernel_ns)", which),
                    .meaning = NL_MEANS_SHARE,
                    .value = reached});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_small_products = {
    .id = "small_products",
    .doc = "At least 20 matrix products whose shortest possible time (at the roof) is under 5 µs "
           "take more than 10 % of wall, and together reach less than half of their roofs: "
           "launches and the last wave dominate. Calls over 30 µs do not count. Cost: what each "
           "takes beyond 80 % of its roof, or beyond 2 µs. Needs shapes and the device's peaks.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = small_products_evaluate,
    .not_this_if = "they reach the memory bandwidth (then they wait for their operands: "
                   "gemm_memory_bound), or large products take most of the time",
};
