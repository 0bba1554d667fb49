/*
 * attention_not_fused — scores of attention written to memory: product, softmax, product.
 *
 * Signal: softmax between two batched products with nothing but elementwise operators and copies
 * between them, for most softmax time; softmax and the work between take over 3 % of wall. A fused
 * kernel (flash attention) keeps scores on the chip: that is the cost.
 */
#include "base/sum.h"
#include "findings/workcause.h"

#define MIN_SHARE      0.03
#define CRITICAL_SHARE 0.15
#define LOOK           12 /* operators to either side */

static bool is_light(const struct nl_op_work *work)
{
    return work->family == WORK_ELEMENTWISE || work->family == WORK_COPY ||
           work->family == WORK_FILL;
}

static bool is_batched(const struct nl_scene *scene, const struct nl_op_work *work)
{
    struct nl_str name = nl_trace_name(scene->trace, work->name);
    return nl_str_is(name, "aten::bmm") || nl_str_is(name, "aten::baddbmm");
}

/* Steps over light operators from `at`; the batched product they end at, or `count`. */
static size_t product_at(const struct nl_scene *scene, const struct nl_op_work *const *rows,
                         size_t count, size_t at, int direction)
{
    for (int step = 0; step < LOOK; step++) {
        if ((direction < 0 && !at) || (direction > 0 && at + 1 >= count))
            return count;
        at = direction < 0 ? at - 1 : at + 1;
        if (is_batched(scene, rows[at]))
            return at;
        if (!is_light(rows[at]))
            return count;
    }
    return count;
}

struct found {
    int64_t softmax, between, all_softmax;
    uint64_t count;
};

static struct found find_attention(struct nl_scene *scene, struct nl_intervals *where,
                                   struct nl_evidence *longest)
{
    struct found found = {0};
    size_t count;
    const struct nl_op_work *const *rows = nl_work_rows(scene, &count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->family != WORK_SOFTMAX)
            continue;
        nl_sum_add(&found.all_softmax, rows[i]->kernel_ns);
        size_t before = product_at(scene, rows, count, i, -1);
        size_t after = product_at(scene, rows, count, i, 1);
        if (before == count || after == count)
            continue;
        found.count++;
        nl_sum_add(&found.softmax, rows[i]->kernel_ns);
        nl_example_slice(scene, longest, rows[i]->first);
        for (size_t j = before + 1; j < after; j++) {
            nl_sum_add(&found.between, rows[j]->kernel_ns);
            nl_work_claim(rows[j], where);
        }
    }
    return found;
}

static bool is_product(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->family == WORK_GEMM;
}

static enum nl_verdict attention_not_fused_evaluate(struct nl_scene *scene,
                                                    struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, false);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct found found = find_attention(scene, &finding->where, &longest);
    struct nl_work_sum products = nl_work_add_up(scene, is_product, NULL, NULL);
    if (nl_scene_share(scene, found.between) < MIN_SHARE ||
        found.softmax < found.all_softmax - found.softmax)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, found.between, CRITICAL_SHARE, 1);
    nl_title(
        scene, finding, "Attention on %s is not fused: %s between its two products in %s calls",
        nl_scene_name(scene), nl_say_ns(scene, found.between), nl_say_count(scene, found.count));
    longest.metric = "softmax_ns";
    longest.says = nl_say(scene, "softmax takes %s, most of it between two batched products",
                          nl_say_ns(scene, found.all_softmax));
    longest.threshold = "product, softmax, product > 3 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", "model = 'softmax'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)found.all_softmax;
    nl_evidence(finding, longest);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "matrix_product_ns",
                             .says = nl_say(scene, "beside %s in all matrix products",
                                            nl_say_ns(scene, products.ns)),
                             .query = nl_work_sql(scene, "sum(kernel_ns)", "model = 'gemm'"),
                             .meaning = NL_MEANS_NS,
                             .value = (double)products.ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_attention_not_fused = {
    .id = "attention_not_fused",
    .doc = "A softmax between two batched matrix products (bmm, baddbmm), with only elementwise "
           "operators and copies between: the scores go through memory. Cost: the time of the "
           "softmax and of what lies between the products, over 3 % of wall; most of the softmax "
           "time is of this kind. Needs shapes.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = attention_not_fused_evaluate,
    .not_this_if = "the softmax is a classifier's, or the scores themselves are needed",
};
