/*
 * See stacktree.h. Open addressing with linear probing; places follow from the upper
 * bits of a hash, so that a table that doubles is written from its beginning to its
 * end, as the old one is read.
 */
#include "ingest/lib/stacktree.h"

#include <string.h>

#include "base/mem.h"
#include "store/schema.h"

#define FIRST_BITS 10
#define UPPER_HALF 0xffffffff00000000u
#define MAX_BITS   32

/* How many things a table of that many places is for: full to 2/3. */
static size_t most_of(unsigned bits)
{
    return bits < MAX_BITS ? ((size_t)2 << bits) / 3 : SIZE_MAX;
}

/* A table of free places. Cleared here rather than by the kernel: a fresh page that is read before
 * it is written to is made twice, and places are looked at first. */
static void *free_places(size_t bytes)
{
    return memset(nl_alloc(bytes), 0, bytes);
}

/* ---- frames ---- */

static inline uint64_t frame_hash(uint32_t name, uint32_t module, uint32_t file, uint32_t line)
{
    uint64_t names = ((uint64_t)module << 32 | name) * 0x9E3779B97F4A7C15u;
    uint64_t place = ((uint64_t)file << 32 | line) * 0xC2B2AE3D27D4EB4Fu;
    uint64_t both = names ^ (place >> 32 | place << 32);
    return (both ^ both >> 32) * 0xD6E8FEB86659FD93u;
}

static inline bool is_frame(const struct stack_frame *frame, uint32_t name, uint32_t module,
                            uint32_t file, uint32_t line)
{
    return frame->name == name && frame->module == module && frame->file == file &&
           frame->line == line;
}

