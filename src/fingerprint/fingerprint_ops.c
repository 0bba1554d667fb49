/*
 * Operators and layers. An operator's own time on the host is its length without the operators
 * inside it; the device time it launched is that of work launched in it and in no operator inside.
 */
#include <math.h>

#include "base/chars.h"
#include "tables/resultcells.h"
#include "timeline/fold.h"
#include "tables/gputime.h"
#include "base/map.h"
#include "base/mem.h"
#include "fingerprint/fingerprint_gather.h"

#define MAX_NAME ((size_t)1 << 20)

/* Own lengths of the ranges of a tree. */
static int64_t *own_times(const struct nl_rangetree *tree)
{
    int64_t *own = nl_alloc(((size_t)tree->count + 1) * sizeof *own);
    for (uint32_t range = 0; range < tree->count; range++)
        own[range] = tree->trace->slice.dur[tree->slices[range]];
    for (uint32_t range = 0; range < tree->count; range++)
        if (tree->parents[range] != NL_NULL_ROW)
            own[tree->parents[range]] -= tree->trace->slice.dur[tree->slices[range]];
    for (uint32_t range = 0; range < tree->count; range++)
        own[range] = own[range] > 0 ? own[range] : 0;
    return own;
}

/* Per slice the row of table nodes that describes it; NULL when there are none. */
static uint32_t *nodes_of(const struct nl_trace *trace)
{
    if (!trace->node.rows)
        return NULL;
    uint32_t *nodes = nl_alloc(((size_t)trace->slice.rows + 1) * sizeof *nodes);
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        nodes[i] = NL_NULL_ROW;
    for (uint32_t row = 0; row < trace->node.rows; row++)
        if (trace->node.slice[row] != NL_NULL_ROW)
            nodes[trace->node.slice[row]] = row;
    return nodes;
}

static double known_or_nan(uint64_t value)
{
    return value == NL_NULL_U64 ? NL_NULL_F64 : (double)value;
}

/* Bytes that an operator moves: as recorded, else all inputs and outputs of its node. */
static double bytes_of(const struct nl_trace *trace, uint32_t op, uint32_t node)
{
    const struct nl_node_table *n = &trace->node;
    if (trace->op.bytes[op] != NL_NULL_U64 || node == NL_NULL_ROW)
        return known_or_nan(trace->op.bytes[op]);
    return known_or_nan(n->parameter_bytes[node]) + known_or_nan(n->activation_bytes[node]) +
           known_or_nan(n->output_bytes[node]);
}

/* Element types as Kineto and ONNX Runtime write them; the first found decides. `float` may be
 * multiplied in TF32, so the larger of both peaks bounds it. */
static const struct {
    const char *text;
    enum gpu_figure figure, other;
} types[] = {
    {"BFloat16", GPU_BF16, GPU_BF16}, {"Half", GPU_FP16, GPU_FP16},
    {"bfloat16", GPU_BF16, GPU_BF16}, {"float16", GPU_FP16, GPU_FP16},
    {"Float8", GPU_FP8, GPU_FP8},     {"double", GPU_FP64, GPU_FP64},
    {"float", GPU_FP32, GPU_TF32},
};

static double peak_of(const struct fingerprint_gather *gather, uint32_t op)
{
    struct nl_str text = nl_trace_name(gather->trace, gather->trace->op.dtypes[op]);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!nl_str_contains(text, types[i].text))
            continue;
        double one = gather->common->figures[types[i].figure];
        double other = gather->common->figures[types[i].other];
        return other > one ? other : one;
    }
    return NL_NULL_F64;
}

/* The least ns in which the operations are done and the bytes are moved; NaN without operations. */
static double best_ns(const struct fingerprint_gather *gather, uint32_t op, double flops,
                      double bytes)
{
    double compute = flops / peak_of(gather, op) * 1e9;
    double memory = bytes / gather->common->figures[GPU_MEMORY] * 1e9;
    return memory > compute ? memory : compute;
}

/* Device time launched in each range of the tree and in none inside. */
static int64_t *launched_times(const struct fingerprint_gather *gather,
                               const struct nl_gputime *gpu)
{
    int64_t *ns = nl_zalloc(((size_t)gpu->tree->count + 1) * sizeof *ns);
    for (uint32_t range = 0; range < gpu->tree->count; range++)
        ns[range] = -1; /* launched nothing */
    for (uint32_t work = 0; work < gpu->owners->count; work++) {
        int64_t length = fingerprint_device_length(gather, gpu->owners->work[work]);
        uint32_t range = gpu->owner[work];
        if (length >= 0 && range != NL_NULL_ROW)
            ns[range] = (ns[range] < 0 ? 0 : ns[range]) + length;
    }
    return ns;
}

/* Of ranges of captured graphs (from tree->captured on) in how many replays they launched
 * something: each is a call of the operator, which ran once, when the graph was captured. */
