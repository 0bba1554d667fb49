/*
 * waiting — launched work that waits in front of a stream: one more when the launching call begins,
 * one less when the work starts on the device. At one moment, work leaves before other enters.
 *
 *     nl_waiting_add(&line, trace, slice, launch);       per operation whose launch is known
 *     nl_waiting_begin(&line, &walk);                    when all are in
 *     while (nl_waiting_next(&line, &walk)) ...          walk.length for walk.ns
 *     nl_waiting_release(&line);
 */
#ifndef NL_WAITING_H
#define NL_WAITING_H

#include "store/trace.h"

struct nl_waiting {
    int64_t *enters, *leaves;
    size_t count, enter_cap, leave_cap;
};

struct nl_waiting_walk {
    size_t in, out, length;
    int64_t now, ns; /* how long the queue had this length, up to `now` */
};

void nl_waiting_add(struct nl_waiting *line, const struct nl_trace *trace, uint32_t slice,
                    uint32_t launch);
void nl_waiting_begin(struct nl_waiting *line, struct nl_waiting_walk *walk);
bool nl_waiting_next(const struct nl_waiting *line, struct nl_waiting_walk *walk);
void nl_waiting_release(struct nl_waiting *line);

#endif
