/* Statistics over all events of the profile: per kernel, operator, layer, copy direction,
 * collective, API call; and nodes that are known without single times. */
#include <stdlib.h>

#include "base/mem.h"
#include "rundoc/runops.h"
#include "rundoc/runstats.h"

/* Rows of one table under a key each; `rows` gives back the table's row of a sample. */
struct gathered {
    struct run_samples samples;
    uint32_t *rows;
    size_t row_cap;
    struct run_group *groups;
    size_t count;
    struct run_ops ops; /* of operators alone */
    uint32_t *ordered;  /* rows of calls by group, from starts[group] on */
    size_t *starts;
    uint64_t *sums; /* per group: bytes or operations; NL_NULL_U64 if one row does not say */
};

static void gather_duration(struct gathered *all, const struct nl_trace *trace, uint32_t key,
                            uint32_t row, uint32_t slice)
{
    if (slice == NL_NULL_ROW || trace->slice.dur[slice] == NL_NULL_I64)
        return;
    run_samples_add(&all->samples, key, trace->slice.dur[slice]);
    nl_grow(&all->rows, &all->row_cap, all->samples.count);
    all->rows[all->samples.count - 1] = row;
}

static int by_key(const void *left, const void *right)
{
    const struct run_group *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Sums of a column of the table per group, before groups lose their order of keys. */
static void sum_column(struct gathered *all, const uint64_t *column)
{
    for (size_t i = 0; i < all->samples.count; i++) {
        struct run_group wanted = {.key = all->samples.keys[i]};
        const struct run_group *group =
            bsearch(&wanted, all->groups, all->count, sizeof wanted, by_key);
        uint64_t *sum = &all->sums[group - all->groups], value = column[all->rows[i]];
        if (value == NL_NULL_U64 || *sum == NL_NULL_U64 || __builtin_add_overflow(*sum, value, sum))
            *sum = NL_NULL_U64;
    }
}

static void group_all(struct gathered *all, const uint64_t *column)
{
    all->groups = run_samples_group(&all->samples, &all->count);
    all->sums = nl_zalloc((all->count + 1) * sizeof *all->sums);
    if (column)
        sum_column(all, column);
}

static void release_gathered(struct gathered *all)
{
    run_samples_release(&all->samples);
    nl_free(all->rows);
    nl_free(all->groups);
    nl_free(all->sums);
    nl_free(all->ordered);
    nl_free(all->starts);
    run_ops_release(&all->ops);
}

/* ---- the order of rows: largest total first, ties by name ---- */

struct ranked {
    const struct run_group *group;
    struct nl_str name;
};

static int by_total(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    const struct run_stats *x = &a->group->stats, *y = &b->group->stats;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = nl_str_order(a->name, b->name);
    return order ? order : by_key(a->group, b->group);
}

typedef void row_fn(struct run_parts *parts, const struct gathered *all,
                    const struct run_group *group);

static void write_list(struct run_parts *parts, const char *key, struct gathered *all, bool named,
                       row_fn *write)
{
    struct ranked *order = nl_alloc((all->count + 1) * sizeof *order);
    for (size_t i = 0; i < all->count; i++) {
        order[i] = (struct ranked){&all->groups[i], {"", 0}};
        if (named)
            order[i].name = nl_trace_name(parts->trace, all->groups[i].key);
    }
    qsort(order, all->count, sizeof *order, by_total);
    run_open(parts, key, '[');
    for (size_t i = 0; i < all->count; i++) {
        run_row(parts);
        write(parts, all, order[i].group);
        run_write_stats(parts, "dur_ns", &order[i].group->stats);
        run_row_end(parts);
    }
    run_close(parts, ']');
    nl_free(order);
    release_gathered(all);
}

static uint64_t sum_of(const struct gathered *all, const struct run_group *group)
{
    return all->sums[group - all->groups];
}

/* ---- tables ---- */

static void kernel_row(struct run_parts *parts, const struct gathered *all,
                       const struct run_group *group)
{
    uint32_t row = all->rows[group->sample];
    run_name(parts, "name", group->key);
    run_enum(parts, "class", NL_ENUM_class, parts->trace->kernel.class[row]);
    run_enum(parts, "category", NL_ENUM_category, parts->trace->kernel.category[row]);
}

static void write_kernels(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    struct gathered all = {0};
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (slice != NL_NULL_ROW)
            gather_duration(&all, trace, trace->slice.name[slice], row, slice);
    }
    group_all(&all, NULL);
    write_list(parts, "kernels", &all, true, kernel_row);
}

/* Rows of calls, group by group. */
static void order_calls(struct gathered *all)
{
    size_t *next = nl_alloc((all->count + 1) * sizeof *next), at = 0;
    all->starts = nl_alloc((all->count + 1) * sizeof *all->starts);
    all->ordered = nl_alloc((all->samples.count + 1) * sizeof *all->ordered);
    for (size_t i = 0; i < all->count; i++) {
        all->starts[i] = next[i] = at;
        at += all->groups[i].stats.count;
    }
    for (size_t i = 0; i < all->samples.count; i++) {
        struct run_group wanted = {.key = all->samples.keys[i]};
        const struct run_group *group =
            bsearch(&wanted, all->groups, all->count, sizeof wanted, by_key);
        all->ordered[next[group - all->groups]++] = all->rows[i];
    }
    nl_free(next);
}

