/* kernel_owner: owner.h as a table, one row per device operation. */
#include "base/mem.h"
#include "timeline/owner.h"
#include "timeline/forward.h"
#include "sql/tablecells.h"

enum part { OP, OUTER_OP, FORWARD_OP, LAYER, NVTX, PYTHON, PARTS };

struct owned {
    struct nl_owners owners;
    uint32_t *slices[PARTS]; /* per work, slice that owns it */
};

static void close_owner(struct nl_tf_call *call)
{
    struct owned *state = call->state;
    for (unsigned part = 0; part < PARTS; part++)
        nl_free(state->slices[part]);
    nl_owners_release(&state->owners);
    nl_free(state);
}

/* Indexes in a tree become slices, in place. */
static uint32_t *as_slices(const struct nl_rangetree *tree, uint32_t *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ranges[i] != NL_NULL_ROW)
            ranges[i] = tree->slices[ranges[i]];
    return ranges;
}

static uint32_t *find_kind(const struct nl_owners *owners, unsigned kind)
{
    struct nl_rangetree tree;
    nl_rangetree_init(&tree, owners->trace, kind);
    uint32_t *found = as_slices(&tree, nl_owners_find(owners, &tree), owners->count);
    nl_rangetree_release(&tree);
    return found;
}

/* Operators innermost, outermost and forward, and the modules, which need them. */
static void find_ops(struct owned *state)
{
    const struct nl_owners *owners = &state->owners;
    struct nl_rangetree ops, layers;
    nl_rangetree_init(&ops, owners->trace, NL_KIND_OP);
    nl_rangetree_init(&layers, owners->trace, NL_KIND_LAYER);
    uint32_t *op = nl_owners_op(owners, &ops), *forward = nl_forward_ops(&ops);
    uint32_t *layer = nl_owners_layer(owners, &layers, &ops, op);
    uint32_t *outermost = nl_no_rows(ops.count);
    state->slices[OUTER_OP] = nl_no_rows(owners->count);
    state->slices[FORWARD_OP] = nl_no_rows(owners->count);
    for (uint32_t range = 0; range < ops.count; range++)
        outermost[range] =
            ops.parents[range] == NL_NULL_ROW ? range : outermost[ops.parents[range]];
    for (uint32_t i = 0; i < owners->count; i++) {
        if (op[i] == NL_NULL_ROW)
            continue;
        state->slices[OUTER_OP][i] = outermost[op[i]];
        state->slices[FORWARD_OP][i] = forward[op[i]];
    }
    state->slices[OP] = as_slices(&ops, op, owners->count);
    state->slices[LAYER] = as_slices(&layers, layer, owners->count);
    (void)as_slices(&ops, state->slices[OUTER_OP], owners->count);
    (void)as_slices(&ops, state->slices[FORWARD_OP], owners->count);
    nl_free(outermost);
    nl_free(forward);
    nl_rangetree_release(&layers);
    nl_rangetree_release(&ops);
}

static bool open_owner(struct nl_tf_call *call, sqlite3_value **args)
{
    struct owned *state = nl_zalloc(sizeof *state);
    (void)args;
    nl_owners_init(&state->owners, call->db->trace);
    find_ops(state);
    state->slices[NVTX] = find_kind(&state->owners, NL_KIND_NVTX);
    state->slices[PYTHON] = find_kind(&state->owners, NL_KIND_PYTHON);
    call->state = state;
    call->rows = state->owners.count;
    return true;
}

static void owner_column(const struct nl_tf_call *call, size_t row, int column,
                         sqlite3_context *context)
{
    const struct owned *state = call->state;
    if (column < 2) {
        nl_show_row(context, column ? state->owners.launch[row] : state->owners.work[row]);
        return;
    }
    uint32_t slice = state->slices[(column - 2) / 2][row];
    if (column % 2 == 0 || slice == NL_NULL_ROW) {
        nl_show_row(context, slice);
        return;
    }
    nl_show_name(context, call, call->db->trace->slice.name[slice]);
}

const struct nl_table_function nl_tf_kernel_owner = {
    .name = "kernel_owner",
    .signature = "kernel_owner",
    .doc = "The owners of device work: every kernel, copy, memset and recorded graph with the call "
           "that launched it and what was open on the launching thread when the call began. The "
           "operator is the one that the file names by id (Kineto), else the innermost around the "
           "call. forward_op is the forward operator of the backward operator the work belongs to "
           "(recorded arrows, else autograd sequence numbers); work of a backward pass has the "
           "module of its forward operator. NULL: there was none, or the launch is not recorded.",
    .example =
        "SELECT op_name, count(*), sum(s.dur) AS gpu_ns FROM kernel_owner o JOIN slices s ON "
        "s.id = o.slice GROUP BY op_name ORDER BY gpu_ns DESC",
    .columns =
        (const struct nl_tf_column[]){
            {"slice", "INTEGER", "device work (id in slices)"},
            {"launch", "INTEGER", "call that launched it (id in slices)"},
            {"op", "INTEGER", "innermost operator (id in slices)"},
            {"op_name", "TEXT", "its name"},
            {"outer_op", "INTEGER", "outermost operator (id in slices)"},
            {"outer_op_name", "TEXT", "its name"},
            {"forward_op", "INTEGER", "forward operator of backward work (id in slices)"},
            {"forward_op_name", "TEXT", "its name"},
            {"layer", "INTEGER", "innermost module (id in slices)"},
            {"layer_name", "TEXT", "its name"},
            {"nvtx", "INTEGER", "innermost NVTX range or annotation (id in slices)"},
            {"nvtx_name", "TEXT", "its text"},
            {"python", "INTEGER", "innermost Python function (id in slices)"},
            {"python_name", "TEXT", "its name"},
            {0}},
    .arguments = (const struct nl_tf_column[]){{0}},
    .listed = true,
    .open = open_owner,
    .column = owner_column,
    .close = close_owner};
