/* Trees of stacks: see the header. */
#include "export/stackfold.h"

#include <string.h>

#include "base/sort.h"
#include "base/sum.h"
#include "export/stackgrow.h"
#include "timeline/owner.h"

#define MAX_OPEN    512 /* slices open on a thread at a time, over all its lanes */
#define MAX_KINDS   64
#define KINDS_BYTES 4096

/* ---- trees ---- */

uint32_t nl_stackgrow_child(struct nl_stacktree *tree, uint32_t parent, uint32_t frame)
{
    uint64_t hash = nl_hash_number((uint64_t)parent << 32 | frame);
    uint32_t node = NL_LOOKUP(&tree->children, hash, i,
                              tree->nodes[i].parent == parent && tree->nodes[i].frame == frame);
    if (node != NL_NO_ROW)
        return node;
    nl_grow(&tree->nodes, &tree->cap, (size_t)tree->count + 1);
    tree->nodes[tree->count] = (struct nl_stacknode){.parent = parent, .frame = frame};
    nl_lookup_add(&tree->children, hash, tree->count);
    return tree->count++;
}

struct nl_stacktree *nl_stackgrow_tree(struct nl_stackfold *fold, struct nl_str event,
                                       struct nl_str unit)
{
    nl_grow(&fold->trees, &fold->cap, fold->count + 1);
    struct nl_stacktree *tree = &fold->trees[fold->count++];
    *tree = (struct nl_stacktree){.event = event, .unit = unit};
    nl_grow(&tree->nodes, &tree->cap, 1);
    tree->nodes[tree->count++] = (struct nl_stacknode){.frame = NL_NULL_ROW};
    return tree;
}

uint32_t nl_stackgrow_frame(struct nl_stackfold *fold, const struct nl_stackframe *frame)
{
    nl_grow(&fold->frames, &fold->frame_cap, (size_t)fold->frame_count + 1);
    fold->frames[fold->frame_count] = *frame;
    return fold->frame_count++;
}

uint32_t *nl_stackfold_path(const struct nl_stacktree *tree, uint32_t node, uint32_t *depth)
{
    uint32_t count = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        count++;
    uint32_t *path = nl_alloc((count + 1u) * sizeof *path);
    *depth = count;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        path[--count] = tree->nodes[at].frame;
    return path;
}

/* ---- samples ---- */

/* Frames of stacks that differ in nothing that is reported are one. */
static uint32_t *frames_of_stacks(struct nl_stackfold *fold)
{
    const struct nl_trace *trace = fold->export->trace;
    const struct nl_stack_table *stack = &trace->stack;
    uint32_t *frames = nl_alloc((stack->rows + 1u) * sizeof *frames);
    struct nl_lookup known = {0};
    for (uint32_t i = 0; i < stack->rows; i++) {
        uint32_t key[4] = {stack->name[i], stack->file[i], stack->module[i], stack->line[i]};
        uint64_t hash = nl_hash_keyed(key, sizeof key);
        uint32_t same = NL_LOOKUP(&known, hash, at,
                                  stack->name[at] == key[0] && stack->file[at] == key[1] &&
                                      stack->module[at] == key[2] && stack->line[at] == key[3]);
        if (same != NL_NO_ROW) {
            frames[i] = frames[same];
            continue;
        }
        nl_lookup_add(&known, hash, i);
        struct nl_stackframe frame = {nl_trace_name(trace, stack->name[i]),
                                      nl_trace_name(trace, stack->file[i]),
                                      stack->line[i] == NL_NULL_U32 ? 0 : stack->line[i]};
        if (!frame.name.len)
            frame.name = nl_str("(unknown)");
        if (!frame.file.len)
            frame.file = nl_trace_name(trace, stack->module[i]);
        frames[i] = nl_stackgrow_frame(fold, &frame);
    }
    nl_lookup_release(&known);
    return frames;
}