static void op_row(struct run_parts *parts, const struct gathered *all,
                   const struct run_group *group)
{
    uint64_t flops = sum_of(all, group);
    run_name(parts, "name", group->key);
    run_text(parts, "type", run_op_type(&all->ops, all->rows[group->sample]));
    run_f64(parts, "flops", flops == NL_NULL_U64 ? NL_NULL_F64 : (double)flops);
    run_write_shapes(parts, &all->ops, all->ordered + all->starts[group - all->groups],
                     group->stats.count);
}

static void write_ops(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    struct gathered all = {0};
    for (uint32_t row = 0; row < trace->op.rows; row++) {
        uint32_t slice = trace->op.slice[row];
        if (slice != NL_NULL_ROW)
            gather_duration(&all, trace, trace->slice.name[slice], row, slice);
    }
    group_all(&all, trace->op.flops);
    order_calls(&all);
    run_ops_init(&all.ops, trace);
    write_list(parts, "ops", &all, true, op_row);
}

static void name_row(struct run_parts *parts, const struct gathered *all,
                     const struct run_group *group)
{
    (void)all;
    run_name(parts, "name", group->key);
}

static void write_named(struct run_parts *parts, const char *key, const uint32_t *slices,
                        uint32_t rows)
{
    const struct nl_trace *trace = parts->trace;
    struct gathered all = {0};
    for (uint32_t row = 0; row < rows; row++)
        if (slices[row] != NL_NULL_ROW)
            gather_duration(&all, trace, trace->slice.name[slices[row]], row, slices[row]);
    group_all(&all, NULL);
    write_list(parts, key, &all, true, name_row);
}

static void copy_row(struct run_parts *parts, const struct gathered *all,
                     const struct run_group *group)
{
    run_enum(parts, "kind", NL_ENUM_copykind, group->key);
    run_u64(parts, "bytes", sum_of(all, group));
}

static void write_copies(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    struct gathered all = {0};
    for (uint32_t row = 0; row < trace->copy.rows; row++)
        gather_duration(&all, trace, trace->copy.kind[row], row, trace->copy.slice[row]);
    group_all(&all, trace->copy.bytes);
    write_list(parts, "copies", &all, false, copy_row);
}

#define HOST_SIDE 0x80000000u /* in keys of collectives; dictionaries are smaller */

static void collective_row(struct run_parts *parts, const struct gathered *all,
                           const struct run_group *group)
{
    run_name(parts, "operation", group->key & ~HOST_SIDE);
    run_static(parts, "side", group->key & HOST_SIDE ? "host" : "device");
    run_u64(parts, "bytes", sum_of(all, group));
}

static void write_collectives(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    struct gathered all = {0};
    for (uint32_t row = 0; row < trace->collective.rows; row++) {
        uint32_t slice = trace->collective.slice[row];
        if (slice == NL_NULL_ROW)
            continue;
        bool host = trace->slice.kind[slice] != NL_KIND_KERNEL;
        gather_duration(&all, trace, trace->collective.operation[row] | (host ? HOST_SIDE : 0), row,
                        slice);
    }
    group_all(&all, trace->collective.bytes);
    write_list(parts, "collectives", &all, false, collective_row);
}

static void write_nodes(struct run_parts *parts)
{
    const struct nl_node_table *node = &parts->trace->node;
    run_open(parts, "nodes", '[');
    for (uint32_t row = 0; row < node->rows; row++) {
        if (node->slice[row] != NL_NULL_ROW)
            continue;
        run_row(parts);
        run_name(parts, "name", node->name[row]);
        run_name(parts, "type", node->type[row]);
        run_name(parts, "provider", node->provider[row]);
        run_name(parts, "precision", node->precision[row]);
        run_name(parts, "tactic", node->tactic[row]);
        run_name(parts, "input_shapes", node->input_shapes[row]);
        run_name(parts, "output_shapes", node->output_shapes[row]);
        run_size(parts, "count", node->count[row]);
        run_size(parts, "total_ns", node->total_ns[row]);
        run_size(parts, "mean_ns", node->mean_ns[row]);
        run_size(parts, "median_ns", node->median_ns[row]);
        run_row_end(parts);
    }
    run_close(parts, ']');
}

void run_write_aggregates(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    nl_json_open(&parts->json, '{');
    write_kernels(parts);
    write_ops(parts);
    write_named(parts, "layers", trace->layer.slice, trace->layer.rows);
    write_copies(parts);
    write_collectives(parts);
    write_named(parts, "calls", trace->api.slice, trace->api.rows);
    write_nodes(parts);
    run_write_measurements(parts);
    nl_json_close(&parts->json, '}');
}
