/*
 * decode_weight_bound — steps that generate one token per request take as long as
 * reading the weights does.
 *
 * Signal: decode steps (llmsteps.h) over 10 % of wall, at least half of whose length is the least
 * time that their weights take to read at memory's peak (both sides: what must be read, and how
 * long the steps are), while their arithmetic takes less. Sizes must be known of at least half of
 * the time in products. Cost: time of these products beyond their arithmetic at 80 % of the peak.
 */
#include "base/sum.h"
#include "findings/llmcause.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.40
#define MIN_STEP_SHARE 0.50
#define MIN_KNOWN      0.50
#define MAX_SMALLER    0.75 /* of 16-bit weights, that 4-bit weights leave out */

static void describe_decode(struct nl_scene *scene, struct nl_finding *finding,
                            const struct nl_llm_sum *sum)
{
    double steps = (double)sum->steps, limit = sum->weights_s * 1e9;
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "weights_ns_per_step",
            .says = nl_say(
                scene, "reading %s per step takes %s or more at memory's %s; a step takes %s",
                nl_say_bytes(scene, (uint64_t)nl_sum_near(sum->weight_bytes / steps)),
                nl_say_ns(scene, nl_sum_near(limit / steps)), nl_say_rate(scene, sum->memory_rate),
                nl_say_ns(scene, sum->span_ns / (int64_t)sum->steps)),
            .query = nl_llm_sql(scene, "CAST(avg(weights_ns) AS INTEGER)", NL_LLM_DECODE),
            .meaning = NL_MEANS_NS,
            .value = (double)nl_sum_near(limit / steps)});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "weights_share_of_step",
                    .says = nl_say(scene, "that is %s of the duration of %s decode steps",
                                   nl_say_share(scene, limit / (double)sum->span_ns),
                                   nl_say_count(scene, sum->steps)),
                    .threshold = ">= 50 % of the steps' duration",
                    .query = nl_llm_sql(scene, "sum(weights_ns) / sum(dur)", NL_LLM_DECODE),
                    .meaning = NL_MEANS_SHARE,
                    .value = limit / (double)sum->span_ns});
    if (!(sum->rows > 0) || !(sum->compute_s > 0))
        return;
    double rows = sum->rows / (double)sum->with_rows;
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "rows_per_step",
                    .says = nl_say(scene,
                                   "products multiply %.3g rows by each weight; from about %.3g on "
                                   "arithmetic would take as long as reading",
                                   rows, rows * sum->weights_s / sum->compute_s),
                    .query = nl_llm_sql(scene, "avg(rows)", NL_LLM_DECODE),
                    .meaning = NL_MEANS_NUMBER,
                    .value = rows});
}

static int64_t most_saved(const struct nl_llm_sum *sum, double beyond)
{
    double reading = sum->weights_s * 1e9;
    double most = (double)sum->known_ns - reading / NL_ROOF_TARGET + MAX_SMALLER * reading;
    most = most < beyond ? most : beyond;
    return nl_sum_near(most > 0 ? most : 0);
}

static enum nl_verdict decode_weight_bound_evaluate(struct nl_scene *scene,
                                                    struct nl_finding *finding)
{
    struct nl_llm_sum sum = nl_llm_add_up(scene, NL_LLM_DECODE, &finding->where);
    if (!sum.steps || sum.span_ns <= 0 || nl_scene_share(scene, sum.span_ns) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    if ((double)sum.known_ns < MIN_KNOWN * (double)sum.product_ns || !sum.product_ns)
        return nl_abstain(
            finding, sum.graph_ns > sum.kernel_ns / 2
                         ? "decode steps are replayed graphs, which have no sizes of operators: "
                           "record one run without graphs (vLLM: enforce_eager=True, SGLang: "
                           "--disable-cuda-graph) and with record_shapes=True"
                         : "sizes of matrix products in decode steps were not recorded: record "
                           "with record_shapes=True");
    if (sum.memory_rate != sum.memory_rate)
        return nl_abstain(finding, "the peaks of the device are not known");
    double of_step = sum.weights_s * 1e9 / (double)sum.span_ns;
    double beyond = (double)sum.known_ns - sum.compute_s / NL_ROOF_TARGET * 1e9;
    if (of_step < MIN_STEP_SHARE || of_step > NL_ROOF_BROKEN || sum.compute_s >= sum.weights_s ||
        beyond <= 0)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, nl_sum_near(beyond), CRITICAL_SHARE, sum.confidence);
    finding->saving_ns[0] = 0;
    finding->saving_ns[1] = most_saved(&sum, beyond);
    nl_title(scene, finding, "Decode on %s is bound by reading weights: at least %s of %s per step",
             nl_scene_name(scene),
             nl_say_ns(scene, nl_sum_near(sum.weights_s * 1e9 / (double)sum.steps)),
             nl_say_ns(scene, sum.span_ns / (int64_t)sum.steps));
    describe_decode(scene, finding, &sum);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_decode_weight_bound = {
    .id = "decode_weight_bound",
    .doc =
        "Decode steps (recognised by name, by attention kernels or by queries per sequence) take "
        "more than 10 % of wall, and reading their weights at the peak memory bandwidth takes at "
        "least half of their duration, and longer than their arithmetic. Cost: the time of their "
        "products beyond their arithmetic at 80 % of the peak. Saving: at most 3/4 of the time for "
        "reading weights (4-bit weights), plus the time of products beyond 80 % of the memory "
        "bandwidth. Needs shapes for half of the time in products, and the device's peaks.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = decode_weight_bound_evaluate,
    .not_this_if =
        "gaps between steps, attention over long contexts, or kernels below the memory bandwidth "
        "take most of a step; or the batch is large enough to be compute-bound",
};