/* Made with all above it. Parents come before children. */
uint32_t nl_stackgrow_stack(struct nl_stackgrow *grow, struct nl_stacktree *tree, uint32_t *nodes,
                            uint32_t row)
{
    const struct nl_stack_table *stack = &grow->trace->stack;
    if (!grow->by_stack)
        grow->by_stack = frames_of_stacks(grow->fold);
    uint32_t above = row, depth = 0;
    while (!nodes[above] && stack->parent[above] != NL_NULL_ROW && stack->parent[above] < above)
        above = stack->parent[above];
    if (!nodes[above])
        nodes[above] = nl_stackgrow_child(tree, 0, grow->by_stack[above]);
    uint32_t *way = NULL;
    size_t cap = 0;
    for (uint32_t at = row; at != above; at = stack->parent[at]) {
        nl_grow(&way, &cap, depth + (size_t)1);
        way[depth++] = at;
    }
    for (uint32_t node = nodes[above]; depth--; node = nodes[way[depth]])
        nodes[way[depth]] = nl_stackgrow_child(tree, node, grow->by_stack[way[depth]]);
    nl_free(way);
    return nodes[row];
}

struct sample_kind {
    uint32_t event, unit;
};

static void fold_kind(struct nl_stackgrow *grow, const struct sample_kind *kind)
{
    struct nl_stackfold *fold = grow->fold;
    const struct nl_trace *trace = grow->trace;
    const struct nl_sample_table *sample = &trace->sample;
    struct nl_str event = nl_trace_name(trace, kind->event),
                  unit = nl_trace_name(trace, kind->unit);
    struct nl_stacktree *tree = nl_stackgrow_tree(fold, event.len ? event : nl_str("samples"),
                                                  unit.len ? unit : nl_str("samples"));
    uint32_t *nodes = nl_zalloc((trace->stack.rows + 1u) * sizeof *nodes);
    for (uint32_t i = 0; i < sample->rows; i++) {
        if (sample->event[i] != kind->event || sample->unit[i] != kind->unit ||
            sample->stack[i] == NL_NULL_ROW ||
            !nl_export_picks_moment(fold->export, sample->lane[i], sample->ts[i]))
            continue;
        uint32_t node = nl_stackgrow_stack(grow, tree, nodes, sample->stack[i]);
        int64_t weight = sample->weight[i] == NL_NULL_I64 ? 1 : sample->weight[i], sum;
        if (!__builtin_add_overflow(tree->nodes[node].self, weight, &sum))
            tree->nodes[node].self = sum;
        tree->nodes[node].count++;
        tree->samples++;
    }
    nl_free(nodes);
}

static void fold_samples(struct nl_stackgrow *grow)
{
    struct nl_export *export = grow->export;
    const struct nl_sample_table *sample = &export->trace->sample;
    struct sample_kind kinds[MAX_KINDS];
    size_t count = 0;
    uint64_t bare = 0, others = 0;
    for (uint32_t i = 0; i < sample->rows; i++) {
        if (!nl_export_picks_moment(export, sample->lane[i], sample->ts[i]))
            continue;
        bare += sample->stack[i] == NL_NULL_ROW;
        size_t k = 0;
        while (k < count &&
               (kinds[k].event != sample->event[i] || kinds[k].unit != sample->unit[i]))
            k++;
        if (k == count && count < MAX_KINDS)
            kinds[count++] = (struct sample_kind){sample->event[i], sample->unit[i]};
        others += k == MAX_KINDS;
    }
    nl_export_lost(export, bare, "samples without a stack");
    nl_export_lost(export, others, "samples of further events");
    for (size_t k = 0; k < count; k++)
        fold_kind(grow, &kinds[k]);
}

/* ---- device work under what launched it ---- */

struct device_fold {
    struct nl_stackgrow *grow;
    const struct nl_trace *trace;
    uint32_t *first, *lanes;        /* lanes of each thread */
    struct nl_lane_cursor *cursors; /* per lane */
    uint32_t none;                  /* frame of work without a launch; NL_NULL_ROW = not made yet */
};

uint32_t nl_stackgrow_frame_of_name(struct nl_stackgrow *grow, uint32_t name)
{
    uint32_t id = nl_fold_id(&grow->names, name);
    if (id >= grow->by_name_room) {
        size_t before = grow->by_name_room;
        nl_grow(&grow->by_name, &grow->by_name_room, id + (size_t)1);
        memset(grow->by_name + before, 0, (grow->by_name_room - before) * sizeof *grow->by_name);
    }
    if (grow->by_name[id])
        return grow->by_name[id] - 1;
    struct nl_str text = nl_dict_text(&grow->names.texts, id);
    char *copy = nl_arena_text(&grow->fold->arena, text.ptr, text.len);
    struct nl_stackframe frame = {
        text.len ? (struct nl_str){copy, text.len} : nl_str("(no name)"), {"", 0}, 0};
    grow->by_name[id] = nl_stackgrow_frame(grow->fold, &frame) + 1;
    return grow->by_name[id] - 1;
}

