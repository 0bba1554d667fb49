/*
 * entity — inside the builder: rows that are asked for by key again and again (processes,
 * threads, devices, lanes, series) and must get one number each.
 */
#ifndef NL_ENTITY_H
#define NL_ENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define NL_ENTITY_KEYS 7

struct nl_entity_key {
    int64_t part[NL_ENTITY_KEYS];
};

struct nl_entities {
    struct nl_entity_key *keys; /* by number */
    uint32_t count;
    size_t cap;
    struct nl_lookup by_key;
};

void nl_entities_release(struct nl_entities *set);

/* Number of the key; *added: it is new. */
uint32_t nl_entities_get(struct nl_entities *set, const struct nl_entity_key *key, int *added);

#endif
