/*
 * Trees of stacks that need no samples: bytes by the stack that allocated them, time by the stack
 * at which a thread left the CPU, and what threads did as nested slices. Each lane of a thread has
 * a separate root: its ranges and its calls run at the same time, and one sum of both would count
 * it twice.
 */
#include "base/sum.h"
#include "export/stackgrow.h"
#include "tables/lanelabel.h"

static void weigh(struct nl_stacktree *tree, uint32_t node, int64_t weight)
{
    nl_sum_add(&tree->nodes[node].self, weight);
    tree->nodes[node].count++;
    tree->samples++;
}

void nl_stackgrow_allocations(struct nl_stackgrow *grow)
{
    const struct nl_memory_table *memory = &grow->trace->memory;
    struct nl_stacktree *tree = NULL;
    uint32_t *nodes = NULL;
    uint64_t bare = 0;
    for (uint32_t row = 0; row < memory->rows; row++) {
        bool held = memory->stack[row] != NL_NULL_ROW && memory->bytes[row] > 0;
        if (!nl_export_picks_moment(grow->export, memory->lane[row], memory->ts[row]))
            continue;
        bare += !held;
        if (!held)
            continue;
        if (!tree) {
            tree = nl_stackgrow_tree(grow->fold, nl_str("allocated"), nl_str("bytes"));
            nodes = nl_zalloc((grow->trace->stack.rows + 1u) * sizeof *nodes);
        }
        weigh(tree, nl_stackgrow_stack(grow, tree, nodes, memory->stack[row]), memory->bytes[row]);
    }
    nl_export_lost(grow->export, bare, "allocations without a call stack, and frees");
    nl_free(nodes);
}

void nl_stackgrow_waits(struct nl_stackgrow *grow)
{
    const struct nl_slicestack_table *at = &grow->trace->slicestack;
    struct nl_stacktree *tree = NULL;
    uint32_t *nodes = NULL;
    for (uint32_t row = 0; row < at->rows; row++) {
        uint32_t slice = at->slice[row];
        if (grow->trace->slice.kind[slice] != NL_KIND_SCHED ||
            !nl_export_picks(grow->export, slice))
            continue;
        if (!tree) {
            tree = nl_stackgrow_tree(grow->fold, nl_str("waiting"), nl_str("ns"));
            nodes = nl_zalloc((grow->trace->stack.rows + 1u) * sizeof *nodes);
        }
        weigh(tree, nl_stackgrow_stack(grow, tree, nodes, at->stack[row]),
              nl_slice_end(grow->trace, slice) - grow->trace->slice.ts[slice]);
    }
    nl_free(nodes);
}

/* ---- slices of threads ---- */

static uint32_t root_of_lane(struct nl_stackgrow *grow, struct nl_stacktree *tree, uint32_t lane)
{
    struct nl_buf label;
    nl_buf_init(&label, 4096);
    nl_lane_label(&label, grow->trace, lane);
    struct nl_str text = {label.ptr, label.len};
    uint32_t known = grow->labels.count, id = nl_dict_add(&grow->labels, text);
    if (id >= known) {
        struct nl_stackframe frame = {
            {nl_arena_text(&grow->fold->arena, text.ptr, text.len), text.len}, {"", 0}, 0};
        nl_grow(&grow->by_label, &grow->by_label_room, id + (size_t)1);
        grow->by_label[id] = nl_stackgrow_frame(grow->fold, &frame);
    }
    nl_buf_release(&label);
    return nl_stackgrow_child(tree, 0, grow->by_label[id]);
}

/* Parents stand before their children in a lane: a slice's length goes to its node and is taken
 * from its parent's, so that what remains is the time of each by itself. */
static void add_lane(struct nl_stackgrow *grow, struct nl_stacktree *tree, uint32_t lane)
{
    const struct nl_trace *trace = grow->trace;
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t root = root_of_lane(grow, tree, lane);
    uint32_t *nodes = nl_alloc((last - first + 1u) * sizeof *nodes);
    for (uint32_t slice = first; slice < last; slice++) {
        uint32_t parent = trace->slice.parent[slice];
        bool inside = parent != NL_NULL_ROW && parent >= first && parent < slice;
        uint32_t above = inside ? nodes[parent - first] : root;
        int64_t length = nl_slice_end(trace, slice) - trace->slice.ts[slice];
        nodes[slice - first] = above;
        if (length <= 0 || !nl_export_picks(grow->export, slice))
            continue;
        uint32_t frame = nl_stackgrow_frame_of_name(grow, trace->slice.name[slice]);
        uint32_t node = nl_stackgrow_child(tree, above, frame);
        nodes[slice - first] = node;
        weigh(tree, node, length);
        if (inside)
            nl_sum_add(&tree->nodes[above].self, -length);
    }
    nl_free(nodes);
}

void nl_stackgrow_threads(struct nl_stackgrow *grow)
{
    const struct nl_trace *trace = grow->trace;
    struct nl_stacktree *tree = NULL;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!trace->lane.count[lane] || !nl_lane_shows_threads(trace, lane) ||
            !nl_scope_lane(&grow->export->scope, lane))
            continue;
        if (!tree)
            tree = nl_stackgrow_tree(grow->fold, nl_str("thread time"), nl_str("ns"));
        add_lane(grow, tree, lane);
    }
    for (uint32_t node = 0; tree && node < tree->count; node++) /* children that outlast parents */
        tree->nodes[node].self = tree->nodes[node].self > 0 ? tree->nodes[node].self : 0;
}
