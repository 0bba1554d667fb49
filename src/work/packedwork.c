/*
 * Products with packed weights: 16-bit activations times weights of 4 or 8 bits (AWQ, GPTQ, Marlin,
 * bitsandbytes, PyTorch's int4pack), and FP4 times FP4 with two values to a byte. One element of
 * the recorded weight holds several values, in the library's own order, so that its shape alone
 * does not give N. M and K are those of the activations; N follows from sizes among the scalars,
 * from the scales ([groups, N]) or from the shape that a scalar holds.
 *
 * Operations are 2·M·N·K in the type of the activations: these kernels widen weights before they
 * multiply. Least bytes are the activations, the output, and all two-dimensional inputs as they
 * were recorded, packed: weights, scales and zero points once. An output that is given after the
 * activations (GPTQ-Marlin) is written, not read. Of weights with two zeros in each four values
 * (2:4) the kernels multiply the other half.
 */
#include "work/workmodel.h"

/* N of scalars size_m, size_n, size_k in a row; 0 when there are none. */
static double told_columns(const struct work_args *args, double m, double k)
{
    int64_t values[3];
    for (unsigned i = 0; i + 2 < args->count; i++)
        if (work_integer_at(args, i, &values[0]) && work_integer_at(args, i + 1, &values[1]) &&
            work_integer_at(args, i + 2, &values[2]) && (double)values[0] == m &&
            (double)values[2] == k && values[1] > 0)
            return (double)values[1];
    return 0;
}

static bool is_float(enum work_type type)
{
    return type == WORK_FP16 || type == WORK_BF16 || type == WORK_FP32 || type == WORK_FP8;
}

/* N of a matrix of scales, [groups, N], or of the output, [M, N]; a third dimension
 * holds scale and zero point. */
static double scaled_columns(const struct work_args *args, unsigned a, double m, double k)
{
    for (unsigned i = a + 1; i < args->count; i++) {
        const struct work_tensor *tensor = work_tensor_at(args, i, 0);
        if (!tensor || tensor->rank < 2 || tensor->rank > 3 || !is_float(args->inputs[i].type))
            continue;
        double rows = (double)tensor->dims[0];
        bool pairs = tensor->rank == 2 || tensor->dims[2] == 2;
        if (pairs && rows > 0 && tensor->dims[1] > 1 && (rows == m || fmod(k, rows) == 0))
            return (double)tensor->dims[1];
    }
    return 0;
}

/* The room for the output: [M, N] in a type of floats where the packed weights stand otherwise. */
static bool is_output(const struct work_args *args, unsigned i, double m, double n)
{
    const struct work_tensor *tensor = work_tensor_at(args, i, 2);
    return tensor && is_float(args->inputs[i].type) && (double)tensor->dims[0] == m &&
           (double)tensor->dims[1] == n;
}

/* All inputs but `a` and the output that have two dimensions or more:
 * weights, scales, zero points. */
static double packed_bytes(const struct work_args *args, unsigned a, double m, double n)
{
    double bytes = 0;
    for (unsigned i = 0; i < args->count; i++) {
        const struct work_tensor *tensor = work_tensor_at(args, i, 0);
        if (i != a && tensor && tensor->rank >= 2 && !(i == a + 1 && is_output(args, i, m, n)))
            bytes += work_input_bytes(args, i);
    }
    return bytes;
}

static bool set_product(const struct work_call *call, struct work_cost *cost, double m, double n,
                        double k)
{
    unsigned a = (unsigned)call->model->at[0];
    cost->flops = cost->flops_needed = 2 * m * n * k;
    cost->rows = m;
    cost->matrix = true;
    return call->args->inputs[a].is_tensor && m > 0 && n > 0 && k > 0;
}

/* at: activations; where the shape of the weights stands as a scalar ("[N, K]"),
 * or -1; 1 for 2:4 weights. */
bool work_packed_gemm(const struct work_call *call, struct work_cost *cost)
{
    const struct work_args *args = call->args;
    unsigned a = (unsigned)call->model->at[0];
    const struct work_tensor *tensor = work_tensor_at(args, a, 0);
    int64_t shape[2];
    if (!tensor || !tensor->rank)
        return false;
    double k = (double)tensor->dims[tensor->rank - 1], m = work_elements(tensor) / k, n = 0;
    if (!(k > 0))
        return false;
    if (call->model->at[1] < 0) {
        n = told_columns(args, m, k);
        n = n > 0 ? n : scaled_columns(args, a, m, k);
    } else if (work_integers_at(args, (unsigned)call->model->at[1], shape, 2) == 2) {
        n = (double)shape[0];
    }
    double bits = work_type_bits(args->inputs[a].type);
    cost->type = args->inputs[a].type;
    cost->bytes = bits > 0 ? (m * k + m * n) * bits / 8 + packed_bytes(args, a, m, n) : NAN;
    bool done = set_product(call, cost, m, n, k);
    if (call->model->at[2] == 1)
        cost->flops = cost->flops_needed = cost->flops / 2;
    return done;
}

/* Two FP4 values to a byte on both sides: a is M×K/2, b is N×K/2; the
 * output has 16 bits. at: a, b. */
bool work_fp4_gemm(const struct work_call *call, struct work_cost *cost)
{
    const struct work_args *args = call->args;
    const struct work_tensor *a = work_tensor_at(args, (unsigned)call->model->at[0], 2);
    const struct work_tensor *b = work_tensor_at(args, (unsigned)call->model->at[1], 2);
    if (!a || !b || a->dims[1] != b->dims[1])
        return false;
    double m = (double)a->dims[0], n = (double)b->dims[0], k = 2 * (double)a->dims[1];
    cost->type = WORK_FP4;
    cost->bytes = (m * k + n * k) / 2 + m * n * 2;
    return set_product(call, cost, m, n, k);
}
