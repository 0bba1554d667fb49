/* Operators over all events of the profile: per name its kind and its calls by shapes and types of
 * inputs. Nodes of compiled models (ONNX Runtime, TensorRT, XLA) give their kind; operators of
 * PyTorch are named by it. */
#include <stdlib.h>

#include "base/chars.h"
#include "base/map.h"
#include "base/mem.h"
#include "rundoc/runops.h"

void run_ops_init(struct run_ops *ops, const struct nl_trace *trace)
{
    const struct nl_node_table *node = &trace->node;
    *ops = (struct run_ops){.trace = trace};
    ops->nodes = nl_alloc(((size_t)trace->op.rows + 1) * sizeof *ops->nodes);
    for (uint32_t row = 0; row < trace->op.rows; row++)
        ops->nodes[row] = NL_NULL_ROW;
    for (uint32_t row = 0; row < node->rows; row++) {
        uint32_t slice = node->slice[row];
        uint32_t op = slice == NL_NULL_ROW || trace->slice.kind[slice] != NL_KIND_OP
                          ? NL_NULL_ROW
                          : trace->slice.detail[slice];
        if (op < trace->op.rows && ops->nodes[op] == NL_NULL_ROW)
            ops->nodes[op] = row;
    }
}

void run_ops_release(struct run_ops *ops)
{
    nl_free(ops->nodes);
}

/* ---- kind ---- */

struct nl_str run_op_type(const struct run_ops *ops, uint32_t row)
{
    const struct nl_trace *trace = ops->trace;
    uint32_t node = ops->nodes[row];
    struct nl_str type = {NULL, 0};
    if (node != NL_NULL_ROW)
        type = nl_trace_name(trace, trace->node.type[node]);
    if (type.len || trace->op.slice[row] == NL_NULL_ROW)
        return type;
    struct nl_str name = nl_trace_name(trace, trace->slice.name[trace->op.slice[row]]);
    for (size_t i = 0; i + 2 < name.len; i++) {
        char c = name.ptr[i];
        if (c == ':' && name.ptr[i + 1] == ':' && i)
            return (struct nl_str){name.ptr + i + 2, name.len - i - 2};
        if (!nl_is_word(c))
            break; /* no namespace: "Optimizer.step#SGD.step", "autograd::engine" has one */
    }
    return type;
}

/* ---- shapes ---- */

struct shape {
    uint32_t shapes, types; /* names of the dictionary */
    uint64_t count;
    int64_t total;
};

static struct shape shape_of(const struct run_ops *ops, uint32_t row)
{
    const struct nl_trace *trace = ops->trace;
    struct shape shape = {.shapes = trace->op.shapes[row], .types = trace->op.dtypes[row]};
    uint32_t node = ops->nodes[row];
    if (shape.shapes == NL_NO_NAME && shape.types == NL_NO_NAME && node != NL_NULL_ROW) {
        shape.shapes = trace->node.input_shapes[node];
        shape.types = trace->node.input_types[node];
    }
    return shape;
}

struct shapes {
    struct shape *items;
    size_t count, cap;
    struct nl_lookup places;
};

static void add_shape(struct shapes *all, struct shape shape, int64_t length)
{
    uint64_t hash = nl_hash_pair(shape.shapes, shape.types);
    uint32_t at =
        NL_LOOKUP(&all->places, hash, i,
                  all->items[i].shapes == shape.shapes && all->items[i].types == shape.types);
    if (at == NL_NO_ROW) {
        nl_grow(&all->items, &all->cap, all->count + 1);
        at = (uint32_t)all->count++;
        all->items[at] = shape;
        nl_lookup_add(&all->places, hash, at);
    }
    all->items[at].count++;
    if (__builtin_add_overflow(all->items[at].total, length, &all->items[at].total))
        all->items[at].total = INT64_MAX;
}

/* Largest total first; ties by text, so that the order does not follow from numbers of names. */
static bool comes_before(const struct nl_trace *trace, const struct shape *a, const struct shape *b)
{
    if (a->total != b->total)
        return a->total > b->total;
    if (a->count != b->count)
        return a->count > b->count;
    int order = nl_str_order(nl_trace_name(trace, a->shapes), nl_trace_name(trace, b->shapes));
    if (order == 0)
        order = nl_str_order(nl_trace_name(trace, a->types), nl_trace_name(trace, b->types));
    return order < 0;
}

/* The first RUN_SHAPES in their order, to the front: all of them need none. */
static size_t choose_shapes(const struct nl_trace *trace, struct shapes *all)
{
    size_t most = all->count < RUN_SHAPES ? all->count : RUN_SHAPES;
    for (size_t i = 0; i < most; i++)
        for (size_t j = i + 1; j < all->count; j++)
            if (comes_before(trace, &all->items[j], &all->items[i])) {
                struct shape first = all->items[j];
                all->items[j] = all->items[i];
                all->items[i] = first;
            }
    return most;
}

void run_write_shapes(struct run_parts *parts, const struct run_ops *ops, const uint32_t *rows,
                      size_t count)
{
    const struct nl_trace *trace = parts->trace;
    struct shapes all = {0};
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t slice = trace->op.slice[rows[i]];
        add_shape(&all, shape_of(ops, rows[i]), trace->slice.dur[slice]);
    }
    for (size_t i = 0; i < all.count; i++)
        known = known || all.items[i].shapes != NL_NO_NAME || all.items[i].types != NL_NO_NAME;
    size_t most = known ? choose_shapes(trace, &all) : 0;
    run_u64(parts, "shape_count", known ? all.count : 0);
    run_open(parts, "shapes", '[');
    for (size_t i = 0; i < most; i++) {
        nl_json_open(&parts->json, '{');
        run_name(parts, "input_shapes", all.items[i].shapes);
        run_name(parts, "input_types", all.items[i].types);
        run_u64(parts, "count", all.items[i].count);
        run_i64(parts, "total_ns", all.items[i].total);
        run_close(parts, '}');
    }
    run_close(parts, ']');
    nl_lookup_release(&all.places);
    nl_free(all.items);
}
