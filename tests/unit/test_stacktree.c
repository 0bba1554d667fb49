/* Call stacks as a tree: equal frames, nodes in the order they come, whole stacks. */
#include "check.h"
#include "fabricate.h"
#include "base/map.h"
#include "ingest/lib/stacktree.h"
#include "store/schema.h"

static void frames_are_told_apart(void)
{
    struct stack_tree tree = {0};
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++)
            CHECK_INT(stack_tree_frame(&tree, i % 7, i % 11, i % 13, i), i);
    const struct stack_frame alike[] = {{1, 0, 0, 0},          {0, 1, 0, 0}, {0, 0, 1, 0},
                                        {0, 0, 0, 1},          {0, 0, 1, 1}, {1, 1, 0, 0},
                                        {0, 0, 0, NL_NULL_U32}};
    uint32_t count = sizeof alike / sizeof alike[0];
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(
            stack_tree_frame(&tree, alike[i].name, alike[i].module, alike[i].file, alike[i].line),
            20000 + i);
    CHECK_INT(tree.frame_count, 20000 + count);
    stack_tree_release(&tree);
}

/* Random stacks of few frames, which share beginnings; the other table is the reference. */
static void nodes_are_numbered_as_they_come(void)
{
    struct stack_tree tree = {0};
    struct nl_idmap other = {0};
    uint64_t state = 11;
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < 50; i++)
        CHECK_INT(stack_tree_frame(&tree, i, 0, i % 5, 7), i);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t frames[12], caller = NL_NULL_ROW, known = 0;
        uint32_t depth = 1 + (uint32_t)(fabricate_random(&state) % 12);
        for (uint32_t k = 0; k < depth; k++)
            frames[k] = (uint32_t)(fabricate_random(&state) % (k < 4 ? 3 : 50));
        struct stack_at at;
        uint32_t found = (uint32_t)stack_tree_find(&tree, frames, depth, &at);
        for (uint32_t k = 0; k < depth; k++) {
            uint64_t key = (uint64_t)(caller + 1) << 32 | frames[k];
            uint32_t want = nl_idmap_get(&other, key);
            bool is_new = want == NL_NO_ROW;
            if (is_new)
                nl_idmap_put(&other, key, want = nodes++);
            known += !is_new;
            if (k + 1 == found)
                CHECK_INT(at.node, want);
            const struct stack_frame *frame = &tree.frames[frames[k]];
            CHECK_INT(i % 2 ? stack_tree_child(&tree, caller, frames[k])
                            : stack_tree_add(&tree, caller, frame->name, frame->module, frame->file,
                                             frame->line),
                      want);
            CHECK_INT(tree.nodes, nodes);
            caller = want;
        }
        if (tree.child_bits > 10) /* before there are children, none are found */
            CHECK_INT(found, known);
    }
    CHECK(nodes > 50000);
    CHECK_INT(tree.nodes, nodes);
    nl_idmap_release(&other);
    stack_tree_release(&tree);
}

/* What is asked of an empty tree, and a stack that is its own beginning. */
static void edges(void)
{
    struct stack_tree tree = {0};
    const uint32_t frames[] = {0, 0, 0};
    struct stack_at at;
    stack_tree_expect(&tree, 1, 2, 3, 4);
    CHECK_INT(stack_tree_frame(&tree, 1, 2, 3, 4), 0);
    CHECK_INT(stack_tree_find(&tree, frames, 0, &at), 0);
    CHECK_INT(stack_tree_find(&tree, frames, 3, &at), 0);
    CHECK(at.node == NL_NULL_ROW);
    for (uint32_t i = 0; i < 3; i++) {
        stack_tree_step(&tree, &at, 0);
        CHECK_INT(at.node, i);
    }
    CHECK_INT(stack_tree_find(&tree, frames, 3, &at), 3);
    CHECK_INT(at.node, 2);
    stack_tree_step(&tree, &at, 0);
    CHECK_INT(tree.nodes, 4);
    CHECK_INT(stack_tree_add(&tree, NL_NULL_ROW, 1, 2, 3, 5), 4);
    CHECK_INT(tree.frame_count, 2);
    CHECK_INT(stack_tree_add(&tree, 4, 1, 2, 3, 5), 5);
    CHECK_INT(tree.frame_count, 2);
    CHECK_INT(stack_tree_child(&tree, 4, 1), 5);
    stack_tree_release(&tree);
}

CHECK_MAIN("stacktree", {"frames are told apart", frames_are_told_apart},
           {"nodes are numbered as they come", nodes_are_numbered_as_they_come}, {"edges", edges})
