/*
 * Work of nodes of compiled models: from XLA's cost analysis, else by shapes (ONNX Runtime,
 * TensorRT). Weights that the runtime has packed are missing among its shapes, so a product's inner
 * size comes from the first input and the output.
 */
#include "work/nodework.h"
#include "work/opwork.h"

#include <string.h>
#include <strings.h>

struct kind {
    const char *type;
    enum work_family family;
};

/* Whole names of node types, of all runtimes: ONNX, TensorRT, HLO (small letters). What a compiler
 * fused has bytes and no model: COMPILED, as has every type that is not here. Collectives move
 * bytes over links, not through the device's memory. */
static const struct kind kinds[] = {
    {"Gemm", WORK_GEMM},
    {"MatMul", WORK_GEMM},
    {"FusedGemm", WORK_GEMM},
    {"FusedMatMul", WORK_GEMM},
    {"TransposeMatMul", WORK_GEMM},
    {"MatMulInteger", WORK_GEMM},
    {"QLinearMatMul", WORK_GEMM},
    {"DynamicQuantizeMatMul", WORK_GEMM},
    {"MatMulIntegerToFloat", WORK_GEMM},
    {"MatrixMultiply", WORK_GEMM},
    {"gemm", WORK_GEMM},
    {"dot", WORK_GEMM},
    {"Conv", WORK_CONVOLUTION},
    {"FusedConv", WORK_CONVOLUTION},
    {"NhwcFusedConv", WORK_CONVOLUTION},
    {"ConvInteger", WORK_CONVOLUTION},
    {"QLinearConv", WORK_CONVOLUTION},
    {"Convolution", WORK_CONVOLUTION},
    {"CaskConvolution", WORK_CONVOLUTION},
    {"convolution", WORK_CONVOLUTION},
    {"Attention", WORK_ATTENTION},
    {"MultiHeadAttention", WORK_ATTENTION},
    {"GroupQueryAttention", WORK_ATTENTION},
    {"LayerNormalization", WORK_NORM},
    {"SkipLayerNormalization", WORK_NORM},
    {"BatchNormalization", WORK_NORM},
    {"Softmax", WORK_SOFTMAX},
    {"Gather", WORK_GATHER},
    {"gather", WORK_GATHER},
    {"scatter", WORK_GATHER},
    {"dynamic-slice", WORK_GATHER},
    {"dynamic-update-slice", WORK_GATHER},
    {"reduce", WORK_REDUCTION},
    {"reduce-window", WORK_POOLING},
    {"ReduceMean", WORK_REDUCTION},
    {"ReduceSum", WORK_REDUCTION},
    {"ReduceMax", WORK_REDUCTION},
    {"sort", WORK_SORT},
    {"TopK", WORK_SORT},
    {"broadcast", WORK_FILL},
    {"iota", WORK_FILL},
    {"Concat", WORK_COPY},
    {"Transpose", WORK_COPY},
    {"Reshape", WORK_COPY},
    {"Slice", WORK_COPY},
    {"Split", WORK_COPY},
    {"Cast", WORK_COPY},
    {"ReorderInput", WORK_COPY},
    {"ReorderOutput", WORK_COPY},
    {"Reformat", WORK_COPY},
    {"copy", WORK_COPY},
    {"transpose", WORK_COPY},
    {"concatenate", WORK_COPY},
    {"slice", WORK_COPY},
    {"pad", WORK_COPY},
    {"reverse", WORK_COPY},
    {"MaxPool", WORK_POOLING},
    {"AveragePool", WORK_POOLING},
    {"GlobalAveragePool", WORK_POOLING},
    {"Add", WORK_ELEMENTWISE},
    {"Sub", WORK_ELEMENTWISE},
    {"Mul", WORK_ELEMENTWISE},
    {"Div", WORK_ELEMENTWISE},
    {"Pow", WORK_ELEMENTWISE},
    {"Sqrt", WORK_ELEMENTWISE},
    {"Exp", WORK_ELEMENTWISE},
    {"Erf", WORK_ELEMENTWISE},
    {"Tanh", WORK_ELEMENTWISE},
    {"Relu", WORK_ELEMENTWISE},
    {"Clip", WORK_ELEMENTWISE},
    {"LeakyRelu", WORK_ELEMENTWISE},
    {"HardSigmoid", WORK_ELEMENTWISE},
    {"HardSwish", WORK_ELEMENTWISE},
    {"Sigmoid", WORK_ELEMENTWISE},
    {"Gelu", WORK_ELEMENTWISE},
    {"FastGelu", WORK_ELEMENTWISE},
    {"BiasGelu", WORK_ELEMENTWISE},
    {"QuickGelu", WORK_ELEMENTWISE},
    {"ElementWise", WORK_ELEMENTWISE},
    {"PointWise", WORK_ELEMENTWISE},
    {"PointWiseV2", WORK_ELEMENTWISE},
    {"QuantizeLinear", WORK_ELEMENTWISE},
    {"DequantizeLinear", WORK_ELEMENTWISE},
    {"add", WORK_ELEMENTWISE},
    {"subtract", WORK_ELEMENTWISE},
    {"multiply", WORK_ELEMENTWISE},
    {"divide", WORK_ELEMENTWISE},
    {"power", WORK_ELEMENTWISE},
    {"exponential", WORK_ELEMENTWISE},
    {"log", WORK_ELEMENTWISE},
    {"tanh", WORK_ELEMENTWISE},
    {"rsqrt", WORK_ELEMENTWISE},
    {"sqrt", WORK_ELEMENTWISE},
    {"negate", WORK_ELEMENTWISE},
    {"maximum", WORK_ELEMENTWISE},
    {"minimum", WORK_ELEMENTWISE},
    {"select", WORK_ELEMENTWISE},
    {"compare", WORK_ELEMENTWISE},
    {"convert", WORK_ELEMENTWISE},
    {"all-reduce", WORK_NO_FAMILY},
    {"all-gather", WORK_NO_FAMILY},
    {"all-to-all", WORK_NO_FAMILY},
    {"reduce-scatter", WORK_NO_FAMILY},
    {"collective-permute", WORK_NO_FAMILY},
    {"collective-broadcast", WORK_NO_FAMILY},
};

