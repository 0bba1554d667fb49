/*
 * owner — whose work a device does: from every kernel, copy, memset and recorded graph to the call
 * that launched it and on to the operator, module, range or Python function that was open on the
 * launching thread when the call began.
 *
 *     struct nl_owners owners;
 *     nl_owners_init(&owners, trace);
 *     nl_rangetree_init(&ops, trace, NL_KIND_OP);
 *     uint32_t *op = nl_owners_op(&owners, &ops);     // op[i]: index in `ops` for owners.work[i]
 *
 * All work of a graph launch belongs to the one call; kernels that were joined to their launch in
 * the graph's capture belong to the ranges around that. Work whose call is not in the file has no
 * owner, unless the file says by id which operator it belongs to; then the operator's start stands
 * for the call's. Ids are used where the reader found them to be operators' (Kineto, but not the
 * versions that wrote the correlation id there).
 */
#ifndef NL_OWNER_H
#define NL_OWNER_H

#include "timeline/rangetree.h"

struct nl_owners {
    const struct nl_trace *trace; /* borrowed */
    uint32_t *work;               /* slices of device work, ascending */
    uint32_t *launch;             /* slice of the call, NL_NULL_ROW unknown */
    int64_t *ids;                 /* id of the operator, if given; NULL when there are none */
    uint32_t *named_op;           /* operator given by id, for work without a call; NULL as ids */
    uint32_t count;
    struct nl_moments moments; /* when and where each was launched */
};

void nl_owners_init(struct nl_owners *owners, const struct nl_trace *trace);
void nl_owners_release(struct nl_owners *owners);

/* Per work the innermost range of `tree` around its launch, of kernels of a graph replay around the
 * replay; NL_NULL_ROW none; nl_free it. */
uint32_t *nl_owners_at_launch(const struct nl_owners *owners, const struct nl_rangetree *tree);

/* The same, but kernels of a graph replay have the range in which they were
 * captured, where that is known. */
uint32_t *nl_owners_find(const struct nl_owners *owners, const struct nl_rangetree *tree);

/* The same for the tree of operators, where an id decides before containment. */
uint32_t *nl_owners_op(const struct nl_owners *owners, const struct nl_rangetree *ops);

/* Modules: as nl_owners_find; where that gives none and the work belongs to a backward operator,
 * the module around its forward operator. `op` is nl_owners_op's answer. */
uint32_t *nl_owners_layer(const struct nl_owners *owners, const struct nl_rangetree *layers,
                          const struct nl_rangetree *ops, const uint32_t *op);

bool nl_is_device_work(unsigned kind);

#endif
