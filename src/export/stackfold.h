/*
 * stackfold — weighted call stacks for formats of flame graphs: a prefix tree per kind of weight.
 *
 * Sources: CPU samples as they were recorded (one tree per event and unit); device work under what
 * launched it: the slices that were open on the launching thread, outermost first, then the kernel,
 * weighing its length; bytes by what allocated them; time off the CPU by stack; what threads did,
 * as nested slices. Names of ranges lose the numbers of their instances (timeline/fold.h), so that
 * a range that was opened a thousand times is one frame.
 *
 *     nl_stackfold_make(&fold, export, threads);
 *     for each tree: nodes 0 .. count - 1; node 0 is the root, parents stand before their children
 *     nl_stackfold_release(&fold);
 */
#ifndef NL_STACKFOLD_H
#define NL_STACKFOLD_H

#include "export/export.h"

#include "base/map.h"

#define NL_NO_STACKS                                                                               \
    "the profile has no stacks: neither samples, device work, allocations nor slices of threads"

struct nl_stacknode {
    uint32_t parent; /* of the root: itself */
    uint32_t frame;  /* of fold->frames; of the root: NL_NULL_ROW */
    int64_t self;    /* weight that ends here */
    uint64_t count;  /* samples, or device operations, that end here */
};

struct nl_stacktree {
    struct nl_str event; /* "cycles", "device time": in the trace or static */
    struct nl_str unit;  /* "ns", "bytes", "samples" */
    struct nl_stacknode *nodes;
    uint32_t count;
    size_t cap;
    struct nl_lookup children; /* nodes by (parent, frame) */
    uint64_t samples;          /* all of them */
};

struct nl_stackframe {
    struct nl_str name, file; /* file: source file or module; empty = not known */
    uint32_t line;            /* 0 = not known */
};

struct nl_stackfold {
    const struct nl_export *export;
    struct nl_stacktree *trees; /* those with something in them, in the order above */
    size_t count, cap;
    struct nl_stackframe *frames;
    uint32_t frame_count;
    size_t frame_cap;
    struct nl_arena arena;
};

/* Counts samples without a stack as lost. `threads`: with what threads did, for formats
 * that do not write lanes. */
void nl_stackfold_make(struct nl_stackfold *fold, struct nl_export *export, bool threads);
void nl_stackfold_release(struct nl_stackfold *fold);

/* The tree that export->of names, else the first; counts the others as lost. NULL with NL_USAGE or,
 * when there is none at all, NL_INCOMPARABLE. */
const struct nl_stacktree *nl_stackfold_choose(const struct nl_stackfold *fold,
                                               struct nl_export *export, struct nl_err *err);

/* The frames from the outermost to the node; nl_free'd by the caller. */
uint32_t *nl_stackfold_path(const struct nl_stacktree *tree, uint32_t node, uint32_t *depth);

#endif
