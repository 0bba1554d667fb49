/*
 * Backward to forward. PyTorch gives an operator that makes an autograd node the node's sequence
 * number, which counts per thread, and runs the node later, mostly on another thread, under the
 * same number with the forward thread's own number. Nested forward operators share a number; the
 * last to begin made the node (as Kineto draws its arrows).
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/forward.h"
#include "timeline/owner.h"

struct numbered {
    int64_t sequence, ts;
    uint32_t process, range; /* index in the tree */
};

static int by_number(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

static uint32_t op_row(const struct nl_rangetree *ops, uint32_t range)
{
    return range < ops->captured ? ops->trace->slice.detail[ops->slices[range]] : NL_NULL_U32;
}

static bool is_backward(const struct nl_rangetree *ops, uint32_t range)
{
    uint32_t row = op_row(ops, range);
    return row != NL_NULL_U32 && ops->trace->op.forward_thread[row] != NL_NULL_I64 &&
           ops->trace->op.forward_thread[row] > 0;
}

static struct numbered numbered_op(const struct nl_rangetree *ops, uint32_t range)
{
    uint32_t row = op_row(ops, range), slice = ops->slices[range];
    return (struct numbered){
        .sequence = row == NL_NULL_U32 ? NL_NULL_I64 : ops->trace->op.sequence[row],
        .ts = ops->trace->slice.ts[slice],
        .process = nl_slice_process(ops->trace, slice),
        .range = range,
    };
}

/* Forward operators that have a number, in order. */
static struct numbered *list_forward(const struct nl_rangetree *ops, size_t *count)
{
    struct numbered *list = NULL;
    size_t cap = 0;
    *count = 0;
    for (uint32_t range = 0; range < ops->count; range++) {
        struct numbered op = numbered_op(ops, range);
        if (op.sequence == NL_NULL_I64 || op.sequence < 0 || is_backward(ops, range))
            continue;
        nl_grow(&list, &cap, *count + 1);
        list[(*count)++] = op;
    }
    if (*count)
        qsort(list, *count, sizeof *list, by_number);
    return list;
}

/* The last forward operator of that number that began before; NL_NULL_ROW none. */
static uint32_t find_forward(const struct numbered *list, size_t count, struct numbered key)
{
    key.range = 0;
    size_t low = NL_FIRST(i, 0, count, by_number(&list[i], &key) >= 0);
    bool fits =
        low && list[low - 1].process == key.process && list[low - 1].sequence == key.sequence;
    return fits ? list[low - 1].range : NL_NULL_ROW;
}

/* Recorded arrows: from the forward operator to the backward one. */
static void follow_flows(const struct nl_rangetree *ops, uint32_t *forward)
{
    const struct nl_flow_table *flow = &ops->trace->flow;
    uint32_t *places = NULL;
    for (uint32_t i = 0; i < flow->rows; i++) {
        if (flow->kind[i] != NL_FLOW_FORWARD_BACKWARD || flow->src[i] == NL_NULL_ROW ||
            flow->dst[i] == NL_NULL_ROW)
            continue;
        if (!places)
            places = nl_rangetree_places(ops);
        uint32_t from = places[flow->src[i]], to = places[flow->dst[i]];
        if (from != NL_NULL_ROW && to != NL_NULL_ROW && from != to)
            forward[to] = from;
    }
    nl_free(places);
}

uint32_t *nl_forward_ops(const struct nl_rangetree *ops)
{
    uint32_t *forward = nl_no_rows(ops->count);
    size_t count = 0;
    struct numbered *list = list_forward(ops, &count);
    follow_flows(ops, forward);
    for (uint32_t range = 0; range < ops->count; range++) {
        uint32_t parent = ops->parents[range];
        if (forward[range] == NL_NULL_ROW && is_backward(ops, range))
            forward[range] = find_forward(list, count, numbered_op(ops, range));
        if (forward[range] == NL_NULL_ROW && parent != NL_NULL_ROW)
            forward[range] = forward[parent];
    }
    nl_free(list);
    return forward;
}
