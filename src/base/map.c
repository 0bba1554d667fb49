/*
 * See map.h. Linear probing at half load everywhere. nl_lookup keeps half of the hash next to the
 * row, so that growing needs no keys and a search hardly ever reads a wrong row.
 */
#include "base/map.h"

#include <string.h>

#define FIRST_SLOTS         64
#define ARRAY_SLOTS_PER_KEY 4 /* places of the array a key, at most */

/* ---- Numbers: a key stays where it was put first, in the array or in the table ---- */

static size_t home_of(const struct nl_idmap *map, uint64_t key)
{
    return (size_t)(nl_hash_number(key) >> 20) & (map->room - 1);
}

static struct nl_idmap_slot *slot_of(const struct nl_idmap *map, uint64_t key)
{
    size_t at = home_of(map, key);
    while (map->slots[at].row && map->slots[at].key != key)
        at = (at + 1) & (map->room - 1);
    return &map->slots[at];
}

uint32_t nl_idmap_get_large(const struct nl_idmap *map, uint64_t key)
{
    return slot_of(map, key)->row - 1;
}

static void widen_map(struct nl_idmap *map)
{
    struct nl_idmap old = *map;
    map->room = old.room ? old.room * 2 : FIRST_SLOTS;
    map->slots = nl_ztable(map->room * sizeof *map->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].row)
            *slot_of(map, old.slots[i].key) = old.slots[i];
    nl_free(old.slots);
}

/* Is there a place for the key in the array? Makes it. */
static bool has_place(struct nl_idmap *map, uint64_t key)
{
    if (key < map->small_room)
        return true;
    if (key >= (map->small_count + map->count + 16) * ARRAY_SLOTS_PER_KEY)
        return false;
    size_t room = map->small_room ? map->small_room * 2 : FIRST_SLOTS;
    room = room > key ? room : (size_t)key + 1;
    map->small = nl_realloc(map->small, room * sizeof *map->small);
    memset(map->small + map->small_room, 0, (room - map->small_room) * sizeof *map->small);
    map->small_room = room;
    return true;
}

void nl_idmap_put(struct nl_idmap *map, uint64_t key, uint32_t row)
{
    struct nl_idmap_slot *slot = map->count ? slot_of(map, key) : NULL;
    if (!(slot && slot->row) && has_place(map, key)) {
        map->small_count += map->small[key] == 0;
        map->small[key] = row + 1;
        return;
    }
    if (map->count * 2 >= map->room) {
        widen_map(map);
        slot = NULL;
    }
    slot = slot ? slot : slot_of(map, key);
    map->count += slot->row == 0;
    *slot = (struct nl_idmap_slot){key, row + 1};
}

uint32_t nl_idmap_get_or_put(struct nl_idmap *map, uint64_t key, uint32_t next)
{
    uint32_t row = nl_idmap_get(map, key);
    if (row == NL_NO_ROW)
        nl_idmap_put(map, key, row = next);
    return row;
}

void nl_idmap_remove(struct nl_idmap *map, uint64_t key)
{
    if (key < map->small_room && map->small[key]) {
        map->small[key] = 0;
        map->small_count--;
        return;
    }
    struct nl_idmap_slot *slot = map->count ? slot_of(map, key) : NULL;
    if (!slot || !slot->row)
        return;
    size_t mask = map->room - 1, hole = (size_t)(slot - map->slots);
    map->count--;
    /* Entries that were placed further on because of it move up. */
    for (size_t at = (hole + 1) & mask; map->slots[at].row; at = (at + 1) & mask) {
        if (((at - home_of(map, map->slots[at].key)) & mask) < ((at - hole) & mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole] = (struct nl_idmap_slot){0};
}

/* Memory that was hardly used goes, so that clearing costs no more than what was put did. */
void nl_idmap_clear(struct nl_idmap *map)
{
    if (map->room > (map->count + 16) * 16 || map->small_room > (map->small_count + 16) * 16) {
        nl_idmap_release(map);
        return;
    }
    if (map->count)
        memset(map->slots, 0, map->room * sizeof *map->slots);
    if (map->small_count)
        memset(map->small, 0, map->small_room * sizeof *map->small);
    map->count = map->small_count = 0;
}

void nl_idmap_release(struct nl_idmap *map)
{
    nl_free(map->slots);
    nl_free(map->small);
    *map = (struct nl_idmap){0};
}

/* ---- Keys in the caller's rows ---- */

static void place(struct nl_lookup *lookup, struct nl_lookup_slot slot)
{
    size_t mask = lookup->room - 1, at = slot.hash & mask;
    while (lookup->slots[at].row)
        at = (at + 1) & mask;
    lookup->slots[at] = slot;
}

void nl_lookup_add(struct nl_lookup *lookup, uint64_t hash, uint32_t row)
{
    if (lookup->count * 2 >= lookup->room) {
        struct nl_lookup old = *lookup;
        lookup->room = old.room ? old.room * 2 : FIRST_SLOTS;
        lookup->slots = nl_ztable(lookup->room * sizeof *lookup->slots);
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].row)
                place(lookup, old.slots[i]);
        nl_free(old.slots);
    }
    place(lookup, (struct nl_lookup_slot){(uint32_t)hash, row + 1});
    lookup->count++;
}

void nl_lookup_clear(struct nl_lookup *lookup)
{
    if (lookup->count)
        memset(lookup->slots, 0, lookup->room * sizeof *lookup->slots);
    lookup->count = 0;
}

void nl_lookup_release(struct nl_lookup *lookup)
{
    nl_free(lookup->slots);
    *lookup = (struct nl_lookup){0};
}
