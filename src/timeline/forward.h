/*
 * forward — which forward operator an operator of the backward pass belongs to.
 */
#ifndef NL_FORWARD_H
#define NL_FORWARD_H

#include "timeline/rangetree.h"

/* Per operator of the tree: index of the forward operator that its backward pass belongs to, by
 * recorded arrows, else by autograd sequence number; operators inside a backward operator have its
 * forward operator. NL_NULL_ROW for all others. nl_free it. */
uint32_t *nl_forward_ops(const struct nl_rangetree *ops);

#endif