/* Calls of libraries, by what they were compiled from (jax.named_call,
 * Transformer Engine, cuDNN, Pallas). */
static bool says_attention(struct nl_str operation)
{
    static const char *const words[] = {"fused_attn", "attention", "flash_attn", "fmha", "_mha_"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_find_nocase(operation, words[i]) >= 0)
            return true;
    return false;
}

/* XLA: what an instruction was compiled from says more than its kind, which may be a fusion. A
 * fusion that holds a product has it in its detail; one of kind loop never is one, whatever
 * operation it ends. */
static enum work_family family_of(struct nl_str type, struct nl_str operation, struct nl_str detail)
{
    if (nl_str_contains(detail, "\"products\":[{\"opcode\":\"dot\""))
        return WORK_GEMM;
    if (nl_str_contains(detail, "\"products\":[{\"opcode\":\"convolution\""))
        return WORK_CONVOLUTION;
    if (nl_str_is(type, "loop fusion"))
        return WORK_COMPILED;
    if (nl_str_contains(operation, "/dot_general"))
        return WORK_GEMM;
    if (nl_str_contains(operation, "/conv_general_dilated"))
        return WORK_CONVOLUTION;
    if (nl_str_is(type, "custom-call"))
        return says_attention(operation) ? WORK_ATTENTION : WORK_NO_FAMILY;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (nl_str_is(type, kinds[i].type))
            return kinds[i].family;
    return WORK_COMPILED;
}

/* Starts and ends of asynchronous work. */
static bool is_one_end(struct nl_str type)
{
    static const char *const ends[] = {"-start", "-done"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t len = strlen(ends[i]);
        if (type.len > len && !memcmp(type.ptr + type.len - len, ends[i], len))
            return true;
    }
    return false;
}

/* Nodes whose time is that of the nodes inside them, or of asynchronous work (copy-done waits for
 * its copy): they have no work themselves. */
static bool is_container(struct nl_str type)
{
    static const char *const types[] = {"while", "conditional", "call", "If", "Loop", "Scan"};
    if (is_one_end(type))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (nl_str_is(type, types[i]))
            return true;
    return false;
}

static void read_side(struct work_args *args, const struct nl_trace *trace, uint32_t shapes,
                      uint32_t types)
{
    work_args_read(args, (struct work_texts){.shapes = nl_trace_name(trace, shapes),
                                             .types = nl_trace_name(trace, types)});
}

/* Product: M·N of the output, K from the first input; convolution: all outputs by the filter. */
static bool by_shapes(enum work_family family, const struct work_args *in,
                      const struct work_args *out, struct work_cost *cost)
{
    const struct work_tensor *a = work_tensor_at(in, 0, 0), *y = work_tensor_at(out, 0, 0);
    const struct work_tensor *w = work_tensor_at(in, 1, 0);
    if (!a || !y || !a->rank || !y->rank)
        return false;
    double outputs = work_elements(y);
    if (family == WORK_GEMM) {
        double rows = 1;
        for (unsigned i = 0; i + 1 < y->rank; i++)
            rows *= (double)y->dims[i];
        if (rows <= 0)
            return false;
        double k = work_elements(a) / rows;
        if (a->rank == y->rank && a->rank > 2)
            k = (double)a->dims[a->rank - 1];
        cost->flops = 2 * outputs * k;
    } else if (family == WORK_CONVOLUTION && w && w->rank == y->rank && w->dims[0] > 0) {
        cost->flops = 2 * outputs * work_elements(w) / (double)w->dims[0];
    } else {
        return false;
    }
    cost->flops_needed = cost->flops;
    cost->type = in->inputs[0].type;
    return true;
}

