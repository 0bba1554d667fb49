/*
 * Convolutions of one to three dimensions. Each output (of a transposed one: each input) element
 * takes 2·(input channels of its group)·(size of the filter): 2·N·prod(places)·prod(weight), as
 * torch.utils.flop_counter; a backward pass has one such product for each gradient that it makes.
 * (That tool forgets groups in the gradient of the weight; here they count as in the others.)
 */
#include "work/workmodel.h"

#define MAX_SPACE    3
#define LARGEST_SIZE 1000000000 /* no stride, padding, dilation or size of a tensor is larger */

static bool is_sane(int64_t size)
{
    return size >= 0 && size <= LARGEST_SIZE;
}

/* Sizes of the output, [N, C, …]; false where stride, padding and dilation are not recorded. */
static bool find_output(const struct work_call *call, const struct work_tensor *input,
                        const struct work_tensor *weight, struct work_tensor *output)
{
    const signed char *at = call->model->at;
    int64_t stride[MAX_SPACE], padding[MAX_SPACE], dilation[MAX_SPACE];
    int strides = work_integers_at(call->args, (unsigned)at[2], stride, MAX_SPACE);
    int paddings = work_integers_at(call->args, (unsigned)at[3], padding, MAX_SPACE);
    int dilations = work_integers_at(call->args, (unsigned)at[4], dilation, MAX_SPACE);
    unsigned space = input->rank - 2;
    if (strides < 1 || paddings < 1 || dilations < 1)
        return false;
    output->rank = input->rank;
    output->dims[0] = input->dims[0];
    output->dims[1] = weight->dims[0];
    for (unsigned i = 0; i < space; i++) {
        int64_t step = stride[strides == 1 ? 0 : i], pad = padding[paddings == 1 ? 0 : i];
        int64_t spread = dilation[dilations == 1 ? 0 : i];
        if (!is_sane(step) || !is_sane(pad) || !is_sane(spread) || !is_sane(weight->dims[i + 2]) ||
            !is_sane(input->dims[i + 2]) || !step)
            return false;
        int64_t reach = spread * (weight->dims[i + 2] - 1) + 1;
        output->dims[i + 2] = (input->dims[i + 2] + 2 * pad - reach) / step + 1;
        if (output->dims[i + 2] < 1)
            return false;
    }
    return true;
}

static double product(const struct work_tensor *places, const struct work_tensor *weight)
{
    double space = (double)places->dims[0];
    for (unsigned i = 2; i < places->rank; i++)
        space *= (double)places->dims[i];
    return 2 * space * work_elements(weight);
}

static void set_matrix_cost(struct work_cost *cost, enum work_type type, double elements)
{
    cost->matrix = true;
    cost->type = type;
    if (work_type_bits(type))
        cost->bytes = elements * work_type_bits(type) / 8;
}

static enum work_type type_at(const struct work_call *call, unsigned index)
{
    enum work_type type = call->args->inputs[index].type;
    return type == WORK_TYPE_UNKNOWN ? call->hint : type;
}

static bool shapes_fit(const struct work_tensor *input, const struct work_tensor *weight)
{
    return input && weight && input->rank == weight->rank && input->rank >= 3 &&
           input->rank <= 2 + MAX_SPACE;
}

/* at: input, weight, stride, padding, dilation; and where `transposed`
 * stands, -1 never, -2 always. */
bool work_convolution(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *input = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *weight = work_tensor_at(call->args, (unsigned)at[1], 0);
    struct work_tensor output;
    if (!shapes_fit(input, weight))
        return false;
    if (at[5] == -2 || (at[5] >= 0 && work_true_at(call->args, (unsigned)at[5]))) {
        cost->flops = cost->flops_needed = product(input, weight);
        set_matrix_cost(cost, type_at(call, (unsigned)at[0]), NAN);
        return true;
    }
    if (!find_output(call, input, weight, &output))
        return false;
    cost->flops = cost->flops_needed = product(&output, weight);
    set_matrix_cost(cost, type_at(call, (unsigned)at[0]),
                    work_elements(input) + work_elements(weight) + work_elements(&output));
    return true;
}

/* Gradients that were asked for: the mask, of input, weight and bias; both
 * where it is not recorded. */
static unsigned wanted(const struct work_args *args, int index, bool *told)
{
    struct nl_str mask = index >= 0 && (unsigned)index < args->count ? args->inputs[index].value
                                                                     : (struct nl_str){0};
    bool first = nl_str_starts(mask, "[True") || nl_str_starts(mask, "[1");
    ptrdiff_t second = mask.len ? nl_str_find_nocase(mask, ",") : -1;
    *told = second >= 0;
    if (!*told)
        return 2;
    struct nl_str rest = {mask.ptr + second + 1, mask.len - (size_t)second - 1};
    while (rest.len && *rest.ptr == ' ')
        rest = (struct nl_str){rest.ptr + 1, rest.len - 1};
    return (unsigned)first + (unsigned)(nl_str_starts(rest, "True") || nl_str_starts(rest, "1"));
}

/* at: gradient of the output, input, weight, `transposed` or -1, mask of gradients or -1. */
bool work_convolution_backward(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *gradient = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *input = work_tensor_at(call->args, (unsigned)at[1], 0);
    const struct work_tensor *weight = work_tensor_at(call->args, (unsigned)at[2], 0);
    bool told;
    if (!shapes_fit(input, weight) || !shapes_fit(gradient, weight))
        return false;
    double gradients = wanted(call->args, at[4], &told);
    bool transposed = at[3] >= 0 && work_true_at(call->args, (unsigned)at[3]);
    cost->flops = cost->flops_needed = gradients * product(transposed ? input : gradient, weight);
    cost->estimated = !told;
    double all = work_elements(gradient) + work_elements(input) + work_elements(weight);
    set_matrix_cost(cost, type_at(call, (unsigned)at[0]), gradients * all);
    return true;
}

/*
 * One gradient alone, as older cuDNN operators of PyTorch made it: of the input from gradient
 * and weight; of the weight from gradient and input, where the weight's size stands in the
 * operator around it. at: gradient of the output, input or weight, 1 for the weight's, weight
 * among the parent's inputs.
 */
bool work_convolution_part(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *gradient = work_tensor_at(call->args, (unsigned)at[0], 0);
    const struct work_tensor *other = work_tensor_at(call->args, (unsigned)at[1], 0);
    const struct work_tensor *weight = other;
    if (at[2])
        weight = call->parent ? work_tensor_at(call->parent, (unsigned)at[3], 0) : NULL;
    if (!shapes_fit(gradient, weight) || !other)
        return false;
    cost->flops = cost->flops_needed = product(gradient, weight);
    /* The other side's size is given for only one of the two: the least of both is counted. */
    set_matrix_cost(cost, type_at(call, (unsigned)at[0]),
                    work_elements(gradient) + work_elements(other) +
                        (at[2] ? work_elements(weight) : 0));
    return true;
}
