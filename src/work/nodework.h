/*
 * nodework — what a node of a compiled model has to do.
 */
#ifndef NL_NODEWORK_H
#define NL_NODEWORK_H

#include "store/trace.h"
#include "work/workmodel.h"

/* What a node (row of trace->node) has to do, recorded or by its shapes (nodework.c). */
bool work_node_cost(const struct nl_trace *trace, uint32_t node, struct work_cost *cost,
                    enum work_family *family, bool *recorded);

#endif
