/*
 * rangetree — the ranges of one kind (operators, modules, NVTX, Python frames) as every thread saw
 * them: in order of start, outer before inner, each with the innermost one that contains it whole.
 * A thread's ranges may be on several lanes (NVTX domains, sub-lanes of crossing slices); here they
 * are one tree. From it follows what was open at any moment of a thread.
 *
 *     nl_rangetree_init(&tree, trace, NL_KIND_OP);
 *     nl_moments_init(&moments, items, count, trace->thread.rows);
 *     nl_rangetree_find(&tree, &moments, answer);          // answer[item] = index of a range
 *
 * Costs: linear in the slices of the lanes, 8 bytes per range; finding is one walk over ranges and
 * moments per thread, whatever the depth. Ranges without a known end, marks, and ranges on lanes
 * without a thread are left out. Of ranges that cross, the one that began last is the innermost.
 *
 * The ranges of all threads are followed by those in which kernels of graph replays were captured
 * (table captured), in order of their slices. They contain no moment: kernels refer to them
 * (kernel.captured).
 */
#ifndef NL_RANGETREE_H
#define NL_RANGETREE_H

#include "base/sort.h"
#include "store/trace.h"

struct nl_rangetree {
    const struct nl_trace *trace; /* borrowed */
    uint32_t *slices;             /* by thread, start, length descending */
    uint32_t *parents;            /* index into slices, always smaller; NL_NULL_ROW = none */
    uint32_t *thread_first;       /* per thread, and the end of the last */
    uint32_t count;
    uint32_t captured; /* from here on ranges of captured graphs, which have no length */
    bool crossed;      /* some begin in another and end after it */
};

void nl_rangetree_init(struct nl_rangetree *tree, const struct nl_trace *trace, unsigned kind);
void nl_rangetree_release(struct nl_rangetree *tree);

static inline int64_t nl_rangetree_end(const struct nl_rangetree *tree, uint32_t range)
{
    return nl_slice_end(tree->trace, tree->slices[range]);
}

/* Whether there is a slice of that kind. */
bool nl_rangetree_any(const struct nl_trace *trace, unsigned kind);

/* Index of every slice of the trace in the tree, NL_NULL_ROW where it is none; nl_free it. */
uint32_t *nl_rangetree_places(const struct nl_rangetree *tree);

/* Index of the innermost captured range of the tree at or around a captured
 * slice, NL_NULL_ROW none. */
uint32_t nl_rangetree_captured(const struct nl_rangetree *tree, uint32_t slice);

/* Inputs of an operator, ids of texts (NL_NO_NAME: not recorded). */
struct nl_op_inputs {
    uint32_t shapes, dtypes, strides, values;
};

/* Of the slice of an operator, captured or not; false when it has no row with inputs. */
bool nl_rangetree_inputs(const struct nl_trace *trace, uint32_t slice, struct nl_op_inputs *inputs);

/* A moment of a thread; `item` is the caller's number for it. */
struct nl_moment {
    int64_t ts;
    uint32_t thread, item;
};

/* Moments by thread and time. */
struct nl_moments {
    struct nl_keyed *order; /* key: of the time; row: the item */
    uint32_t *thread_first; /* per thread, and the end of the last */
};

/* Moments without a thread (NL_NULL_ROW) are left out. */
void nl_moments_init(struct nl_moments *moments, const struct nl_moment *items, size_t count,
                     uint32_t threads);
void nl_moments_release(struct nl_moments *moments);

/* answer[item] = index of the innermost range open at the item's moment (start <= ts < end). Items
 * for which there is none keep what is there: fill it with NL_NULL_ROW. */
void nl_rangetree_find(const struct nl_rangetree *tree, const struct nl_moments *moments,
                       uint32_t *answer);

/* An array of `count` NL_NULL_ROW; nl_free it. */
uint32_t *nl_no_rows(size_t count);

#endif