static uint32_t *count_replays(const struct nl_gputime *gpu)
{
    uint32_t *runs = nl_zalloc(((size_t)gpu->tree->count + 1) * sizeof *runs);
    struct nl_lookup known = {0};
    struct {
        uint32_t range, launch;
    } *pairs = NULL;
    size_t count = 0, cap = 0;
    for (uint32_t work = 0; work < gpu->owners->count; work++) {
        uint32_t range = gpu->owner[work];
        if (range == NL_NULL_ROW || range < gpu->tree->captured)
            continue;
        uint32_t launch = gpu->trace->slice.link[gpu->owners->work[work]];
        uint64_t hash = nl_hash_pair(range, launch);
        if (NL_LOOKUP(&known, hash, i, pairs[i].range == range && pairs[i].launch == launch) !=
            NL_NO_ROW)
            continue;
        nl_grow(&pairs, &cap, count + 1);
        pairs[count].range = range;
        pairs[count].launch = launch;
        nl_lookup_add(&known, hash, (uint32_t)count++);
        runs[range]++;
    }
    nl_free(pairs);
    nl_lookup_release(&known);
    return runs;
}

struct ops {
    const struct fingerprint_gather *gather;
    const struct nl_rangetree *tree;
    struct fingerprint_tally *launched, *own;
    struct nl_fold fold;
    uint32_t *nodes;
    int64_t *own_ns, *launched_ns;
    uint32_t *runs;  /* count_replays */
    bool *has_inner; /* operators inside it */
    struct nl_lookup kinds;
    struct kind {
        uint32_t name, shapes, own, launched; /* items; UINT32_MAX = not met yet */
    } * kind;
    size_t kind_count, kind_cap;
    struct nl_buf text;
};

static bool *find_inner(const struct nl_rangetree *tree)
{
    bool *has = nl_zalloc(((size_t)tree->count + 1) * sizeof *has);
    for (uint32_t range = 0; range < tree->count; range++)
        if (tree->parents[range] != NL_NULL_ROW)
            has[tree->parents[range]] = true;
    return has;
}

static struct nl_str folded(struct ops *ops, uint32_t name)
{
    return nl_dict_text(&ops->fold.texts, nl_fold_id(&ops->fold, name));
}

/* Operators of one name and shapes; what they are called is worked out once. */
static struct kind *operator_kind(struct ops *ops, uint32_t name, uint32_t shapes)
{
    uint64_t hash = nl_hash_pair(name, shapes);
    uint32_t at =
        NL_LOOKUP(&ops->kinds, hash, i, ops->kind[i].name == name && ops->kind[i].shapes == shapes);
    if (at != NL_NO_ROW)
        return &ops->kind[at];
    nl_grow(&ops->kind, &ops->kind_cap, ops->kind_count + 1);
    nl_lookup_add(&ops->kinds, hash, (uint32_t)ops->kind_count);
    ops->kind[ops->kind_count] = (struct kind){name, shapes, UINT32_MAX, UINT32_MAX};
    return &ops->kind[ops->kind_count++];
}

/* "aten::mm [[2, 3], [3, 4]]"; operators without inputs that have a shape
 * are called by their name. */
static uint32_t item_of(struct ops *ops, struct fingerprint_tally *tally, const struct kind *kind)
{
    struct nl_str name = folded(ops, kind->name);
    struct nl_str shapes = nl_trace_name(ops->gather->trace, kind->shapes);
    bool told = false;
    nl_buf_clear(&ops->text);
    nl_buf_add(&ops->text, name.ptr, name.len);
    nl_buf_char(&ops->text, ' ');
    for (size_t i = 0; i < shapes.len; i++) {
        /* Writers of JSON differ in blanks. */
        if (shapes.ptr[i] == ' ' || shapes.ptr[i] == '\n')
            continue;
        nl_buf_char(&ops->text, shapes.ptr[i]);
        told |= nl_is_digit(shapes.ptr[i]);
    }
    if (!told)
        return fingerprint_tally_item(tally, name, name);
    return fingerprint_tally_item(
        tally, (struct nl_str){ops->text.ptr ? ops->text.ptr : "", ops->text.len}, name);
}

