/*
 * Operators that memory decides: elementwise, reductions, norms, copies, gathers, optimizers. Least
 * bytes: each input read once, each output written once. Operations are a rough number per element;
 * they matter where the arithmetic is never the bound.
 */
#include "work/workmodel.h"

enum output { WIDEST, LIKE, TRUTH, NOTHING, FILLED, COPIED, WITH_MASK, TWICE };

/* Elements of all tensors broadcast together: sizes from the right, the larger one. */
static double broadcast(const struct work_args *args, unsigned reads)
{
    int64_t dims[WORK_MAX_DIMS] = {0};
    unsigned rank = 0;
    for (unsigned i = 0; i < args->count && i < reads; i++) {
        const struct work_tensor *tensor = work_tensor_at(args, i, 0);
        if (!tensor)
            continue;
        rank = tensor->rank > rank ? tensor->rank : rank;
        for (unsigned d = 0; d < tensor->rank; d++) {
            int64_t size = tensor->dims[tensor->rank - 1 - d];
            dims[d] = size > dims[d] ? size : dims[d];
        }
    }
    double product = 1;
    for (unsigned d = 0; d < rank; d++)
        product *= (double)dims[d];
    return product;
}

/* Type promotion: floats before integers, then the wider; tensors without a
 * dimension do not count. */
static enum work_type widest(const struct work_args *args, unsigned reads)
{
    enum work_type best = WORK_TYPE_UNKNOWN;
    bool best_float = false;
    for (unsigned pass = 0; pass < 2 && best == WORK_TYPE_UNKNOWN; pass++)
        for (unsigned i = 0; i < args->count && i < reads; i++) {
            const struct work_tensor *tensor = work_tensor_at(args, i, 0);
            if (!tensor || (!pass && !tensor->rank))
                continue;
            enum work_type type = args->inputs[i].type;
            bool is_float = type >= WORK_FP64 && type <= WORK_FP4;
            if ((is_float && !best_float) ||
                (is_float == best_float && work_type_bits(type) > work_type_bits(best))) {
                best = type;
                best_float = is_float;
            }
        }
    return best;
}

/* What an input holds: dimensions without a stride repeat what precedes. */
static double read_bytes(const struct work_args *args, unsigned index)
{
    const struct work_input *input = &args->inputs[index];
    double bytes = work_input_bytes(args, index);
    for (unsigned d = 0; input->is_tensor && d < input->tensor.rank; d++)
        if (input->tensor.has_strides && !input->tensor.strides[d] && input->tensor.dims[d] > 1)
            bytes /= (double)input->tensor.dims[d];
    return bytes;
}

static double read_all(const struct work_args *args, unsigned reads, bool *known)
{
    double bytes = 0;
    *known = true;
    for (unsigned i = 0; i < args->count && i < reads; i++) {
        bytes += read_bytes(args, i);
        const struct work_input *input = &args->inputs[i];
        if ((input->is_tensor || input->is_list) && input->elements > 0 &&
            input->type == WORK_TYPE_UNKNOWN)
            *known = false;
    }
    return bytes;
}

/* Bytes written; `like`: input that the output is as large as. */
static double written(const struct work_call *call, enum output kind, unsigned like, unsigned reads,
                      double elements)
{
    double bits = work_type_bits(widest(call->args, reads));
    switch (kind) {
    case WIDEST: return elements * bits / 8;
    case TRUTH: return elements;
    case LIKE: return work_input_bytes(call->args, like);
    case TWICE: return 2 * work_input_bytes(call->args, like);
    case WITH_MASK:
        return work_input_bytes(call->args, like) +
               (like < call->args->count ? call->args->inputs[like].elements : 0);
    case FILLED:
    case COPIED:
    case NOTHING: break;
    }
    return 0;
}

/* at: operations per element, kind of output, input that it is as large as, how many
 * inputs are read (0 = all). */
bool work_memory(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_args *args = call->args;
    unsigned reads = at[3] ? (unsigned)at[3] : WORK_MAX_INPUTS;
    enum output kind = (enum output)at[1];
    /* scales of a norm over images, [channels], are no last dimension */
    double elements = kind == LIKE && (unsigned)at[2] < args->count ? args->inputs[at[2]].elements
                                                                    : broadcast(args, reads);
    bool known, any = false;
    for (unsigned i = 0; i < args->count && i < reads; i++)
        any |= args->inputs[i].is_tensor;
    if (!any)
        return false;
    double bytes = read_all(args, reads, &known);
    if (kind == FILLED)
        bytes = work_input_bytes(args, 0);
    cost->type = widest(args, reads);
    cost->flops = cost->flops_needed = at[0] * elements;
    if (known && args->has_types)
        cost->bytes = bytes + written(call, kind, (unsigned)at[2], reads, elements);
    return true;
}

