/* Keys to numbers: one open-addressing table. */
#include "store/entity.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void nl_entities_release(struct nl_entities *set)
{
    nl_free(set->keys);
    nl_free(set->slots);
    *set = (struct nl_entities){0};
}

static void place(struct nl_entities *set, uint32_t number)
{
    uint32_t mask = set->slot_count - 1;
    uint32_t at = (uint32_t)nl_hash_keyed(&set->keys[number], sizeof set->keys[0]) & mask;
    while (set->slots[at])
        at = (at + 1) & mask;
    set->slots[at] = number + 1;
}

static void rehash(struct nl_entities *set)
{
    set->slot_count = set->slot_count ? set->slot_count * 2 : 64;
    nl_free(set->slots);
    set->slots = nl_zalloc(set->slot_count * sizeof *set->slots);
    for (uint32_t i = 0; i < set->count; i++)
        place(set, i);
}

uint32_t nl_entities_get(struct nl_entities *set, const struct nl_entity_key *key, int *added)
{
    *added = 0;
    if (set->count * 2 >= set->slot_count)
        rehash(set);
    uint32_t mask = set->slot_count - 1;
    for (uint32_t at = (uint32_t)nl_hash_keyed(key, sizeof *key) & mask; set->slots[at];
         at = (at + 1) & mask)
        if (memcmp(&set->keys[set->slots[at] - 1], key, sizeof *key) == 0)
            return set->slots[at] - 1;
    nl_grow(&set->keys, &set->cap, (size_t)set->count + 1);
    set->keys[set->count] = *key;
    place(set, set->count);
    *added = 1;
    return set->count++;
}
