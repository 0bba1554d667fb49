/*
 * launchorder — kernels and recorded graphs of one device of a rank, in order of start.
 *
 *     struct nl_launch_order order;
 *     nl_launch_order_init(&order, trace, rank, device);
 *     … order.slices[i] …
 *     nl_launch_order_release(&order);
 *
 * Of equal starts the one that ends first comes first, then the one whose lane
 * does. Takes 8 bytes each.
 */
#ifndef NL_LAUNCHORDER_H
#define NL_LAUNCHORDER_H

#include "store/trace.h"
#include "timeline/bigarray.h"

struct nl_launch_order {
    size_t count;
    uint32_t *slices;   /* rows */
    uint32_t *names;    /* numbers of names, as name_ids lists them */
    uint32_t *name_ids; /* lane after lane, as each is met */
    uint32_t name_count;
    double *idle; /* per number: ns in which nothing ran before its launches */
    struct nl_bigarray slice_room, name_room;
};

void nl_launch_order_init(struct nl_launch_order *order, const struct nl_trace *trace, int64_t rank,
                          uint32_t device);
void nl_launch_order_release(struct nl_launch_order *order);

#endif
