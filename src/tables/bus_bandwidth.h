/*
 * bus_bandwidth — what a collective sends over the bus per byte of its message
 * (nccl-tests, performance notes).
 */
#ifndef NL_BUS_BANDWIDTH_H
#define NL_BUS_BANDWIDTH_H

#include "base/str.h"

/* Of an operation ("all_reduce", "allgather", …) in a group of `ranks`; NaN
 * where it is not known. */
double nl_bus_factor(struct nl_str operation, uint32_t ranks);

#endif
