/*
 * stackgrow — how trees of stacks are made; for stackfold.c and stackthreads.c alone.
 *
 * Frames are made once: those of recorded stacks from all that is reported of them (name, file,
 * line), those of slices from their folded names (timeline/fold.h), whichever tree they stand in.
 */
#ifndef NL_STACKGROW_H
#define NL_STACKGROW_H

#include "export/stackfold.h"
#include "timeline/fold.h"

struct nl_stackgrow {
    struct nl_stackfold *fold;
    struct nl_export *export;
    const struct nl_trace *trace;
    struct nl_fold names;
    uint32_t *by_name; /* per folded name: frame + 1 */
    size_t by_name_room;
    uint32_t *by_stack;    /* per row of table stack: frame; NULL = not made yet */
    struct nl_dict labels; /* of lanes */
    uint32_t *by_label;    /* their frames */
    size_t by_label_room;
};

/* The child of a node that stands for a frame, made if it is not there. */
uint32_t nl_stackgrow_child(struct nl_stacktree *tree, uint32_t parent, uint32_t frame);
/* Valid until the next tree is added. */
struct nl_stacktree *nl_stackgrow_tree(struct nl_stackfold *fold, struct nl_str event,
                                       struct nl_str unit);
uint32_t nl_stackgrow_frame(struct nl_stackfold *fold, const struct nl_stackframe *frame);
uint32_t nl_stackgrow_frame_of_name(struct nl_stackgrow *grow, uint32_t name);
/* Node of a row of table stack; `nodes` has a place per row, 0 = not made yet. */
uint32_t nl_stackgrow_stack(struct nl_stackgrow *grow, struct nl_stacktree *tree, uint32_t *nodes,
                            uint32_t row);

/* Trees of what threads did, where they waited, and what was allocated: stackthreads.c. */
void nl_stackgrow_allocations(struct nl_stackgrow *grow);
void nl_stackgrow_waits(struct nl_stackgrow *grow);
void nl_stackgrow_threads(struct nl_stackgrow *grow);

#endif
