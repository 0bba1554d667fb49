/*
 * Matrix products. M×K by K×N is 2·M·N·K operations (a multiply-add is two, a bias adds none: as
 * torch.utils.flop_counter); least bytes are both inputs, the output and the bias once. Batches
 * multiply; a batch that is broadcast is read once.
 */
#include "work/workmodel.h"

struct sizes {
    double batch, m, n, k;
};

static double leading(const struct work_tensor *tensor, unsigned kept)
{
    double product = 1;
    for (unsigned i = 0; i + kept < tensor->rank; i++)
        product *= (double)tensor->dims[i];
    return product;
}

static double from_end(const struct work_tensor *tensor, unsigned back)
{
    return tensor->rank >= back ? (double)tensor->dims[tensor->rank - back] : 1;
}

/* As torch.matmul: vectors on the left are a row, on the right a column. `flipped`: b is N×K. */
static bool find_product_sizes(const struct work_tensor *a, const struct work_tensor *b,
                               bool flipped, struct sizes *sizes)
{
    sizes->k = from_end(a, 1);
    sizes->m = a->rank >= 2 ? from_end(a, 2) : 1;
    double inner = b->rank == 1 ? from_end(b, 1) : from_end(b, flipped ? 1 : 2);
    sizes->n = b->rank == 1 ? 1 : from_end(b, flipped ? 2 : 1);
    double batch_a = leading(a, 2), batch_b = leading(b, 2);
    sizes->batch = batch_a > batch_b ? batch_a : batch_b;
    return inner == sizes->k;
}

/* What elements of the output take: given by a scalar of aten::_scaled_mm as PyTorch numbers
 * types. */
static double output_bits(const struct work_call *call, enum work_type type)
{
    int64_t number;
    int at = call->model->at[4];
    if (!at)
        return work_type_bits(type);
    if (!work_integer_at(call->args, (unsigned)at, &number))
        return 16;
    return number == 6 ? 32 : number >= 23 ? 8 : 16;
}

static enum work_accumulation accumulation(const struct work_call *call)
{
    unsigned at = (unsigned)call->model->at[5];
    if (!at || at >= call->args->count || !call->args->inputs[at].value.len)
        return WORK_ACCUMULATES_UNKNOWN;
    return work_true_at(call->args, at) ? WORK_ACCUMULATES_FAST : WORK_ACCUMULATES_FULL;
}

/* Of the products' type where its own was not recorded. */
static double bias_bytes(const struct work_call *call, double bits)
{
    int at = call->model->at[2];
    const struct work_tensor *bias = at < 0 ? NULL : work_tensor_at(call->args, (unsigned)at, 0);
    if (bias && bias->rank && call->args->inputs[at].type == WORK_TYPE_UNKNOWN)
        return work_elements(bias) * bits / 8;
    return at < 0 ? 0 : work_input_bytes(call->args, (unsigned)at);
}

/* at: a, b, bias or -1, 1 when b is N×K, input with the output's type or 0, whether it accumulates
 * fast or 0. */
bool work_gemm(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *a = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *b = work_tensor_at(call->args, (unsigned)at[1], 0);
    struct sizes sizes;
    if (!a || !b || !a->rank || !b->rank || !find_product_sizes(a, b, at[3] == 1, &sizes))
        return false;
    enum work_type type = call->args->inputs[at[0]].type;
    if (type == WORK_TYPE_UNKNOWN)
        type = call->hint;
    cost->flops = cost->flops_needed = 2 * sizes.batch * sizes.m * sizes.n * sizes.k;
    if (a->rank >= 2 && b->rank == 2)
        cost->rows = sizes.batch * sizes.m;
    cost->matrix = true;
    cost->type = type;
    cost->accumulation = accumulation(call);
    cost->misaligned = fmod(sizes.n * work_type_bits(type), 128) != 0 ||
                       fmod(sizes.k * work_type_bits(type), 128) != 0;
    double bits = work_type_bits(type), out = output_bits(call, type);
    double second = call->args->has_types ? work_type_bits(call->args->inputs[at[1]].type) : bits;
    if (type == WORK_FP4X2) {
        cost->flops *= 2;
        cost->flops_needed *= 2;
        cost->type = WORK_FP4;
    }
    if (bits > 0 && second > 0)
        cost->bytes = (work_elements(a) * bits + work_elements(b) * second +
                       sizes.batch * sizes.m * sizes.n * out) /
                          8 +
                      bias_bytes(call, bits);
    return true;
}

