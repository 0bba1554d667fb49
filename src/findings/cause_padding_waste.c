/*
 * padding_waste — steps of inference compute more rows than they have tokens: batches padded to a
 * size that was captured in a graph or compiled, prompts padded to the longest.
 *
 * Signal, from two sides: names of steps give their tokens, shapes of their products the computed
 * rows. Of all rows at least 20 % are padding (vLLM and SGLang pad to captured sizes;
 * docs/findings.md), in steps over 10 % of wall. Cost: that share of the time of products, where
 * arithmetic bounds it; padded rows that wait for the same weights cost little, so steps bound by
 * reading weights do not count.
 *
 * Rows beyond the tokens of a name may also be tokens: those of other ranks (attention with data
 * parallelism and experts of all: gathers or exchanges between), or several for each request
 * (speculation: a whole multiple). Then the cause abstains.
 */
#include <math.h>
#include <string.h>

#include "base/sum.h"
#include "derive/kernelclass.h"
#include "findings/llmcause.h"
#include "tables/memo.h"

#define MIN_SHARE      0.05
#define CRITICAL_SHARE 0.20
#define MIN_PADDING    0.20
#define MULTIPLE_NEAR  0.05 /* rows over tokens, from a whole number */

struct padding {
    uint64_t steps;
    double rows, tokens, cost;
    int64_t span_ns, first, last; /* from the first step to the end of the last */
    double confidence;
    uint64_t multiples; /* steps whose rows are a whole multiple of their tokens */
    bool named, sized;  /* some step gives its tokens; some of these its rows */
};

static bool is_multiple(double times)
{
    double whole = floor(times + 0.5);
    return whole >= 2 && fabs(times - whole) <= MULTIPLE_NEAR;
}

static struct padding find_padding(struct nl_scene *scene, struct nl_intervals *where)
{
    const struct nl_llm_steps *steps = nl_memo_llm_steps(scene->memo);
    struct padding sum = {.confidence = 1, .first = INT64_MAX, .last = INT64_MIN};
    for (size_t i = 0; i < steps->count; i++) {
        const struct nl_llm_work *step = &steps->items[i];
        double tokens = (double)step->told.tokens;
        if (!nl_llm_is_here(scene, step) || !(tokens > 0))
            continue;
        sum.named = true;
        sum.sized |= step->rows == step->rows;
        if (!(step->rows >= tokens) || !(step->compute_s * step->memory_rate > step->weight_bytes))
            continue;
        sum.steps++;
        sum.rows += step->rows;
        sum.tokens += tokens;
        sum.cost += (1 - tokens / step->rows) * (double)step->known_ns;
        nl_sum_add(&sum.span_ns, nl_llm_step_ns(step));
        sum.confidence = step->confidence < sum.confidence ? step->confidence : sum.confidence;
        sum.multiples += is_multiple(step->rows / tokens);
        sum.first = step->first < sum.first ? step->first : sum.first;
        sum.last = step->last > sum.last ? step->last : sum.last;
        nl_intervals_add(where, step->first, step->last);
    }
    return sum;
}

/* Whether what runs between ranks in these steps may bring rows of others: anything but sums. */
static bool gathers(const struct nl_scene *scene, const struct padding *sum)
{
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t row = scene->kernels[i], slice = trace->kernel.slice[row];
        if (trace->kernel.class[row] != NL_CLASS_COMMUNICATION ||
            trace->slice.ts[slice] >= sum->last || nl_slice_end(trace, slice) <= sum->first)
            continue;
        const char *operation =
            nl_collective_operation(nl_trace_name(trace, trace->slice.name[slice]));
        if (!operation ||
            (strcmp(operation, "all_reduce") != 0 && strcmp(operation, "barrier") != 0))
            return true;
    }
    return false;
}

static enum nl_verdict padding_waste_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct padding sum = find_padding(scene, &finding->where);
    if (sum.named && !sum.sized)
        return nl_abstain(finding,
                          "shapes of the products in the steps were not recorded: they tell "
                          "the rows that were computed");
    double padding = sum.rows > 0 ? 1 - sum.tokens / sum.rows : 0;
    int64_t cost = nl_sum_near(sum.cost);
    bool much = sum.tokens <= (1 - MIN_PADDING) * sum.rows; /* 1 - 0.8 is under 0.2 */
    if (!much || nl_scene_share(scene, cost) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    if (gathers(scene, &sum))
        return nl_abstain(finding, "ranks gather or exchange rows in these steps: those beyond the "
                                   "step's own tokens may be tokens of other ranks");
    if (sum.multiples > sum.steps / 2)
        return nl_abstain(finding, "rows are a whole multiple of the steps' tokens: they may be "
                                   "tokens of other ranks, or several for each request");
    nl_find(scene, finding, cost, CRITICAL_SHARE, sum.confidence);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding, "%s of the rows that products on %s compute are padding",
             nl_say_share(scene, padding), nl_scene_name(scene));
    static const char which[] = "tokens > 0 AND rows >= tokens AND compute_ns > weights_ns";
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "padding_share",
            .says = nl_say(scene, "%.4g rows for %.4g tokens in %s steps", sum.rows, sum.tokens,
                           nl_say_count(scene, sum.steps)),
            .threshold = ">= 20 % of rows",
            .query = nl_say(scene, "%s AND %s",
                            nl_llm_sql(scene, "1 - sum(tokens) / sum(rows)", NL_LLM_NONE), which),
            .meaning = NL_MEANS_SHARE,
            .value = padding});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "padding_ns",
                    .says = nl_say(scene, "their share of products that arithmetic bounds takes %s",
                                   nl_say_ns(scene, cost)),
                    .threshold = "> 5 % of wall",
                    .query = nl_say(
                        scene, "%s AND %s",
                        nl_llm_sql(scene, "CAST(sum((1 - tokens / rows) * known_ns) AS INTEGER)",
                                   NL_LLM_NONE),
                        which),
                    .meaning = NL_MEANS_NS,
                    .value = (double)cost});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_padding_waste = {
    .id = "padding_waste",
    .doc = "Inference steps whose names give their number of tokens multiply more rows than that "
           "(by the shapes of their products): at least 20 % of the rows are padding, in "
           "compute-bound steps, and their time is more than 5 % of wall. Cost: that share of the "
           "time of products. Needs shapes. Abstains where ranks gather or exchange rows, or where "
           "the rows are a whole multiple of the tokens.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = padding_waste_evaluate,
    .not_this_if = "reading the weights takes longer than computing (decode with few requests): "
                   "padded rows then cost little",
};
