/*
 * groups — one pass numbers the groups through a small hash table, a second scatters durations so
 * that each group's are together, then nl_stats_of does the rest. No sorting of rows by key.
 */
#include "tables/groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"

#define FIRST_SLOTS 256

void nl_groups_init(struct nl_groups *groups)
{
    *groups = (struct nl_groups){0};
}

void nl_groups_release(struct nl_groups *groups)
{
    nl_free(groups->items);
    nl_free(groups->slots);
    nl_free(groups->row_group);
    nl_free(groups->row_dur);
    *groups = (struct nl_groups){0};
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return nl_hash_number(a ^ nl_hash_number(b));
}

static void put_slot(struct nl_groups *groups, size_t item)
{
    size_t mask = groups->slot_count - 1;
    size_t slot = (size_t)mix(groups->items[item].a, groups->items[item].b) & mask;
    while (groups->slots[slot])
        slot = (slot + 1) & mask;
    groups->slots[slot] = (uint32_t)(item + 1);
}

/* Doubles the table when it is half full. */
static void make_room(struct nl_groups *groups)
{
    if (groups->count * 2 < groups->slot_count)
        return;
    groups->slot_count = groups->slot_count ? groups->slot_count * 2 : FIRST_SLOTS;
    nl_free(groups->slots);
    groups->slots = nl_zalloc(groups->slot_count * sizeof *groups->slots);
    for (size_t item = 0; item < groups->count; item++)
        put_slot(groups, item);
}

static size_t find_or_add(struct nl_groups *groups, uint64_t a, uint64_t b)
{
    make_room(groups);
    size_t mask = groups->slot_count - 1;
    for (size_t slot = (size_t)mix(a, b) & mask; groups->slots[slot]; slot = (slot + 1) & mask) {
        const struct nl_group *item = &groups->items[groups->slots[slot] - 1];
        if (item->a == a && item->b == b)
            return groups->slots[slot] - 1;
    }
    nl_grow(&groups->items, &groups->item_cap, groups->count + 1);
    groups->items[groups->count] = (struct nl_group){.a = a, .b = b};
    put_slot(groups, groups->count);
    return groups->count++;
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
