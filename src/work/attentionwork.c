/*
 * Attention: queries [Sq, D] by keys [Sk, D] and weights by values [Sk, Dv], for every query head:
 * 2·B·H·Sq·Sk·(D + Dv). Backward with recomputed scores: 2·B·H·Sq·Sk·(3·D + 2·Dv), five products,
 * as torch.utils.flop_counter counts it. A causal mask needs half of it when Sq = Sk; the full
 * figure is also kept. Least bytes: queries, keys, values and outputs once (flash); backward their
 * gradients, too.
 */
#include "work/workmodel.h"

struct heads {
    double batch, heads, kv_heads, queries, keys, depth, value_depth;
};

enum { HEADS_FIRST, TOKENS_FIRST };

static bool of_four(const struct work_tensor *q, const struct work_tensor *k,
                    const struct work_tensor *v, int layout, struct heads *heads)
{
    int tokens = layout == HEADS_FIRST ? 2 : 1, head = layout == HEADS_FIRST ? 1 : 2;
    *heads = (struct heads){.batch = (double)q->dims[0],
                            .heads = (double)q->dims[head],
                            .kv_heads = (double)k->dims[head],
                            .queries = (double)q->dims[tokens],
                            .keys = (double)k->dims[tokens],
                            .depth = (double)q->dims[3],
                            .value_depth = (double)v->dims[3]};
    return true;
}

/* Sequences of various lengths in one row [tokens, heads, depth]: lengths are in the memory of the
 * device, so all are taken to be as long as their mean. The true sum of squares is never below. */
static bool of_three(const struct work_call *call, const struct work_tensor *q,
                     const struct work_tensor *k, const struct work_tensor *v, int lengths,
                     struct heads *heads)
{
    const struct work_tensor *ends =
        lengths > 0 ? work_tensor_at(call->args, (unsigned)lengths, 1) : NULL;
    if (!ends || ends->dims[0] < 2)
        return false;
    double batch = (double)(ends->dims[0] - 1);
    *heads = (struct heads){.batch = batch,
                            .heads = (double)q->dims[1],
                            .kv_heads = (double)k->dims[1],
                            .queries = (double)q->dims[0] / batch,
                            .keys = (double)k->dims[0] / batch,
                            .depth = (double)q->dims[2],
                            .value_depth = (double)v->dims[2]};
    return true;
}

static bool is_causal(const struct work_call *call, int index)
{
    int64_t number;
    if (index < 0)
        return false;
    return work_true_at(call->args, (unsigned)index) ||
           (work_integer_at(call->args, (unsigned)index, &number) && number > 0);
}

static bool heads_of(const struct work_call *call, const struct work_tensor *q,
                     const struct work_tensor *k, const struct work_tensor *v, struct heads *heads)
{
    const signed char *at = call->model->at;
    if (q->rank == 3)
        return of_three(call, q, k, v, at[4], heads);
    return q->rank == 4 && of_four(q, k, v, at[2], heads);
}

/* at: queries (keys and values follow), causal or -1, layout, 1 for backward, lengths or 0. */
bool work_attention(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    unsigned first = (unsigned)at[0];
    const struct work_tensor *q = work_tensor_at(call->args, first, 0);
    const struct work_tensor *k = work_tensor_at(call->args, first + 1, 0);
    const struct work_tensor *v = work_tensor_at(call->args, first + 2, 0);
    struct heads h;
    if (!q || !k || !v || q->rank != k->rank || k->rank != v->rank)
        return false;
    if (!heads_of(call, q, k, v, &h))
        return false;
    bool backward = at[3] == 1, causal = is_causal(call, at[1]);
    double pairs = 2 * h.batch * h.heads * h.queries * h.keys;
    double depth = backward ? 3 * h.depth + 2 * h.value_depth : h.depth + h.value_depth;
    cost->flops = pairs * depth;
    cost->flops_needed = causal && h.queries == h.keys ? cost->flops / 2 : cost->flops;
    cost->queries = backward ? NAN : h.queries;
    cost->matrix = true;
    cost->estimated = q->rank == 3;
    cost->type = call->args->inputs[first].type;
    double output = h.batch * h.heads * h.queries * h.value_depth;
    double all = work_elements(q) + work_elements(k) + work_elements(v) + output;
    if (work_type_bits(cost->type))
        cost->bytes = (backward ? 2 : 1) * all * work_type_bits(cost->type) / 8;
    return h.queries > 0 && h.keys > 0;
}

/* Prompts in a paged cache whose lengths are in device memory; the longest is an input. Where all
 * queries together are as many as that for each prompt, and no prompt has more keys than queries,
 * all are of one length. at: queries [T, heads, D] (keys and values [slots, heads, D] follow), ends
 * of prompts, longest queries (longest keys follow), causal. */
bool work_batch_prefill(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    unsigned first = (unsigned)at[0];
    const struct work_tensor *q = work_tensor_at(call->args, first, 3);
    const struct work_tensor *k = work_tensor_at(call->args, first + 1, 3);
    const struct work_tensor *v = work_tensor_at(call->args, first + 2, 3);
    const struct work_tensor *ends = work_tensor_at(call->args, (unsigned)at[1], 1);
    int64_t queries, keys;
    if (!q || !k || !v || !ends || ends->dims[0] < 2 ||
        !work_integer_at(call->args, (unsigned)at[2], &queries) ||
        !work_integer_at(call->args, (unsigned)at[2] + 1, &keys) || queries < 1 ||
        queries != keys || (double)q->dims[0] != (double)(ends->dims[0] - 1) * (double)queries)
        return false;
    double tokens = (double)q->dims[0], heads = (double)q->dims[1], bits;
    double depth = (double)q->dims[2], value_depth = (double)v->dims[2];
    cost->flops = 2 * heads * tokens * (double)queries * (depth + value_depth);
    cost->flops_needed = is_causal(call, at[3]) ? cost->flops / 2 : cost->flops;
    cost->queries = (double)queries;
    cost->matrix = true;
    cost->type = call->args->inputs[first].type;
    bits = work_type_bits(cost->type);
    double kept = tokens * ((double)k->dims[1] * depth + (double)v->dims[1] * value_depth);
    if (bits > 0)
        cost->bytes = (tokens * heads * (depth + value_depth) * bits +
                       kept * work_type_bits(call->args->inputs[first + 1].type)) /
                      8;
    return true;
}
