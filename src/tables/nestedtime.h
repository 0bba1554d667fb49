/*
 * nestedtime — device work summed by the names of all ranges that it was launched in: the sum of
 * its lengths, and the time in which at least one piece of it ran. A name nested in itself counts
 * once.
 *
 *     nl_nestedtime_init(&nested, tree, ids, names);              // ids[range] = number of its name
 *     nl_nestedtime_add(&nested, range, device, start, end);      // by device, then start
 *     nl_nestedtime_finish(&nested);                              // then nested.names[id]
 *     nl_nestedtime_release(&nested);
 *
 * Work follows work of the same or a near range, so what is open stays open and only the
 * ranges that differ are closed and opened: a step costs the way between two ranges in
 * the tree, not their depth.
 */
#ifndef NL_NESTEDTIME_H
#define NL_NESTEDTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "timeline/rangetree.h"

struct nl_nestedtime_name {
    int64_t total_ns, union_ns; /* the answer */
    int64_t reach;              /* up to where `device` is covered */
    nl_u128 total_before,
        union_before;        /* the sums of all work when the name was opened, or caught up */
    uint32_t device, open;   /* open: ranges of this name around the current work */
    bool used, late, listed; /* late: covered differently from the device, counted one by one */
};

struct nl_nestedtime {
    const struct nl_rangetree *tree; /* borrowed, as are the ids */
    const uint32_t *ids;
    struct nl_nestedtime_name *names;
    uint32_t *depths; /* per range */
    uint32_t *late;   /* names that are late, and some that are no longer */
    size_t late_count, late_cap;
    uint32_t range, device; /* of the work before */
    int64_t reach;          /* up to where any work covers the device */
    nl_u128 total, covered; /* of all work: lengths, and time in which any ran */
};

/* `ids` has a number below `names` for each range of the tree. */
void nl_nestedtime_init(struct nl_nestedtime *nested, const struct nl_rangetree *tree,
                        const uint32_t *ids, size_t names);

/* One operation, start <= end in ns. `range` is the innermost around its launch, NL_NULL_ROW for
 * none. Devices one after the other, in each by start. */
void nl_nestedtime_add(struct nl_nestedtime *nested, uint32_t range, uint32_t device, int64_t start,
                       int64_t end);

void nl_nestedtime_finish(struct nl_nestedtime *nested);
void nl_nestedtime_release(struct nl_nestedtime *nested);

#endif
