/*
 * See stacktree.h. Open addressing with linear probing; places follow from the upper bits of a hash,
 * so that a table that doubles is written from its beginning to its end, as the old one is read.
 */
#include "ingest/stacktree.h"

#include <string.h>

#include "base/mem.h"
#include "store/schema.h"

#define FIRST_BITS 10
#define MOST_BITS  32

/* Whether a table of that many places holds `count` things with no room for one more: full to 2/3. */
static bool is_full(size_t count, unsigned bits)
{
    return !bits || (bits < MOST_BITS && count * 3 >= ((size_t)2 << bits));
}

/* A table of free places. Cleared here rather than by the kernel: a fresh page that is read before it is
 * written to is made twice, and places are looked at first. */
static void *free_places(size_t bytes)
{
    return memset(nl_alloc(bytes), 0, bytes);
}

static uint64_t mixed(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15u;
    return (key ^ key >> 32) * 0xD6E8FEB86659FD93u;
}

/* ---- frames ---- */

static uint64_t frame_hash(const struct stack_frame *frame)
{
    uint64_t names = (uint64_t)frame->module << 32 | frame->name;
    uint64_t place = (uint64_t)frame->file << 32 | frame->line;
    return mixed(mixed(names) ^ place);
}

static bool same_frame(const struct stack_frame *a, const struct stack_frame *b)
{
    return a->name == b->name && a->module == b->module && a->file == b->file && a->line == b->line;
}

static void more_frame_slots(struct stack_tree *tree)
{
    uint64_t *old = tree->frame_slots;
    size_t room = tree->frame_bits ? (size_t)1 << tree->frame_bits : 0;
    tree->frame_bits = tree->frame_bits ? tree->frame_bits + 1 : FIRST_BITS;
    size_t mask = ((size_t)1 << tree->frame_bits) - 1;
    tree->frame_slots = free_places((mask + 1) * sizeof *tree->frame_slots);
    for (size_t i = 0; i < room; i++) {
        size_t at = (size_t)(old[i] >> (64 - tree->frame_bits));
        if (!old[i])
            continue;
        while (tree->frame_slots[at])
            at = (at + 1) & mask;
        tree->frame_slots[at] = old[i];
    }
    nl_free(old);
}

uint32_t stack_tree_frame(struct stack_tree *tree, const struct stack_frame *frame)
{
    if (is_full(tree->frame_count, tree->frame_bits))
        more_frame_slots(tree);
    uint64_t hash = frame_hash(frame) & 0xffffffff00000000u;
    size_t mask = ((size_t)1 << tree->frame_bits) - 1;
    size_t at = (size_t)(hash >> (64 - tree->frame_bits));
    for (uint64_t slot; (slot = tree->frame_slots[at]) != 0; at = (at + 1) & mask)
        if ((slot & 0xffffffff00000000u) == hash &&
            same_frame(&tree->frames[(uint32_t)slot - 1], frame))
            return (uint32_t)slot - 1;
    nl_grow(&tree->frames, &tree->frame_cap, tree->frame_count + 1);
    tree->frames[tree->frame_count++] = *frame;
    tree->frame_slots[at] = hash | tree->frame_count;
    return (uint32_t)tree->frame_count - 1;
}

void stack_tree_expect(const struct stack_tree *tree, const struct stack_frame *frame)
{
    if (tree->frame_bits)
        __builtin_prefetch(&tree->frame_slots[frame_hash(frame) >> (64 - tree->frame_bits)]);
}

/* ---- nodes ---- */

/* One multiplication, since a walk waits for one after the other. */
static uint32_t path_below(uint32_t path, uint32_t frame)
{
    uint64_t product = ((uint64_t)path << 32 | frame) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(product >> 32) ^ (uint32_t)product;
}

static size_t child_place(const struct stack_tree *tree, uint32_t path)
{
    return path >> (32 - tree->child_bits);
}

