/* Keys to numbers. */
#include "store/entity.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void nl_entities_release(struct nl_entities *set)
{
    nl_free(set->keys);
    nl_lookup_release(&set->by_key);
    *set = (struct nl_entities){0};
}

uint32_t nl_entities_get(struct nl_entities *set, const struct nl_entity_key *key, int *added)
{
    *added = 0;
    uint64_t hash = nl_hash_keyed(key, sizeof *key);
    uint32_t found = NL_LOOKUP(&set->by_key, hash, i, memcmp(&set->keys[i], key, sizeof *key) == 0);
    if (found != NL_NO_ROW)
        return found;
    nl_grow(&set->keys, &set->cap, (size_t)set->count + 1);
    set->keys[set->count] = *key;
    nl_lookup_add(&set->by_key, hash, set->count);
    *added = 1;
    return set->count++;
}
