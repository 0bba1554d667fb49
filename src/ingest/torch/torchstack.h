/*
 * torchstack — stacks of memory snapshots: lists of frames of a pickle, as rows of table stacks.
 *
 *     struct torchstack stacks = {.pickle = pickle, .stage = stage};
 *     row = torchstack_row(&stacks, frames, &stopped);
 *     torchstack_release(&stacks);
 *
 * Frames, and whole lists of them, are shared by reference in the pickle: a list that was met is
 * known by its number, and of others the part is found again that they share with the one before.
 */
#ifndef TORCHSTACK_H
#define TORCHSTACK_H

#include "base/map.h"
#include "ingest/ingest.h"
#include "ingest/torch/pickle.h"

#define TORCHSTACK_FRAMES 1024

struct torchstack {
    struct pickle *pickle;
    struct nl_stage *stage;
    int64_t cut; /* stacks of more frames than TORCHSTACK_FRAMES */
    /* private */
    struct torchstack_numbers {
        struct nl_idmap index;
        uint32_t count;
    } frame_numbers, stack_numbers;
    struct torchstack_frame {
        uint32_t name, module;
    } * frames; /* by what they say; the pickle may hold one many times */
    size_t frame_cap;
    struct torchstack_known {
        uint32_t frame;       /* its number + 1; 0 = not seen */
        uint32_t parent, row; /* the stack below it, last, and the two as a stack */
    } * known;                /* of the pickle's lists and dictionaries */
    size_t known_cap;
    struct {
        uint64_t frame;
        uint32_t row;
    } path[TORCHSTACK_FRAMES]; /* of the stack last looked up, outermost first */
    uint32_t path_len;
};

/* NL_NULL_ROW when there is none. *stop when the walk has cost more than the file is worth. */
uint32_t torchstack_row(struct torchstack *stacks, struct pickle_value frames, bool *stop);
/* The pickle was read again: its lists and dictionaries have other numbers. */
void torchstack_forget(struct torchstack *stacks);
void torchstack_release(struct torchstack *stacks);

#endif