static void more_children(struct stack_tree *tree)
{
    struct stack_child *old = tree->children;
    size_t room = tree->child_bits ? (size_t)1 << tree->child_bits : 0;
    tree->child_bits = tree->child_bits ? tree->child_bits + 1 : FIRST_BITS;
    size_t mask = ((size_t)1 << tree->child_bits) - 1;
    tree->children = free_places((mask + 1) * sizeof *tree->children);
    for (size_t i = 0; i < room; i++) {
        if (!old[i].node)
            continue;
        size_t at = child_place(tree, tree->paths[old[i].node - 1]);
        while (tree->children[at].node)
            at = (at + 1) & mask;
        tree->children[at] = old[i];
    }
    nl_free(old);
}

static uint32_t add_node(struct stack_tree *tree, uint32_t path)
{
    nl_grow(&tree->paths, &tree->path_cap, (size_t)tree->nodes + 1);
    tree->paths[tree->nodes] = path;
    return ++tree->nodes;
}

/* Those without a caller: some formats have no others. */
static bool step_to_root(struct stack_tree *tree, struct stack_at *at, uint32_t frame)
{
    if (frame >= tree->root_room) {
        size_t old = tree->root_room;
        nl_grow(&tree->roots, &tree->root_room, (size_t)frame + 1);
        memset(tree->roots + old, 0, (tree->root_room - old) * sizeof *tree->roots);
    }
    bool added = tree->roots[frame] == 0;
    if (added)
        tree->roots[frame] = add_node(tree, at->path);
    at->node = tree->roots[frame] - 1;
    return added;
}

bool stack_tree_step(struct stack_tree *tree, struct stack_at *at, uint32_t frame)
{
    uint32_t caller = at->node;
    at->path = path_below(at->path, frame);
    if (caller == NL_NULL_ROW)
        return step_to_root(tree, at, frame);
    if (is_full(tree->child_count, tree->child_bits))
        more_children(tree);
    size_t mask = ((size_t)1 << tree->child_bits) - 1;
    size_t place = child_place(tree, at->path);
    struct stack_child *child;
    while ((child = &tree->children[place])->node) {
        if (child->caller == caller && child->frame == frame) {
            at->node = child->node - 1;
            return false;
        }
        place = (place + 1) & mask;
    }
    tree->child_count++;
    *child = (struct stack_child){caller, frame, add_node(tree, at->path)};
    at->node = child->node - 1;
    return true;
}

uint32_t stack_tree_child(struct stack_tree *tree, uint32_t caller, uint32_t frame, bool *added)
{
    struct stack_at at = {caller, caller == NL_NULL_ROW ? 0 : tree->paths[caller]};
    *added = stack_tree_step(tree, &at, frame);
    return at.node;
}

/* Places of all frames are known before the first is looked at, so all are fetched first. */
static void expect_places(const struct stack_tree *tree, const uint32_t *frames, size_t count)
{
    uint32_t path = STACK_TOP.path;
    for (size_t i = 0; i < count; i++) {
        path = path_below(path, frames[i]);
        __builtin_prefetch(&tree->children[child_place(tree, path)]);
    }
}

size_t stack_tree_find(const struct stack_tree *tree, const uint32_t *frames, size_t count,
                       struct stack_at *at)
{
    *at = STACK_TOP;
    if (!count || !tree->child_bits || frames[0] >= tree->root_room || !tree->roots[frames[0]])
        return 0;
    expect_places(tree, frames, count);
    size_t mask = ((size_t)1 << tree->child_bits) - 1, i = 1;
    at->node = tree->roots[frames[0]] - 1;
    at->path = path_below(at->path, frames[0]);
    for (; i < count; i++) {
        uint32_t path = path_below(at->path, frames[i]);
        size_t place = child_place(tree, path);
        const struct stack_child *child = &tree->children[place];
        while (child->node && (child->caller != at->node || child->frame != frames[i])) {
            place = (place + 1) & mask;
            child = &tree->children[place];
        }
        if (!child->node)
            break;
        *at = (struct stack_at){child->node - 1, path};
    }
    return i;
}

void stack_tree_release(struct stack_tree *tree)
{
    nl_free(tree->frames);
    nl_free(tree->frame_slots);
    nl_free(tree->roots);
    nl_free(tree->children);
    nl_free(tree->paths);
    *tree = (struct stack_tree){0};
}
