/*
 * diffwork — a device's time given to its operations, ns by ns.
 *
 * Every moment of a span belongs to compute if any compute work runs, else to communication, else
 * to copies and fills, else it is idle. Between two moments at which work begins on the device,
 * work of that class ends, or a span begins or ends, the pieces of that class that run share the
 * stretch alike; ns that cannot be divided go to those that began first (of one start: in the order
 * of their names). Of more than DIFF_SHARERS at once the first to begin share. Idle time goes to
 * the gap that contains it.
 *
 * So what all pieces of a device got, and its idle time, add up to its spans, exactly.
 */
#ifndef NL_COMPARE_DIFFWORK_H
#define NL_COMPARE_DIFFWORK_H

#include "compare/diffside.h"

#define DIFF_SHARERS 64

/* Where the time goes: `part_of` gives the part of an operation; idle time goes to separate parts,
 * made on first use. */
struct diff_sink {
    struct diff_parts *parts;
    uint32_t (*part_of)(void *context, const struct nl_work *work);
    void *context;
};

/* Gives out the time of one device and adds it to device->sum and groups, which are zero. */
void diff_work_share(struct diff_side *side, struct diff_device *device,
                     const struct diff_sink *sink);

/* The same when times of day are not known: whole lengths, whatever overlaps. */
void diff_work_add(struct diff_side *side, struct diff_device *device,
                   const struct diff_sink *sink);

#endif
