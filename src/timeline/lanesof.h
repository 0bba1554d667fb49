/*
 * lanesof — the lanes of each process that are no device's, found without looking at all lanes for
 * each: what is asked per process stays linear in a file of a million processes.
 *
 *     nl_lanes_of_init(&lanes, trace);
 *     for (i = lanes.first[process]; i < lanes.first[process + 1]; i++) ... lanes.items[i] ...
 *     nl_lanes_of_release(&lanes);
 *
 * Lanes are in ascending order; those without a process are in none.
 */
#ifndef NL_LANESOF_H
#define NL_LANESOF_H

#include "store/trace.h"

struct nl_lanes_of {
    uint32_t *items, *first;
};

void nl_lanes_of_init(struct nl_lanes_of *lanes, const struct nl_trace *trace);
void nl_lanes_of_release(struct nl_lanes_of *lanes);

#endif