static void more_frame_slots(struct stack_tree *tree)
{
    uint64_t *old = tree->frame_slots;
    size_t room = tree->frame_bits ? (size_t)1 << tree->frame_bits : 0;
    tree->frame_bits = tree->frame_bits ? tree->frame_bits + 1 : FIRST_BITS;
    tree->frame_most = most_of(tree->frame_bits);
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

/* Apart from the search, which is short then. */
static __attribute__((noinline)) uint32_t add_frame(struct stack_tree *tree,
                                                    struct stack_frame frame, uint64_t hash)
{
    if (tree->frame_count >= tree->frame_most)
        more_frame_slots(tree);
    size_t mask = ((size_t)1 << tree->frame_bits) - 1;
    size_t at = (size_t)(hash >> (64 - tree->frame_bits));
    while (tree->frame_slots[at])
        at = (at + 1) & mask;
    nl_grow(&tree->frames, &tree->frame_cap, tree->frame_count + 1);
    nl_grow(&tree->hashes, &tree->hash_cap, tree->frame_count + 1);
    tree->hashes[tree->frame_count] = (uint32_t)(hash >> 32);
    tree->frames[tree->frame_count++] = frame;
    tree->frame_slots[at] = (hash & UPPER_HALF) | tree->frame_count;
    return (uint32_t)tree->frame_count - 1;
}

static inline uint32_t frame_number(struct stack_tree *tree, uint32_t name, uint32_t module,
                                    uint32_t file, uint32_t line, uint64_t hash)
{
    if (tree->frame_bits) {
        size_t mask = ((size_t)1 << tree->frame_bits) - 1;
        size_t at = (size_t)(hash >> (64 - tree->frame_bits));
        for (uint64_t slot; (slot = tree->frame_slots[at]) != 0; at = (at + 1) & mask)
            if (((slot ^ hash) & UPPER_HALF) == 0 &&
                is_frame(&tree->frames[(uint32_t)slot - 1], name, module, file, line))
                return (uint32_t)slot - 1;
    }
    return add_frame(tree, (struct stack_frame){name, module, file, line}, hash);
}

uint32_t stack_tree_frame(struct stack_tree *tree, uint32_t name, uint32_t module, uint32_t file,
                          uint32_t line)
{
    return frame_number(tree, name, module, file, line, frame_hash(name, module, file, line));
}

void stack_tree_expect(const struct stack_tree *tree, uint32_t name, uint32_t module, uint32_t file,
                       uint32_t line)
{
    uint64_t hash = frame_hash(name, module, file, line);
    if (tree->frame_bits)
        __builtin_prefetch(&tree->frame_slots[hash >> (64 - tree->frame_bits)]);
}

/* ---- nodes ---- */

/* One multiplication, since a walk waits for one after the other. */
static uint32_t path_below(uint32_t path, uint32_t hash)
{
    uint64_t product = ((uint64_t)path << 32 | hash) * 0x9E3779B97F4A7C15u;
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
    tree->child_most = most_of(tree->child_bits);
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
static __attribute__((noinline)) uint32_t root_of(struct stack_tree *tree, uint32_t frame)
{
    if (frame >= tree->root_room) {
        size_t old = tree->root_room;
        nl_grow(&tree->roots, &tree->root_room, (size_t)frame + 1);
        memset(tree->roots + old, 0, (tree->root_room - old) * sizeof *tree->roots);
    }
    if (!tree->roots[frame])
        tree->roots[frame] = add_node(tree, path_below(STACK_TOP.path, tree->hashes[frame]));
    return tree->roots[frame] - 1;
}

static __attribute__((noinline)) uint32_t add_child(struct stack_tree *tree, uint32_t caller,
                                                    uint32_t frame, uint32_t path)
{
    if (tree->child_count >= tree->child_most)
        more_children(tree);
    size_t mask = ((size_t)1 << tree->child_bits) - 1;
    size_t place = child_place(tree, path);
    while (tree->children[place].node)
        place = (place + 1) & mask;
    tree->child_count++;
    tree->children[place] = (struct stack_child){caller, frame, add_node(tree, path)};
    return tree->nodes - 1;
}

void stack_tree_step(struct stack_tree *tree, struct stack_at *at, uint32_t frame)
{
    uint32_t caller = at->node;
    at->path = path_below(at->path, tree->hashes[frame]);
    if (caller == NL_NULL_ROW) {
        at->node = root_of(tree, frame);
        return;
    }
    if (tree->child_bits) {
        size_t mask = ((size_t)1 << tree->child_bits) - 1;
        const struct stack_child *child;
        for (size_t place = child_place(tree, at->path); (child = &tree->children[place])->node;
             place = (place + 1) & mask)
            if (child->caller == caller && child->frame == frame) {
                at->node = child->node - 1;
                return;
            }
    }
    at->node = add_child(tree, caller, frame, at->path);
}

uint32_t stack_tree_child(struct stack_tree *tree, uint32_t caller, uint32_t frame)
{
    struct stack_at at = {caller, caller == NL_NULL_ROW ? STACK_TOP.path : tree->paths[caller]};
    stack_tree_step(tree, &at, frame);
    return at.node;
}

uint32_t stack_tree_add(struct stack_tree *tree, uint32_t caller, uint32_t name, uint32_t module,
                        uint32_t file, uint32_t line)
{
    uint64_t hash = frame_hash(name, module, file, line);
    if (caller == NL_NULL_ROW)
        return root_of(tree, frame_number(tree, name, module, file, line, hash));
    uint32_t path = path_below(tree->paths[caller], (uint32_t)(hash >> 32));
    if (tree->child_bits) {
        size_t mask = ((size_t)1 << tree->child_bits) - 1;
        const struct stack_child *child;
        for (size_t place = child_place(tree, path); (child = &tree->children[place])->node;
             place = (place + 1) & mask)
            if (child->caller == caller &&
                is_frame(&tree->frames[child->frame], name, module, file, line))
                return child->node - 1;
    }
    return add_child(tree, caller, frame_number(tree, name, module, file, line, hash), path);
}

/* Places of all frames are known before the first is looked at, so all are fetched first. */
static void expect_places(const struct stack_tree *tree, const uint32_t *frames, size_t count)
{
    uint32_t path = STACK_TOP.path;
    for (size_t i = 0; i < count; i++) {
        path = path_below(path, tree->hashes[frames[i]]);
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
    at->path = path_below(at->path, tree->hashes[frames[0]]);
    for (; i < count; i++) {
        uint32_t path = path_below(at->path, tree->hashes[frames[i]]);
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
    nl_free(tree->hashes);
    nl_free(tree->frame_slots);
    nl_free(tree->roots);
    nl_free(tree->children);
    nl_free(tree->paths);
    *tree = (struct stack_tree){0};
}