enum rows { LOOKUP, SELECT, GATHER, TABLE_GRADIENT, PLACE };

/* Elements that move. */
static double moved(const struct work_call *call, enum rows kind, const struct work_tensor *table,
                    const struct work_tensor *index)
{
    int64_t dimension;
    switch (kind) {
    case LOOKUP:
        return table->rank && table->dims[0] > 0
                   ? work_elements(table) / (double)table->dims[0] * work_elements(index)
                   : NAN;
    case SELECT:
        if (!work_integer_at(call->args, 1, &dimension))
            dimension = 0;
        dimension += dimension < 0 ? table->rank : 0;
        if (dimension < 0 || dimension >= table->rank || table->dims[dimension] <= 0)
            return NAN;
        return work_elements(table) / (double)table->dims[dimension] * work_elements(index);
    case GATHER: return work_elements(index);
    case TABLE_GRADIENT:
    case PLACE: return work_elements(table);
    }
    return NAN;
}

/* at: table or values, index, kind. Rows are read once and written once; the index is read. */
bool work_rows(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *table = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *index = work_tensor_at(call->args, (unsigned)at[1], 0);
    if (!table || !index)
        return false;
    cost->type = call->args->inputs[at[0]].type;
    cost->flops = cost->flops_needed = 0;
    double elements = moved(call, (enum rows)at[2], table, index);
    if (work_type_bits(cost->type))
        cost->bytes = 2 * elements * work_type_bits(cost->type) / 8 +
                      work_input_bytes(call->args, (unsigned)at[1]);
    return elements == elements;
}

/* Lists of tensors: fused and foreach optimizers, cat, stack. at: operations per element, lists
 * read, lists written (the first ones). Types of lists are not recorded: the kernel's name may
 * say. */
bool work_lists(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_args *args = call->args;
    double read = 0, write = 0, first = 0;
    int lists = 0;
    enum work_type type = WORK_TYPE_UNKNOWN;
    for (unsigned i = 0; i < args->count && (lists < at[1] || lists < at[2]); i++) {
        if (!args->inputs[i].is_list)
            continue;
        if (type == WORK_TYPE_UNKNOWN)
            type = args->inputs[i].type;
        first = lists ? first : args->inputs[i].elements;
        read += lists < at[1] ? args->inputs[i].elements : 0;
        write += lists < at[2] ? args->inputs[i].elements : 0;
        lists++;
    }
    type = type == WORK_TYPE_UNKNOWN ? call->hint : type;
    cost->type = type;
    cost->flops = cost->flops_needed = at[0] * first;
    if (work_type_bits(type))
        cost->bytes = (read + write) * work_type_bits(type) / 8;
    return lists > 0;
}

static bool is_index(const struct work_input *input)
{
    return input->is_tensor && (input->type == WORK_INT32 || input->type == WORK_INT64);
}

static bool has_tensor_of(const struct work_args *args, double elements)
{
    for (unsigned i = 0; i < args->count; i++)
        if (args->inputs[i].is_tensor && args->inputs[i].elements == elements &&
            !is_index(&args->inputs[i]))
            return true;
    return false;
}

/* Elements of a tensor that are read at least: of a table of rows, where one tensor holds numbers
 * of rows and another one is as large as these rows together, no more than them. */
static double looked_up(const struct work_args *args, const struct work_input *table)
{
    for (unsigned i = 0; table->tensor.rank == 2 && !is_index(table) && i < args->count; i++) {
        double read = args->inputs[i].elements * (double)table->tensor.dims[1];
        if (is_index(&args->inputs[i]) && read > 0 && read < table->elements &&
            has_tensor_of(args, read))
            return read;
    }
    return table->elements;
}

/* Kernels that torch.compile made: every tensor once, but no more of it than the kernel has
 * elements, which its last scalars give (a lookup table is not read whole). */
bool work_compiled(const struct work_call *call, struct work_cost *cost)
{
    const struct work_args *args = call->args;
    double most = 0, bytes = 0;
    int64_t number;
    for (unsigned i = args->count; i-- > 0 && work_integer_at(args, i, &number) && number > 0;)
        most = most > 0 ? most * (double)number : (double)number;
    bool any = false;
    for (unsigned i = 0; i < args->count; i++) {
        const struct work_input *input = &args->inputs[i];
        if (!input->is_tensor)
            continue;
        double elements = most > 0 ? input->elements : looked_up(args, input);
        if (most > 0 && elements > most)
            elements = most;
        bytes += elements * work_type_bits(input->type) / 8;
        any |= work_type_bits(input->type) > 0;
    }
    cost->type = widest(args, WORK_MAX_INPUTS);
    cost->bytes = bytes;
    cost->estimated = true;
    return any;
}
