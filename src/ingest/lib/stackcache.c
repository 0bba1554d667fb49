/* See stackcache.h. Open addressing, at most half full; a slot keeps the lower half of its hash, so
 * that other stacks are mostly recognised, and slots moved, without looking at ids. */
#include "ingest/lib/stackcache.h"

#include <string.h>

/* Slots are found by 32 bits of the hash. */
#define MAX_ROOM ((size_t)1 << 31)

bool stack_cache_find(const struct stack_cache *cache, const void *ids, size_t len, uint64_t hash,
                      uint32_t *node)
{
    if (!cache->room)
        return false;
    for (size_t at = (uint32_t)hash & (cache->room - 1); cache->slots[at].ids;
         at = (at + 1) & (cache->room - 1)) {
        const struct known_stack *slot = &cache->slots[at];
        if (slot->hash == (uint32_t)hash && slot->len == len && memcmp(slot->ids, ids, len) == 0) {
            *node = slot->node;
            return true;
        }
    }
    return false;
}

static void place(struct stack_cache *cache, struct known_stack stack)
{
    size_t at = stack.hash & (cache->room - 1);
    while (cache->slots[at].ids)
        at = (at + 1) & (cache->room - 1);
    cache->slots[at] = stack;
}

static void more_slots(struct stack_cache *cache)
{
    struct stack_cache old = *cache;
    cache->room = old.room ? old.room * 2 : 1024;
    cache->slots = nl_alloc(cache->room * sizeof *cache->slots);
    memset(cache->slots, 0,
           cache->room * sizeof *cache->slots); /* see free_places in stacktree.c */
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].ids)
            place(cache, old.slots[i]);
    nl_free(old.slots);
}

void stack_cache_keep(struct stack_cache *cache, const void *ids, size_t len, uint64_t hash,
                      uint32_t node)
{
    if (len > UINT32_MAX || cache->count * 2 >= MAX_ROOM)
        return;
    if (cache->count * 2 >= cache->room)
        more_slots(cache);
    cache->count++;
    const char *copy = nl_arena_text(&cache->copies, ids, len);
    place(cache, (struct known_stack){copy, (uint32_t)len, (uint32_t)hash, node});
}

void stack_cache_release(struct stack_cache *cache)
{
    nl_free(cache->slots);
    nl_arena_free(&cache->copies);
}
