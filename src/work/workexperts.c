/*
 * workexperts — see workexperts.h. MXFP4 experts of OpenAI's Triton kernels (gpt-oss): hidden
 * [T,H], scores [T,E]; inside, TopK [T,E] with k as its second input, and views of the packed
 * weights, two values in a byte: up [E,H/2,N], where N is 2·I (gate and up) or I, and down
 * [E,I/2,H]. 2·T·k·(H·N + I·H) operations in the type of the tokens, as the kernels widen weights
 * before they multiply. I is what the weights have, padding included. Least bytes: the weights of
 * min(E, T·k) experts, tokens in and out; the weights' scales are not among the recorded shapes.
 */
#include "work/workexperts.h"

#include "base/search.h"

struct inside {
    double tokens, hidden, experts; /* of the operator around */
    double routed;                  /* to how many experts a token goes; 0 not known */
    double up, down;                /* elements of one expert; 0 not known */
    double wide, narrow;            /* N of up, I of down */
    bool unsure;                    /* weights of two sizes */
};

static bool read_op(const struct nl_trace *trace, uint32_t slice, struct work_args *args)
{
    struct nl_op_inputs inputs;
    if (!nl_rangetree_inputs(trace, slice, &inputs))
        return false;
    work_args_read(args, (struct work_texts){.shapes = nl_trace_name(trace, inputs.shapes),
                                             .types = nl_trace_name(trace, inputs.dtypes),
                                             .values = nl_trace_name(trace, inputs.values)});
    return args->count > 0;
}

static void set_once(struct inside *inside, double *value, double found)
{
    inside->unsure |= *value > 0 && *value != found;
    *value = found;
}

static void take_weights(struct inside *inside, const struct work_args *args)
{
    const struct work_tensor *packed = work_tensor_at(args, 0, 3);
    if (!packed || args->inputs[0].type != WORK_INT8 || (double)packed->dims[0] != inside->experts)
        return;
    double depth = 2 * (double)packed->dims[1], width = (double)packed->dims[2];
    if (depth == inside->hidden) {
        set_once(inside, &inside->up, depth * width);
        inside->wide = width;
    } else if (width == inside->hidden) {
        set_once(inside, &inside->down, depth * width);
        inside->narrow = depth;
    }
}

static void take_op(struct inside *inside, const struct nl_trace *trace, uint32_t slice)
{
    struct nl_str name = nl_trace_name(trace, trace->slice.name[slice]);
    struct work_args args;
    int64_t k;
    bool router = nl_str_is(name, "TopK");
    if ((!router && !nl_str_is(name, "aten::view")) || !read_op(trace, slice, &args))
        return;
    const struct work_tensor *scores = router ? work_tensor_at(&args, 0, 2) : NULL;
    if (scores && (double)scores->dims[0] == inside->tokens &&
        (double)scores->dims[1] == inside->experts && work_integer_at(&args, 1, &k) && k > 0)
        set_once(inside, &inside->routed, (double)k);
    if (!router)
        take_weights(inside, &args);
}

/* Those that launched nothing are direct children of the captured operator. */
static void walk_captured(struct inside *inside, const struct nl_trace *trace, uint32_t slice)
{
    uint32_t lane = trace->slice.lane[slice],
             end = trace->lane.first[lane] + trace->lane.count[lane];
    uint16_t below = (uint16_t)(trace->slice.depth[slice] + 1);
    uint32_t first = NL_FIRST(i, slice + 1, end,
                              trace->slice.depth[i] > below || (trace->slice.depth[i] == below &&
                                                                trace->slice.parent[i] >= slice));
    for (uint32_t i = first;
         i < end && trace->slice.depth[i] == below && trace->slice.parent[i] == slice; i++)
        take_op(inside, trace, i);
}

static void walk_recorded(struct inside *inside, const struct nl_rangetree *ops, uint32_t range)
{
    const struct nl_trace *trace = ops->trace;
    uint32_t thread = trace->lane.thread[trace->slice.lane[ops->slices[range]]];
    uint32_t last = thread == NL_NULL_ROW ? range : ops->thread_first[thread + 1];
    int64_t end = nl_rangetree_end(ops, range);
    for (uint32_t r = range + 1; r < last && trace->slice.ts[ops->slices[r]] < end; r++)
        take_op(inside, trace, ops->slices[r]);
}

bool work_experts(const struct nl_rangetree *ops, uint32_t range, struct work_cost *cost)
{
    struct work_args args;
    if (!read_op(ops->trace, ops->slices[range], &args))
        return false;
    const struct work_tensor *hidden = work_tensor_at(&args, 0, 2),
                             *scores = work_tensor_at(&args, 1, 2);
    if (!hidden || !scores || hidden->dims[0] != scores->dims[0] || scores->dims[1] <= 0)
        return false;
    struct inside inside = {.tokens = (double)hidden->dims[0],
                            .hidden = (double)hidden->dims[1],
                            .experts = (double)scores->dims[1]};
    if (range >= ops->captured)
        walk_captured(&inside, ops->trace, ops->slices[range]);
    else
        walk_recorded(&inside, ops, range);
    bool fits = inside.wide == inside.narrow || inside.wide == 2 * inside.narrow;
    if (inside.unsure || !fits || !(inside.routed > 0) || !(inside.up > 0) || !(inside.down > 0))
        return false;
    double calls = inside.tokens * inside.routed, weights = inside.up + inside.down;
    double used = calls < inside.experts ? calls : inside.experts;
    cost->flops = cost->flops_needed = 2 * calls * weights;
    cost->type = args.inputs[0].type;
    cost->matrix = cost->estimated = true;
    if (work_type_bits(cost->type))
        cost->bytes = used * weights / 2 + 2 * work_input_bytes(&args, 0);
    return true;
}
