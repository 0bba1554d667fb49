/*
 * groups — one pass numbers the groups through a small hash table, a second scatters durations so
 * that each group's are together, then nl_stats_of does the rest. No sorting of rows by key.
 */
#include "tables/groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "timeline/groupstats.h"

void nl_groups_init(struct nl_groups *groups)
{
    *groups = (struct nl_groups){0};
}

void nl_groups_release(struct nl_groups *groups)
{
    nl_free(groups->items);
    nl_lookup_release(&groups->by_key);
    nl_free(groups->row_group);
    nl_free(groups->row_dur);
    *groups = (struct nl_groups){0};
}

void nl_groups_expect(struct nl_groups *groups, size_t rows)
{
    nl_grow(&groups->row_group, &groups->group_cap, rows);
    nl_grow(&groups->row_dur, &groups->dur_cap, rows);
}

static uint32_t find_or_add(struct nl_groups *groups, uint64_t a, uint64_t b)
{
    uint64_t hash = nl_hash_pair(a, b);
    uint32_t item =
        NL_LOOKUP(&groups->by_key, hash, i, groups->items[i].a == a && groups->items[i].b == b);
    if (item != NL_NO_ROW)
        return item;
    nl_grow(&groups->items, &groups->item_cap, groups->count + 1);
    groups->items[groups->count] = (struct nl_group){.a = a, .b = b};
    nl_lookup_add(&groups->by_key, hash, (uint32_t)groups->count);
    return (uint32_t)groups->count++;
}

struct nl_group *nl_groups_add(struct nl_groups *groups, uint64_t a, uint64_t b, int64_t dur)
{
    size_t item = groups->last;
    if (item >= groups->count || groups->items[item].a != a || groups->items[item].b != b)
        item = find_or_add(groups, a, b);
    groups->last = item;
    nl_grow(&groups->row_group, &groups->group_cap, groups->rows + 1);
    nl_grow(&groups->row_dur, &groups->dur_cap, groups->rows + 1);
    groups->row_group[groups->rows] = (uint32_t)item;
    groups->row_dur[groups->rows] = dur;
    groups->rows++;
    groups->items[item].stats.count++;
    return &groups->items[item];
}

static int by_total(const void *left, const void *right)
{
    const struct nl_group *a = left, *b = right;
    if (a->stats.total_ns != b->stats.total_ns)
        return a->stats.total_ns > b->stats.total_ns ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

void nl_groups_finish(struct nl_groups *groups)
{
    size_t *next = nl_alloc((groups->count + 1) * sizeof *next);
    int64_t *sorted = nl_alloc((groups->rows + 1) * sizeof *sorted);
    size_t at = 0;
    for (size_t item = 0; item < groups->count; item++) {
        next[item] = at;
        at += groups->items[item].stats.count;
    }
    for (size_t row = 0; row < groups->rows; row++)
        sorted[next[groups->row_group[row]]++] = groups->row_dur[row];
    for (size_t item = 0; item < groups->count; item++) {
        struct nl_group *group = &groups->items[item];
        size_t count = group->stats.count;
        group->stats = nl_stats_of(sorted + next[item] - count, count);
    }
    nl_free(sorted);
    nl_free(next);
    if (groups->count)
        qsort(groups->items, groups->count, sizeof *groups->items, by_total);
}

int64_t nl_groups_total(const struct nl_groups *groups)
{
    int64_t total = 0;
    for (size_t item = 0; item < groups->count; item++)
        nl_sum_add(&total, groups->items[item].stats.total_ns);
    return total;
}
