/*
 * compiled_operators — what instructions of compiled programs cost, by the operator of the
 * framework that they came from: the points of a roofline.
 *
 * An instruction that ran as several kernels has its costs at one of them (docs/formats/xplane.md);
 * its time is that of all. A group with an instruction whose operations are not known has none.
 */
#include "tables/resultcells.h"
#include "tables/groups.h"
#include "tables/scope.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(operation, NULL, TEXT)                                                                       \
    C(type, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(share, NULL, SHARE)                                                                          \
    C(gflop_per_s, "GFLOP/s", NUMBER)                                                              \
    C(bytes_per_s, "rate", RATE)                                                                   \
    C(flop_per_byte, "FLOP/B", NUMBER)                                                             \
    C(flops, "FLOP", COUNT)                                                                        \
    C(bytes, NULL, BYTES)                                                                          \
    C(file, NULL, TEXT)                                                                            \
    C(line, NULL, INTEGER)
NL_COLUMNS(COLUMNS);

/* Sums of a group. UNKNOWN: bits of what some execution does not give; FIRST: a row of it, + 1. */
enum { SUM_FLOPS, SUM_BYTES, SUM_RUNS, SUM_UNKNOWN, SUM_FIRST };
enum { NO_FLOPS = 1, NO_BYTES = 2 };

/* What one execution costs, if it is recorded with this row. */
static void add_costs(struct nl_group *group, const struct nl_node_table *node, uint32_t row)
{
    bool flops = node->flops[row] != NL_NULL_U64, bytes = node->bytes[row] != NL_NULL_U64;
    if (!flops && !bytes && node->output_bytes[row] == NL_NULL_U64)
        return;
    group->sums[SUM_RUNS]++;
    group->sums[SUM_UNKNOWN] |= (flops ? 0 : NO_FLOPS) | (bytes ? 0 : NO_BYTES);
    if (flops)
        nl_sum_add_u64(&group->sums[SUM_FLOPS], node->flops[row]);
    if (bytes)
        nl_sum_add_u64(&group->sums[SUM_BYTES], node->bytes[row]);
}

/* By operator, or by instruction where none is given, and type. */
static void group_nodes(const struct nl_scope *scope, struct nl_groups *groups)
{
    const struct nl_node_table *node = &scope->trace->node;
    for (uint32_t row = 0; row < node->rows; row++) {
        if (!node->module[row] || node->slice[row] == NL_NULL_ROW)
            continue;
        int64_t length = nl_scope_length(scope, node->slice[row]);
        if (length < 0)
            continue;
        uint64_t told = node->operation[row] != NL_NO_NAME;
        uint64_t name = told ? node->operation[row] : node->name[row];
        struct nl_group *group = nl_groups_add(groups, name << 1 | told, node->type[row], length);
        if (!group->sums[SUM_FIRST])
            group->sums[SUM_FIRST] = (int64_t)row + 1;
        add_costs(group, node, row);
    }
}

static struct nl_cell ratio(bool known, int64_t part, int64_t whole, double unit)
{
    return known && whole > 0 ? nl_cell_f64((double)part / (double)whole * unit)
                              : (struct nl_cell){.type = NL_CELL_NULL};
}

static void compiled_operators_add_row(struct nl_result *result, const struct nl_trace *trace,
                                       const struct nl_group *group, int64_t whole)
{
    const struct nl_node_table *node = &trace->node;
    const int64_t *sums = group->sums;
    uint32_t first = (uint32_t)(sums[SUM_FIRST] - 1);
    bool runs = sums[SUM_RUNS] > 0;
    bool flops = runs && !(sums[SUM_UNKNOWN] & NO_FLOPS);
    bool bytes = runs && !(sums[SUM_UNKNOWN] & NO_BYTES);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_operation] = nl_cell_name(result, trace, (uint32_t)(group->a >> 1));
    cells[AT_type] = nl_cell_name(result, trace, (uint32_t)group->b);
    cells[AT_count] = nl_cell_count(runs ? (uint64_t)sums[SUM_RUNS] : group->stats.count);
    cells[AT_total_ns] = nl_cell_i64(group->stats.total_ns);
    cells[AT_share] = nl_cell_share(group->stats.total_ns, whole);
    cells[AT_gflop_per_s] = ratio(flops, sums[SUM_FLOPS], group->stats.total_ns, 1);
    cells[AT_bytes_per_s] = ratio(bytes, sums[SUM_BYTES], group->stats.total_ns, 1e9);
    cells[AT_flop_per_byte] = ratio(flops && bytes, sums[SUM_FLOPS], sums[SUM_BYTES], 1);
    cells[AT_flops] = nl_cell_count(flops ? (uint64_t)sums[SUM_FLOPS] : NL_NULL_U64);
    cells[AT_bytes] = nl_cell_count(bytes ? (uint64_t)sums[SUM_BYTES] : NL_NULL_U64);
    cells[AT_file] = nl_cell_name(result, trace, node->file[first]);
    cells[AT_line] = nl_cell_u32(node->line[first]);
}

static struct nl_result *compiled_operators_run(const struct nl_trace *trace,
                                                const struct nl_analyze_options *options,
                                                struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_groups_init(&groups);
    group_nodes(&scope, &groups);
    nl_groups_finish(&groups);
    int64_t whole = nl_groups_total(&groups);
    struct nl_result *result = NL_ANSWER_NEW("compiled_operators", NULL, columns);
    for (size_t i = 0; i < groups.count; i++)
        compiled_operators_add_row(result, trace, &groups.items[i], whole);
    nl_result_settle(result, "total_ns");
    nl_groups_release(&groups);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_compiled_operators = {
    .name = "compiled_operators",
    .key = "compiled_operators",
    .title = "Operators in compiled programs",
    .needs = {{NL_T_node, "module"}},
    .need_count = 1,
    .run = compiled_operators_run,
    .doc = "Per framework operator from which the instructions of compiled programs (XLA) came, "
           "and kind of instruction: executions, total time and its share, operations and bytes "
           "with their rates and ratio (points of a roofline), and the source line of the first. "
           "Instructions without an operator are listed under their own names. Operations or bytes "
           "are unknown if those of a single execution are.",
};
