/* workfollow — see workfollow.h. */
#include "work/workfollow.h"

#define LOOK_AHEAD 16 /* operators after the outermost around the convolution */

static bool read_op(const struct nl_rangetree *ops, uint32_t range, struct work_args *args)
{
    const struct nl_trace *trace = ops->trace;
    struct nl_op_inputs inputs;
    if (!nl_rangetree_inputs(trace, ops->slices[range], &inputs))
        return false;
    work_args_read(args, (struct work_texts){.shapes = nl_trace_name(trace, inputs.shapes),
                                             .types = nl_trace_name(trace, inputs.dtypes)});
    return args->count > 0;
}

/* Batch and channels of the convolution, and no place more than the input has. */
static bool shapes_fit(const struct work_tensor *output, const struct work_tensor *input,
                       const struct work_tensor *weight)
{
    if (!output || output->rank != input->rank || output->dims[0] != input->dims[0] ||
        output->dims[1] != weight->dims[0])
        return false;
    for (unsigned i = 2; i < input->rank; i++)
        if (output->dims[i] < 1 || output->dims[i] > input->dims[i] + 2 * weight->dims[i])
            return false;
    return true;
}

static uint32_t thread_end(const struct nl_rangetree *ops, uint32_t range)
{
    uint32_t thread = ops->trace->lane.thread[ops->trace->slice.lane[ops->slices[range]]];
    return thread == NL_NULL_ROW ? 0 : ops->thread_first[thread + 1];
}

bool work_follow(const struct nl_rangetree *ops, uint32_t range, struct work_cost *cost)
{
    struct work_args own, next;
    if (!read_op(ops, range, &own))
        return false;
    const struct work_tensor *input = work_tensor_at(&own, 0, 0);
    const struct work_tensor *weight = work_tensor_at(&own, 1, 0);
    if (!input || !weight || input->rank < 3 || input->rank > 5 || weight->rank != input->rank)
        return false;
    int64_t end = nl_rangetree_end(ops, range);
    uint32_t last = thread_end(ops, range);
    unsigned seen = 0;
    for (uint32_t r = range + 1; r < last && seen < LOOK_AHEAD; r++) {
        if (ops->trace->slice.ts[ops->slices[r]] < end || !read_op(ops, r, &next))
            continue;
        seen++;
        const struct work_tensor *output = work_tensor_at(&next, 0, 0);
        if (!shapes_fit(output, input, weight))
            continue;
        double places = work_elements(output) / (double)output->dims[1];
        cost->flops = cost->flops_needed = 2 * places * work_elements(weight);
        cost->type = own.inputs[0].type;
        cost->matrix = cost->estimated = true;
        if (work_type_bits(cost->type))
            cost->bytes = (work_elements(input) + work_elements(weight) + work_elements(output)) *
                          work_type_bits(cost->type) / 8;
        return true;
    }
    return false;
}
