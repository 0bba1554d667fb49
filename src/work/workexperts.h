/*
 * workexperts — mixtures of experts inside an operator whose own inputs are only the tokens and the
 * router's scores (vllm::moe_forward): the operators inside give the experts per token and the size
 * of the weights.
 */
#ifndef NL_WORKEXPERTS_H
#define NL_WORKEXPERTS_H

#include "timeline/rangetree.h"
#include "work/workmodel.h"

/* Of range `range` of the operators, recorded or captured into a graph; false if the operators
 * inside do not say. */
bool work_experts(const struct nl_rangetree *ops, uint32_t range, struct work_cost *cost);

#endif
