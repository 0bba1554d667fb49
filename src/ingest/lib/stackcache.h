/*
 * stackcache — whole known stacks, by their recorded bytes: samples repeat their stacks with other
 * labels and values.
 *
 *     struct stack_cache cache = {0};
 *     uint64_t hash = nl_hash_keyed(ids, len);
 *     if (!stack_cache_find(&cache, ids, len, hash, &node)) {
 *         node = ...;
 *         stack_cache_keep(&cache, ids, len, hash, node);
 *     }
 *     stack_cache_release(&cache);
 *
 * Stacks may be anywhere in memory. Who knows hashes ahead says so: stack_cache_expect_slot some
 * lookups before, stack_cache_expect_ids a few later; neither changes an answer.
 */
#ifndef STACKCACHE_H
#define STACKCACHE_H

#include "base/mem.h"

struct known_stack {
    const char *ids; /* NULL = free */
    uint32_t len, hash, node;
};

struct stack_cache {
    struct known_stack *slots;
    size_t room, count;
    struct nl_arena copies; /* of the ids, so that those compared are adjacent */
};

bool stack_cache_find(const struct stack_cache *cache, const void *ids, size_t len, uint64_t hash,
                      uint32_t *node);
/* Once for each; copies the ids. */
void stack_cache_keep(struct stack_cache *cache, const void *ids, size_t len, uint64_t hash,
                      uint32_t node);
void stack_cache_release(struct stack_cache *cache);

static inline void stack_cache_expect_slot(const struct stack_cache *cache, uint64_t hash)
{
    if (cache->room)
        __builtin_prefetch(&cache->slots[(uint32_t)hash & (cache->room - 1)]);
}

static inline void stack_cache_expect_ids(const struct stack_cache *cache, uint64_t hash)
{
    if (!cache->room)
        return;
    size_t at = (uint32_t)hash & (cache->room - 1);
    while (cache->slots[at].ids && cache->slots[at].hash != (uint32_t)hash)
        at = (at + 1) & (cache->room - 1);
    const struct known_stack *slot = &cache->slots[at];
    for (uint32_t i = 0; i < slot->len && i < 256; i += 64)
        __builtin_prefetch(slot->ids + i);
    if (slot->len)
        __builtin_prefetch(slot->ids + slot->len - 1);
}

#endif