/* Lanes of every thread, so that what is open on it is found in all of them. */
static void find_lanes(struct device_fold *work)
{
    const struct nl_lane_table *lane = &work->trace->lane;
    uint32_t threads = work->trace->thread.rows;
    work->first = nl_zalloc((threads + 2u) * sizeof *work->first);
    work->lanes = nl_alloc((lane->rows + 1u) * sizeof *work->lanes);
    work->cursors = nl_zalloc((lane->rows + 1u) * sizeof *work->cursors);
    for (uint32_t i = 0; i < lane->rows; i++)
        if (lane->thread[i] != NL_NULL_ROW)
            work->first[lane->thread[i] + 2]++;
    for (uint32_t i = 0; i < threads; i++)
        work->first[i + 2] += work->first[i + 1];
    for (uint32_t i = 0; i < lane->rows; i++)
        if (lane->thread[i] != NL_NULL_ROW)
            work->lanes[work->first[lane->thread[i] + 1]++] = i;
}

/* Does a come outside of b? */
static bool outside(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    const struct nl_slice_table *slice = &trace->slice;
    if (slice->ts[a] != slice->ts[b])
        return slice->ts[a] < slice->ts[b];
    int64_t end_a = nl_slice_end(trace, a), end_b = nl_slice_end(trace, b);
    return end_a != end_b ? end_a > end_b : slice->depth[a] < slice->depth[b];
}

/* Slices that are open at the launch on its thread, outermost first. */
static unsigned open_slices(struct device_fold *work, uint32_t launch, uint32_t *open)
{
    const struct nl_trace *trace = work->trace;
    uint32_t own = trace->slice.lane[launch], thread = trace->lane.thread[own];
    unsigned count = 0;
    for (uint32_t at = launch; at != NL_NULL_ROW && count < MAX_OPEN; at = trace->slice.parent[at])
        open[count++] = at;
    if (thread != NL_NULL_ROW)
        for (uint32_t i = work->first[thread]; i < work->first[thread + 1]; i++) {
            uint32_t lane = work->lanes[i];
            if (lane == own || trace->lane.kind[lane] == NL_LANE_OSRT ||
                trace->lane.kind[lane] == NL_LANE_SCHED ||
                trace->lane.kind[lane] == NL_LANE_OVERHEAD)
                continue;
            uint32_t at =
                nl_lane_slice_at(trace, &work->cursors[lane], lane, trace->slice.ts[launch]);
            for (; at != NL_NULL_ROW && count < MAX_OPEN; at = trace->slice.parent[at])
                open[count++] = at;
        }
    for (unsigned i = 1; i < count; i++) /* nearly in order: insertion */
        for (unsigned k = i; k && outside(trace, open[k], open[k - 1]); k--) {
            uint32_t swap = open[k];
            open[k] = open[k - 1];
            open[k - 1] = swap;
        }
    return count;
}

static void fold_work(struct device_fold *work, struct nl_stacktree *tree, uint32_t slice)
{
    const struct nl_trace *trace = work->trace;
    uint32_t launch = trace->slice.link[slice], open[MAX_OPEN], node = 0;
    unsigned count = 0;
    if (launch != NL_NULL_ROW)
        count = open_slices(work, launch, open);
    for (unsigned i = 0; i < count; i++)
        node = nl_stackgrow_child(
            tree, node, nl_stackgrow_frame_of_name(work->grow, trace->slice.name[open[i]]));
    if (!count) {
        if (work->none == NL_NULL_ROW) {
            struct nl_stackframe frame = {nl_str("(no launch recorded)"), {"", 0}, 0};
            work->none = nl_stackgrow_frame(work->grow->fold, &frame);
        }
        node = nl_stackgrow_child(tree, node, work->none);
    }
    node = nl_stackgrow_child(tree, node,
                              nl_stackgrow_frame_of_name(work->grow, trace->slice.name[slice]));
    nl_sum_add(&tree->nodes[node].self, nl_slice_end(trace, slice) - trace->slice.ts[slice]);
    tree->nodes[node].count++;
    tree->samples++;
}

