/*
 * CUDA_CALLCHAINS, OSRT_CALLCHAINS: where calls were made. Frames are read before the events, into
 * one prefix tree for all threads; a unit of events stages the nodes that its own calls name,
 * callers first, since rows refer to stacks of their unit only.
 */
#include <stdlib.h>

#include "ingest/nsys/nsys.h"
#include "ingest/nsys/nsysids.h"

/* ---- Before the events ---- */

enum { F_ID, F_DEPTH, F_SYMBOL, F_MODULE };
static const char *const frame_columns[] = {
    [F_ID] = "id", [F_DEPTH] = "stackDepth", [F_SYMBOL] = "symbol", [F_MODULE] = "module", NULL};

struct frame {
    int64_t id, depth; /* depth 0: innermost */
    uint32_t name, module;
};
struct frames {
    struct nsys_load *load;
    struct frame *list;
    size_t count, cap;
};

static void frame_row(void *context, const struct sqlitepages_cell *cells)
{
    struct frames *frames = context;
    struct nl_builder *builder = frames->load->builder;
    if (frames->count >= UINT32_MAX / 2)
        return;
    nl_grow(&frames->list, &frames->cap, frames->count + 1);
    frames->list[frames->count++] =
        (struct frame){dbcell_i64(&cells[F_ID]), dbcell_i64(&cells[F_DEPTH]),
                       nl_builder_name(builder, nsys_text(frames->load, &cells[F_SYMBOL])),
                       nl_builder_name(builder, nsys_text(frames->load, &cells[F_MODULE]))};
}

static int by_chain(const void *x, const void *y)
{
    const struct frame *a = x, *b = y;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

/* Nodes by exact keys: what a frame is (name, module), then (caller, what it is). */
struct tree {
    struct gpurows_map kinds, nodes;
};

static uint32_t node_of(struct nsys_chains *chains, struct tree *tree, uint32_t parent,
                        const struct frame *frame)
{
    bool made;
    uint64_t kind = *gpurows_map_put(&tree->kinds, (uint64_t)frame->name << 32 | frame->module,
                                     tree->kinds.count, NULL);
    uint64_t *node =
        gpurows_map_put(&tree->nodes, (uint64_t)parent << 32 | kind, chains->count, &made);
    if (made) {
        nl_grow(&chains->nodes, &chains->cap, chains->count + 1);
        chains->nodes[chains->count] = nl_stack_row();
        chains->nodes[chains->count].parent = parent;
        chains->nodes[chains->count].name = frame->name;
        chains->nodes[chains->count++].module = frame->module;
    }
    return (uint32_t)*node;
}

static void grow_tree(struct nsys_chains *chains, const struct frames *frames)
{
    struct tree tree = {0};
    for (size_t first = 0, end; first < frames->count; first = end) {
        int64_t id = frames->list[first].id;
        uint32_t node = NL_NULL_ROW;
        for (end = first; end < frames->count && frames->list[end].id == id; end++)
            ;
        for (size_t i = end; i-- > first;)
            node = node_of(chains, &tree, node, &frames->list[i]);
        (void)gpurows_map_put(&chains->innermost, (uint64_t)id, node, NULL);
    }
    gpurows_map_release(&tree.kinds);
    gpurows_map_release(&tree.nodes);
}

void nsys_chains_load(struct nsys_load *load, struct nsys_chains *chains, const char *table)
{
    struct frames frames = {.load = load};
    (void)nsys_each(load, table, frame_columns, frame_row, &frames);
    if (frames.count)
        qsort(frames.list, frames.count, sizeof *frames.list, by_chain);
    grow_tree(chains, &frames);
    nl_free(frames.list);
}

void nsys_chains_release(struct nsys_chains *chains)
{
    gpurows_map_release(&chains->innermost);
    nl_free(chains->nodes);
    *chains = (struct nsys_chains){0};
}

/* ---- With the events ---- */

/* Row of a node in the worker's unit. */
static uint32_t stage_node(struct nsys_worker *worker, const struct nsys_chains *chains,
                           uint32_t node)
{
    struct nsys_chain_rows *rows = &worker->chain_rows;
    if (rows->of != chains || rows->unit != worker->unit) {
        rows->of = chains;
        rows->unit = worker->unit;
        rows->stamp++;
    }
    if (!rows->row) { /* for either table's nodes */
        size_t most = worker->load->cuda_chains.count + worker->load->osrt_chains.count;
        rows->row = nl_alloc(most * sizeof *rows->row);
        rows->stamps = nl_zalloc(most * sizeof *rows->stamps);
    }
    size_t depth = 0;
    for (uint32_t at = node; at != NL_NULL_ROW && rows->stamps[at] != rows->stamp;
         at = chains->nodes[at].parent) {
        nl_grow(&rows->path, &rows->path_cap, depth + 1);
        rows->path[depth++] = at;
    }
    while (depth-- > 0) {
        uint32_t at = rows->path[depth];
        struct nl_stack_row row = chains->nodes[at];
        if (row.parent != NL_NULL_ROW)
            row.parent = rows->row[row.parent];
        rows->row[at] = nl_stage_stack(worker->stage, &row);
        rows->stamps[at] = rows->stamp;
    }
    return rows->row[node];
}

void nsys_chain(struct nsys_worker *worker, const struct nsys_chains *chains, dbfile_cells id,
                uint32_t slice)
{
    const uint64_t *node = chains->count && id->type == SQLITEPAGES_INTEGER && id->integer
                               ? gpurows_map_find(&chains->innermost, (uint64_t)id->integer)
                               : NULL;
    if (!node)
        return;
    struct nl_slicestack_row row = nl_slicestack_row();
    row.slice = slice;
    row.stack = stage_node(worker, chains, (uint32_t)*node);
    nl_stage_slicestack(worker->stage, &row);
}
