/*
 * workexperts — mixtures of experts behind an operator whose own inputs are the tokens and the router's scores alone
 * (vllm::moe_forward): the operators inside tell how many experts a token goes to and how large the weights are.
 */
#ifndef NL_WORKEXPERTS_H
#define NL_WORKEXPERTS_H

#include "timeline/rangetree.h"
#include "work/workmodel.h"

/* Of range `range` of the operators, recorded or captured into a graph; false when what is inside does not tell. */
bool work_experts(const struct nl_rangetree *ops, uint32_t range, struct work_cost *cost);

#endif