static void fold_device(struct nl_stackgrow *grow)
{
    const struct nl_trace *trace = grow->trace;
    struct device_fold work = {.grow = grow, .trace = trace, .none = NL_NULL_ROW};
    if (!nl_has_device_work(trace))
        return;
    find_lanes(&work);
    struct nl_stacktree *tree = nl_stackgrow_tree(grow->fold, nl_str("device time"), nl_str("ns"));
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        unsigned kind = trace->slice.kind[slice];
        if (nl_is_device_work(kind) && nl_export_picks(grow->export, slice))
            fold_work(&work, tree, slice);
    }
    nl_free(work.first);
    nl_free(work.lanes);
    nl_free(work.cursors);
}

void nl_stackfold_make(struct nl_stackfold *fold, struct nl_export *export, bool threads)
{
    struct nl_stackgrow grow = {.fold = fold, .export = export, .trace = export->trace};
    *fold = (struct nl_stackfold){.export = export};
    nl_arena_init(&fold->arena);
    nl_fold_init(&grow.names, export->trace, NL_FOLD_INSTANCES);
    nl_dict_init(&grow.labels);
    nl_job_phase(export->job, "preparing", 0);
    fold_samples(&grow);
    fold_device(&grow);
    nl_stackgrow_allocations(&grow);
    nl_stackgrow_waits(&grow);
    if (threads)
        nl_stackgrow_threads(&grow);
    nl_fold_release(&grow.names);
    nl_dict_release(&grow.labels);
    nl_free(grow.by_name);
    nl_free(grow.by_stack);
    nl_free(grow.by_label);
    size_t kept = 0;
    for (size_t i = 0; i < fold->count; i++) {
        if (fold->trees[i].samples) {
            fold->trees[kept++] = fold->trees[i];
            continue;
        }
        nl_free(fold->trees[i].nodes);
        nl_lookup_release(&fold->trees[i].children);
    }
    fold->count = kept;
}

void nl_stackfold_release(struct nl_stackfold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        nl_free(fold->trees[i].nodes);
        nl_lookup_release(&fold->trees[i].children);
    }
    nl_free(fold->trees);
    nl_free(fold->frames);
    nl_arena_free(&fold->arena);
    *fold = (struct nl_stackfold){0};
}

/* Every kind of stacks that there is. */
static void refuse_of(const struct nl_stackfold *fold, struct nl_export *export, struct nl_err *err)
{
    struct nl_buf all;
    nl_buf_init(&all, KINDS_BYTES);
    for (size_t i = 0; i < fold->count; i++)
        nl_buf_format(&all, "%s%.*s", i ? ", " : "", (int)fold->trees[i].event.len,
                      fold->trees[i].event.ptr);
    const char *text = nl_arena_text(&export->arena, all.ptr, all.len);
    nl_buf_release(&all);
    (void)nl_fail(err, NL_USAGE, "--of: no stacks of '%s'; there are %s", export->of, text);
}

const struct nl_stacktree *nl_stackfold_choose(const struct nl_stackfold *fold,
                                               struct nl_export *export, struct nl_err *err)
{
    const struct nl_stacktree *chosen = NULL;
    for (size_t i = 0; i < fold->count; i++) {
        bool asked = export->of && nl_str_contains(fold->trees[i].event, export->of);
        if (!chosen && (asked || !export->of))
            chosen = &fold->trees[i];
    }
    if (!chosen && fold->count)
        refuse_of(fold, export, err);
    else if (!chosen)
        (void)nl_fail(err, NL_INCOMPARABLE, NL_NO_STACKS);
    for (size_t i = 0; chosen && i < fold->count; i++)
        if (&fold->trees[i] != chosen) {
            char *what = nl_arena_format(&export->arena, "stacks of %.*s (--of names them)",
                                         (int)fold->trees[i].event.len, fold->trees[i].event.ptr);
            nl_export_lost(export, fold->trees[i].samples, what);
        }
    return chosen;
}