/* Of the kernels of a call of Transformer Engine's attention the one with the products. */
static bool is_attention_kernel(struct nl_str kernel, bool backward)
{
    static const char *const forward_names[] = {"FmhaFwdKernel", "flash_fprop"};
    static const char *const backward_names[] = {"FmhaBwdDQDKDVKernel", "flash_bprop"};
    const char *const *names = backward ? backward_names : forward_names;
    return nl_str_contains(kernel, names[0]) || nl_str_contains(kernel, names[1]);
}

/* Transformer Engine's attention, whose queries, keys and values are in one tensor, [B,S,3,H,D]: as
 * attentionwork.c. The mask is no operand: what a causal one leaves is needed at least. Its
 * products count at the kernel that has them. */
static bool attention_by_shapes(const struct nl_trace *trace, uint32_t row,
                                const struct work_args *in, struct work_cost *cost)
{
    struct nl_str target = nl_trace_name(trace, trace->node.tactic[row]);
    bool backward = nl_str_starts(target, "te_fused_attn_backward");
    const struct work_tensor *qkv = work_tensor_at(in, 0, 5), *keys = work_tensor_at(in, 1, 1);
    uint32_t slice = trace->node.slice[row];
    if ((!backward && !nl_str_starts(target, "te_fused_attn_forward")) || !qkv || !keys ||
        qkv->dims[2] != 3 || keys->dims[0] != 0 || slice == NL_NULL_ROW ||
        !is_attention_kernel(nl_trace_name(trace, trace->slice.name[slice]), backward))
        return false;
    double sequence = (double)qkv->dims[1], bits = work_type_bits(in->inputs[0].type);
    double pairs = (double)qkv->dims[0] * (double)qkv->dims[3] * sequence * sequence;
    cost->flops = 2 * pairs * (double)qkv->dims[4] * (backward ? 5 : 2);
    cost->flops_needed = cost->flops / 2;
    cost->type = in->inputs[0].type;
    cost->estimated = true;
    if (bits > 0) /* and the output, as large as the queries */
        cost->bytes = (backward ? 2 : 1) * work_elements(qkv) * 4 / 3 * bits / 8;
    return cost->flops > 0;
}

static double sum_bytes(const struct nl_node_table *node, uint32_t row)
{
    if (node->bytes[row] != NL_NULL_U64)
        return (double)node->bytes[row];
    if (node->output_bytes[row] == NL_NULL_U64 || node->activation_bytes[row] == NL_NULL_U64)
        return NAN;
    uint64_t weights = node->parameter_bytes[row];
    return (double)node->output_bytes[row] + (double)node->activation_bytes[row] +
           (weights == NL_NULL_U64 ? 0 : (double)weights);
}

bool work_node_cost(const struct nl_trace *trace, uint32_t row, struct work_cost *cost,
                    enum work_family *family, bool *recorded)
{
    const struct nl_node_table *node = &trace->node;
    struct nl_str type = nl_trace_name(trace, node->type[row]);
    struct work_args in, out;
    *cost = nl_no_work_cost();
    *family = is_one_end(type) ? WORK_NO_FAMILY
                               : family_of(type, nl_trace_name(trace, node->operation[row]),
                                           nl_trace_name(trace, node->detail[row]));
    *recorded = node->flops[row] != NL_NULL_U64;
    if (is_container(type))
        return false;
    read_side(&in, trace, node->input_shapes[row], node->input_types[row]);
    read_side(&out, trace, node->output_shapes[row], node->output_types[row]);
    cost->matrix = work_family_is_matrix(*family);
    cost->bytes = sum_bytes(node, row);
    if (*recorded) {
        cost->flops = cost->flops_needed = (double)node->flops[row];
        cost->type = in.count ? in.inputs[0].type : WORK_TYPE_UNKNOWN;
        if (cost->type == WORK_TYPE_UNKNOWN)
            cost->type = work_type_of(nl_trace_name(trace, node->precision[row]));
        return true;
    }
    if (*family == WORK_ATTENTION && attention_by_shapes(trace, row, &in, cost))
        return true;
    if (cost->matrix)
        return by_shapes(*family, &in, &out, cost) || cost->bytes == cost->bytes;
    cost->type = in.count ? in.inputs[0].type : WORK_TYPE_UNKNOWN;
    return cost->bytes == cost->bytes;
}