static void add_op(struct ops *ops, uint32_t range)
{
    const struct nl_trace *trace = ops->gather->trace;
    uint32_t slice = ops->tree->slices[range], op = trace->slice.detail[slice];
    uint32_t node = ops->nodes ? ops->nodes[slice] : NL_NULL_ROW;
    struct nl_str type = {"", 0};
    if (node != NL_NULL_ROW)
        type = nl_trace_name(trace, trace->node.type[node]);
    bool has_row = range < ops->tree->captured && op < trace->op.rows;
    struct nl_op_inputs inputs = {0};
    (void)nl_rangetree_inputs(trace, slice, &inputs);
    struct kind *kind = operator_kind(ops, trace->slice.name[slice], inputs.shapes);
    double flops = has_row ? known_or_nan(trace->op.flops[op]) : NL_NULL_F64;
    double bytes = has_row ? bytes_of(trace, op, node) : NL_NULL_F64;
    if (fingerprint_host_length(ops->gather, slice) >= 0) {
        if (kind->own == UINT32_MAX)
            kind->own = item_of(ops, ops->own, kind);
        uint32_t item = kind->own;
        fingerprint_tally_add(ops->own, item, type, ops->own_ns[range]);
        /* Its own time is that of its operations only where neither a device nor another operator
         * did them. */
        bool here = ops->launched_ns[range] < 0 && !ops->has_inner[range];
        fingerprint_tally_flops(ops->own, item, flops, here ? flops : NL_NULL_F64, bytes,
                                NL_NULL_F64);
    }
    if (ops->launched_ns[range] < 0)
        return;
    if (kind->launched == UINT32_MAX)
        kind->launched = item_of(ops, ops->launched, kind);
    uint32_t item = kind->launched;
    uint32_t runs = ops->runs[range] ? ops->runs[range] : 1;
    fingerprint_tally_sum(ops->launched, item, type, runs, ops->launched_ns[range],
                          (double)ops->launched_ns[range] / runs);
    fingerprint_tally_flops(ops->launched, item, flops, flops, bytes,
                            has_row ? best_ns(ops->gather, op, flops, bytes) : NL_NULL_F64);
}

void fingerprint_gather_ops(const struct fingerprint_gather *gather,
                            struct fingerprint_tally *launched, struct fingerprint_tally *own)
{
    struct nl_gputime gpu;
    if (!gather->trace->op.rows && !gather->trace->captured.rows)
        return;
    nl_gputime_init(&gpu, gather->trace, &gather->options, NL_KIND_OP);
    struct ops ops = {.gather = gather, .tree = gpu.tree, .launched = launched, .own = own};
    nl_fold_init(&ops.fold, gather->trace, NL_FOLD_INSTANCES);
    nl_buf_init(&ops.text, MAX_NAME);
    ops.nodes = nodes_of(gather->trace);
    ops.own_ns = own_times(gpu.tree);
    ops.launched_ns = launched_times(gather, &gpu);
    ops.runs = count_replays(&gpu);
    ops.has_inner = find_inner(gpu.tree);
    for (uint32_t range = 0; range < gpu.tree->count; range++)
        add_op(&ops, range);
    nl_free(ops.nodes);
    nl_free(ops.own_ns);
    nl_free(ops.launched_ns);
    nl_free(ops.runs);
    nl_free(ops.has_inner);
    nl_free(ops.kind);
    nl_lookup_release(&ops.kinds);
    nl_buf_release(&ops.text);
    nl_fold_release(&ops.fold);
    nl_gputime_release(&gpu);
}

/* ---- layers ---- */

/* Nodes that are known as sums. */
static void add_sums(const struct fingerprint_gather *gather, struct fingerprint_tally *tally,
                     struct nl_fold *fold)
{
    const struct nl_node_table *node = &gather->trace->node;
    for (uint32_t row = 0; row < node->rows; row++) {
        int64_t count = node->count[row], total = node->total_ns[row], mean = node->mean_ns[row];
        if (node->slice[row] != NL_NULL_ROW || (total < 0 && mean < 0))
            continue;
        count = count > 0 ? count : 1;
        if (total < 0 && __builtin_mul_overflow(mean, count, &total))
            continue;
        struct nl_str name = nl_dict_text(&fold->texts, nl_fold_id(fold, node->name[row]));
        uint32_t item = fingerprint_tally_item(tally, name, name);
        fingerprint_tally_sum(tally, item, nl_trace_name(gather->trace, node->type[row]),
                              (uint64_t)count, total, (double)total / (double)count);
    }
}

void fingerprint_gather_layers(const struct fingerprint_gather *gather,
                               struct fingerprint_tally *tally)
{
    const struct nl_trace *trace = gather->trace;
    struct nl_fold fold;
    nl_fold_init(&fold, trace, NL_FOLD_INSTANCES);
    if (trace->layer.rows) {
        struct nl_rangetree tree;
        nl_rangetree_init(&tree, trace, NL_KIND_LAYER);
        int64_t *own = own_times(&tree);
        for (uint32_t range = 0; range < tree.count; range++) {
            uint32_t slice = tree.slices[range];
            struct nl_str name =
                nl_dict_text(&fold.texts, nl_fold_id(&fold, trace->slice.name[slice]));
            if (fingerprint_host_length(gather, slice) >= 0)
                fingerprint_tally_add(tally, fingerprint_tally_item(tally, name, name),
                                      (struct nl_str){"", 0}, own[range]);
        }
        nl_free(own);
        nl_rangetree_release(&tree);
    }
    add_sums(gather, tally, &fold);
    nl_fold_release(&fold);
}