/*
 * Grouped products (aten::_grouped_mm): rows of `a` go to one group each. [T,K]·[G,K,N]: 2·T·K·N;
 * [M,T]·[T,N] in groups of T: 2·M·T·N and G outputs; both with three dimensions: as a batch.
 * at: a, b, offsets; the last as of work_gemm.
 */
bool work_grouped_gemm(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *a = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *b = work_tensor_at(call->args, (unsigned)at[1], 0);
    const struct work_tensor *offsets = work_tensor_at(call->args, (unsigned)at[2], 1);
    if (!a || !b || a->rank < 2 || b->rank < 2 || a->rank > 3 || b->rank > 3)
        return false;
    double groups = a->rank == 2 && b->rank == 2 ? (offsets ? (double)offsets->dims[0] : 1) : 1;
    double batch = a->rank == 3 && b->rank == 3 ? (double)a->dims[0] : 1;
    double m = from_end(a, 2), k = from_end(a, 1), n = from_end(b, 1);
    enum work_type type = call->args->inputs[at[0]].type;
    double bits = work_type_bits(type);
    cost->flops = cost->flops_needed = 2 * batch * m * n * k;
    cost->accumulation = accumulation(call);
    cost->matrix = true;
    cost->type = type;
    if (bits > 0)
        cost->bytes = (work_elements(a) + work_elements(b)) * bits / 8 +
                      groups * batch * m * n * (bits < 16 ? 16 : bits) / 8;
    return true;
}

/* Values to an element of the first weights: 2 if a byte holds two values of four bits (MXFP4,
 * INT4), whose second dimension is then half of the tokens'; 0 when they are no weights of these
 * tokens. */
static double packed_in(const struct work_call *call, const struct work_tensor *hidden,
                        const struct work_tensor *up)
{
    enum work_type type = call->args->inputs[call->model->at[1]].type;
    if (up->dims[2] == hidden->dims[1])
        return type == WORK_FP4X2 ? 2 : 1;
    return 2 * up->dims[2] == hidden->dims[1] && (type == WORK_INT8 || type == WORK_FP4X2) ? 2 : 0;
}

/*
 * Fused experts of vLLM, SGLang and AITER: hidden [T,H], w1 [E,2·I,H], w2 [E,H,I], topk_ids
 * [T,k]. Each token goes through k experts: 2·T·k·(2·I·H + H·I). Weights of an expert are
 * read when a token goes there: at most min(E, T·k) of them. Weights of four bits count in
 * the type of the tokens, as kernels widen them, unless they are FP4 and so are the tokens.
 * at: hidden, w1, w2, ids.
 */
bool work_fused_experts(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *hidden = work_tensor_at(call->args, (unsigned)at[0], 2);
    const struct work_tensor *up = work_tensor_at(call->args, (unsigned)at[1], 3);
    const struct work_tensor *down = work_tensor_at(call->args, (unsigned)at[2], 3);
    const struct work_tensor *ids = work_tensor_at(call->args, (unsigned)at[3], 2);
    double packed = hidden && up ? packed_in(call, hidden, up) : 0;
    if (!(packed > 0) || !down || !ids || up->dims[0] <= 0)
        return false;
    double experts = (double)up->dims[0], routed = work_elements(ids);
    double weights = (work_elements(up) + work_elements(down)) / experts;
    double used = routed < experts ? routed : experts;
    enum work_type type = call->args->inputs[at[1]].type;
    cost->flops = cost->flops_needed = 2 * routed * weights * packed;
    cost->matrix = cost->estimated = true;
    cost->type = packed > 1 ? call->args->inputs[at[0]].type : type;
    if (cost->type == WORK_FP4X2)
        cost->type = WORK_FP4;
    cost->bytes = used * weights * work_type_bits(type) / 8 +
                  2 * work_input_bytes(call->args, (unsigned)at[0]);
    return true;
}

/*
 * Recurrent layers: every step multiplies every weight matrix once by the batch: 2·T·B·Σ weights.
 * The state is small compared with that. at: input [T,B,…], list of weights.
 */
bool work_rnn(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *input = work_tensor_at(call->args, (unsigned)at[0], 3);
    if (!input || (unsigned)at[1] >= call->args->count || !call->args->inputs[at[1]].is_list)
        return false;
    const struct work_input *weights = &call->args->inputs[at[1]];
    double bits = work_type_bits(call->args->inputs[at[0]].type);
    cost->flops = cost->flops_needed =
        2 * (double)input->dims[0] * (double)input->dims[1] * weights->matrices;
    cost->matrix = true;
    cost->type = call->args->inputs[at[0]].type;
    if (bits > 0)
        cost->bytes = (work_elements(input) + weights->elements) * bits / 8;
    return weights->matrices > 0;
}
