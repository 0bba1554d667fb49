/*
 * nodes — layers of a compiled model whose times were recorded as sums, and kinds of operators over
 * all nodes, with a timeline or without.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/nodes.h"
#include "tables/scope.h"
#include "base/sum.h"

/* ---- model_layers ---- */

#define LAYERS(C)                                                                                  \
    C(layer, NULL, TEXT)                                                                           \
    C(type, NULL, TEXT)                                                                            \
    C(precision, NULL, TEXT)                                                                       \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(share, NULL, SHARE)                                                                          \
    C(mean_ns, "mean", NS)                                                                         \
    C(median_ns, "median", NS)                                                                     \
    C(tactic, NULL, TEXT)
#define LAYER_PLACE(name, head, meaning) LAYER_##name,
enum { LAYERS(LAYER_PLACE) LAYER_COLUMNS };
static const struct nl_result_column layer_columns[] = {LAYERS(NL_COLUMN_ROW)};

bool nl_nodes_are_a_program(const struct nl_trace *trace)
{
    bool all = trace->source.rows > 0;
    for (uint32_t row = 0; row < trace->source.rows && all; row++)
        all = nl_str_is(nl_trace_name(trace, trace->source.format[row]), "execution-trace");
    return all;
}

/* Longest first; of equal ones the first recorded. */
static int by_total(const void *x, const void *y, void *context)
{
    const struct nl_node_table *node = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (node->total_ns[a] != node->total_ns[b])
        return node->total_ns[a] > node->total_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void add_layer(struct nl_result *result, const struct nl_trace *trace, uint32_t row,
                      int64_t whole)
{
    const struct nl_node_table *node = &trace->node;
    struct nl_cell *cells = nl_result_row(result);
    cells[LAYER_layer] = nl_cell_name(result, trace, node->name[row]);
    cells[LAYER_type] = nl_cell_name(result, trace, node->type[row]);
    cells[LAYER_precision] = nl_cell_name(result, trace, node->precision[row]);
    cells[LAYER_count] = nl_cell_i64(node->count[row]);
    cells[LAYER_total_ns] = nl_cell_i64(node->total_ns[row]);
    cells[LAYER_share] = nl_cell_share(node->total_ns[row], whole);
    cells[LAYER_mean_ns] = nl_cell_i64(node->mean_ns[row]);
    cells[LAYER_median_ns] = nl_cell_i64(node->median_ns[row]);
    cells[LAYER_tactic] = nl_cell_name(result, trace, node->tactic[row]);
}

static struct nl_result *run_layers(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)options; /* sums have no place in time */
    (void)job;
    (void)err;
    uint32_t *rows = nl_alloc((trace->node.rows + (size_t)1) * sizeof *rows);
    size_t count = 0;
    int64_t whole = 0;
    for (uint32_t row = 0; row < trace->node.rows; row++) {
        if (trace->node.slice[row] != NL_NULL_ROW || trace->node.total_ns[row] == NL_NULL_I64)
            continue;
        rows[count++] = row;
        whole = nl_sum(whole, trace->node.total_ns[row]);
    }
    qsort_r(rows, count, sizeof *rows, by_total, (void *)(uintptr_t)&trace->node);
    bool program = nl_nodes_are_a_program(trace);
    struct nl_result *result = NL_ANSWER_NEW(
        "model_layers", program ? "Nodes of the program by total time" : NULL, layer_columns);
    if (program)
        result->columns[LAYER_layer].head = "node";
    for (size_t i = 0; i < count; i++)
        add_layer(result, trace, rows[i], whole);
    nl_result_settle(result, "total_ns");
    nl_free(rows);
    return result;
}

const struct nl_analysis nl_analysis_model_layers = {
    .name = "model_layers",
    .key = "model_layers",
    .title = "Layers of the compiled model by total time",
    .needs = {{NL_T_node, "total_ns"}},
    .need_count = 1,
    .run = run_layers,
    .doc = "Per layer whose time was recorded as a sum over executions (TensorRT): executions, "
           "total, share of the total of all layers, mean and median of one execution, and the "
           "chosen tactic. Windows do not apply: sums have no place in time.",
};

/* ---- node_types ---- */

#define TYPES(C)                                                                                   \
    C(type, NULL, TEXT)                                                                            \
    C(provider, NULL, TEXT)                                                                        \
    C(nodes, NULL, COUNT)                                                                          \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(share, NULL, SHARE)
#define TYPE_PLACE(name, head, meaning) TYPE_##name,
enum { TYPES(TYPE_PLACE) TYPE_COLUMNS };
static const struct nl_result_column type_columns[] = {TYPES(NL_COLUMN_ROW)};

/* A node, and later a group of them. */
struct part {
    uint32_t type, provider, name;
    uint64_t nodes, count;
    int64_t total;
};

static int by_group(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->provider != b->provider)
        return a->provider < b->provider ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_time(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return by_group(x, y);
}

/* Nodes in the window with a time, one part each. */
static size_t collect_nodes(const struct nl_scope *scope, struct part *parts)
{
    const struct nl_node_table *node = &scope->trace->node;
    size_t count = 0;
    for (uint32_t row = 0; row < node->rows; row++) {
        struct part part = {node->type[row], node->provider[row], node->name[row], 1, 1, 0};
        part.total = node->slice[row] == NL_NULL_ROW ? node->total_ns[row]
                                                     : nl_scope_length(scope, node->slice[row]);
        if (node->slice[row] == NL_NULL_ROW && node->count[row] > 0)
            part.count = (uint64_t)node->count[row];
        if (part.total >= 0 && part.type)
            parts[count++] = part;
    }
    return count;
}

/* Joins sorted parts of one type and provider; counts the names in each. */
static size_t group(struct part *parts, size_t count)
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        struct part *last = groups ? &parts[groups - 1] : NULL;
        if (!last || last->type != parts[i].type || last->provider != parts[i].provider) {
            parts[groups++] = parts[i];
            continue;
        }
        last->nodes += last->name != parts[i].name;
        last->name = parts[i].name;
        last->count += parts[i].count;
        last->total = nl_sum(last->total, parts[i].total);
    }
    return groups;
}

static struct nl_result *run_types(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct part *parts = nl_alloc((trace->node.rows + (size_t)1) * sizeof *parts);
    size_t count = collect_nodes(&scope, parts);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        whole = nl_sum(whole, parts[i].total);
    qsort(parts, count, sizeof *parts, by_group);
    count = group(parts, count);
    qsort(parts, count, sizeof *parts, by_time);
    struct nl_result *result = NL_ANSWER_NEW("node_types", NULL, type_columns);
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[TYPE_type] = nl_cell_name(result, trace, parts[i].type);
        cells[TYPE_provider] = nl_cell_name(result, trace, parts[i].provider);
        cells[TYPE_nodes] = nl_cell_count(parts[i].nodes);
        cells[TYPE_count] = nl_cell_count(parts[i].count);
        cells[TYPE_total_ns] = nl_cell_i64(parts[i].total);
        cells[TYPE_share] = nl_cell_share(parts[i].total, whole);
    }
    nl_result_settle(result, "total_ns");
    nl_free(parts);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_node_types = {
    .name = "node_types",
    .key = "node_types",
    .title = "Kinds of operators in the compiled model",
    .needs = {{NL_T_node, "type"}},
    .need_count = 1,
    .run = run_types,
    .doc = "Per operator type and execution provider (ONNX Runtime, TensorRT): nodes of the model, "
           "executions, total time and its share. A node that runs a subgraph (Loop, If) includes "
           "the nodes inside it, which also count by themselves.",
};
