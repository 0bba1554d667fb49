/*
 * stacktree — call stacks as a tree, while it grows: distinct frames get numbers, and so do nodes,
 * which are a frame below a caller.
 *
 *     struct stack_tree tree = {0};
 *     frame = stack_tree_frame(&tree, name, module, file, line); // equal frames have one number
 *     uint32_t nodes = tree.nodes;
 *     node = stack_tree_child(&tree, caller, frame);             // caller NL_NULL_ROW = none
 *     if (node == nodes) ...                                     // it is new
 *     stack_tree_release(&tree);
 *
 * Nodes and frames are numbered from 0 in the order they come. Whoever meets a frame often keeps
 * its number: a node is then one look into a table of 12 bytes a place. Frames are passed in pieces
 * since callers have just written them: read as a whole, the processor would wait.
 */
#ifndef STACKTREE_H
#define STACKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_frame {
    uint32_t name, module, file, line; /* name ids; a line or NL_NULL_U32 */
};

struct stack_tree {
    struct stack_frame *frames;
    uint32_t *hashes; /* of the frames */
    size_t frame_count, frame_cap, hash_cap;
    uint64_t *frame_slots; /* upper half of the frame's hash | frame + 1; 0 = free */
    unsigned frame_bits;   /* of the number of slots; 0 = there are none yet */
    size_t frame_most;     /* as many as they are for */
    uint32_t *roots;       /* by frame: its node without a caller + 1; 0 = none */
    size_t root_room;
    struct stack_child {
        uint32_t caller, frame, node; /* node + 1; 0 = free */
    } * children;
    unsigned child_bits;
    size_t child_count, child_most;
    uint32_t *paths; /* by node: hash of its frames' hashes, its place among the children */
    size_t path_cap;
    uint32_t nodes;
};

/* A node on the way from a stack's outermost frame inwards, and its path. */
struct stack_at {
    uint32_t node, path;
};
#define STACK_TOP ((struct stack_at){UINT32_MAX, 0})

uint32_t stack_tree_frame(struct stack_tree *tree, uint32_t name, uint32_t module, uint32_t file,
                          uint32_t line);
uint32_t stack_tree_child(struct stack_tree *tree, uint32_t caller, uint32_t frame);

/* Both at once; a node that is there is found without the frame's number. */
uint32_t stack_tree_add(struct stack_tree *tree, uint32_t caller, uint32_t name, uint32_t module,
                        uint32_t file, uint32_t line);

/* The same for a whole stack: goes from STACK_TOP to the child of `at`. */
void stack_tree_step(struct stack_tree *tree, struct stack_at *at, uint32_t frame);

/* How many of a stack's frames, outermost first, there are nodes for; `at`
 * becomes the last of these. */
size_t stack_tree_find(const struct stack_tree *tree, const uint32_t *frames, size_t count,
                       struct stack_at *at);

/* Fetches the place of a frame that will be asked for. */
void stack_tree_expect(const struct stack_tree *tree, uint32_t name, uint32_t module, uint32_t file,
                       uint32_t line);
void stack_tree_release(struct stack_tree *tree);

#endif
