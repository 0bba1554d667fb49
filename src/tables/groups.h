/*
 * groups — GROUP BY with order statistics: durations added under a two-part key, statistics out.
 *
 *     struct nl_groups groups;
 *     nl_groups_init(&groups);
 *     per row:  struct nl_group *group = nl_groups_add(&groups, key_a, key_b, dur);
 *               group->sums[0] += bytes;                   // sums of the caller's own, optional
 *     nl_groups_finish(&groups);                           // fills stats, sorts by total
 *     ... groups.items[0 .. groups.count) ...
 *     nl_groups_release(&groups);
 *
 * Costs 12 bytes per row until finished. Group order: total descending, then keys ascending, so
 * that equal inputs give equal answers.
 */
#ifndef NL_GROUPS_H
#define NL_GROUPS_H

#include "timeline/breakdown.h"

#include "base/map.h"

struct nl_group {
    uint64_t a, b;
    struct nl_group_stats stats; /* count while adding; all of it when finished */
    int64_t sums[5];             /* the caller's */
};

struct nl_groups {
    struct nl_group *items;
    size_t count, item_cap;
    struct nl_lookup by_key; /* of items */
    uint32_t *row_group;     /* per row added */
    int64_t *row_dur;
    size_t rows, group_cap, dur_cap;
    size_t last; /* item of the latest row: runs of one key are common */
};

void nl_groups_init(struct nl_groups *groups);
void nl_groups_release(struct nl_groups *groups);

/* Room for so many rows at once, where their number is known: arrays that grow are copied. */
void nl_groups_expect(struct nl_groups *groups, size_t rows);

/* The group's pointer is valid until the next call. */
struct nl_group *nl_groups_add(struct nl_groups *groups, uint64_t a, uint64_t b, int64_t dur);
void nl_groups_finish(struct nl_groups *groups);

/* Sum of all totals, once finished. */
int64_t nl_groups_total(const struct nl_groups *groups);

#endif
