/*
 * map — from keys to rows of the caller's arrays: numbers (nl_idmap), and keys of any form stored
 * in the caller's rows (nl_lookup).
 *
 * All are empty when zero-initialised and grow; a row is below 2^32 - 1, and NL_NO_ROW says that
 * there is none. Hash with nl_hash_number, nl_hash_pair or nl_hash_keyed: their key differs from
 * process to process, so no input can choose keys that collide. No order follows from a map, so
 * that equal inputs give equal bytes.
 *
 *     struct nl_idmap by_id = {0};
 *     nl_idmap_put(&by_id, id, row);
 *     uint32_t row = nl_idmap_get(&by_id, id);
 *
 *     struct nl_lookup pairs = {0};
 *     uint64_t hash = nl_hash_pair(a, b);
 *     uint32_t row = NL_LOOKUP(&pairs, hash, i, items[i].a == a && items[i].b == b);
 *     if (row == NL_NO_ROW) {
 *         items[row = count++] = (struct item){a, b};
 *         nl_lookup_add(&pairs, hash, row);
 *     }
 */
#ifndef NL_MAP_H
#define NL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

#define NL_NO_ROW UINT32_MAX

/* A number of two, for nl_lookup; chains: nl_hash_pair(nl_hash_pair(a, b), c). */
static inline uint64_t nl_hash_pair(uint64_t a, uint64_t b)
{
    return nl_hash_number(a ^ nl_hash_number(b));
}

/* ---- Numbers ---- */

/* Small keys (files often number from 1) index an array; the others are in an open-addressing
 * table. */
struct nl_idmap {
    struct nl_idmap_slot {
        uint64_t key;
        uint32_t row; /* + 1; 0 = free */
    } * slots;
    size_t room, count; /* of slots */
    uint32_t *small;    /* row + 1 of keys below small_room; 0 = not here */
    size_t small_room, small_count;
};

uint32_t nl_idmap_get_large(const struct nl_idmap *map, uint64_t key);

/* Row of a key, or NL_NO_ROW. */
static inline uint32_t nl_idmap_get(const struct nl_idmap *map, uint64_t key)
{
    if (key < map->small_room && map->small[key])
        return map->small[key] - 1;
    return map->count ? nl_idmap_get_large(map, key) : NL_NO_ROW;
}

/* Sets the row of a key; the last one set counts. */
void nl_idmap_put(struct nl_idmap *map, uint64_t key, uint32_t row);
/* Row of a key; `next` becomes it when there was none. */
uint32_t nl_idmap_get_or_put(struct nl_idmap *map, uint64_t key, uint32_t next);
void nl_idmap_remove(struct nl_idmap *map, uint64_t key); /* nothing when it is not there */
void nl_idmap_clear(struct nl_idmap *map);                /* empties; may keep the memory */
void nl_idmap_release(struct nl_idmap *map);

/* ---- Keys in the caller's rows ---- */

struct nl_lookup {
    struct nl_lookup_slot {
        uint32_t hash; /* low half */
        uint32_t row;  /* + 1; 0 = free */
    } * slots;
    size_t room, count;
};

/* The row that has this hash and of which `same`, an expression of the row number `i`, is
 * true; NL_NO_ROW without. */
#define NL_LOOKUP(lookup, hashed, i, same)                                                         \
    __extension__({                                                                                \
        const struct nl_lookup *nl_in = (lookup);                                                  \
        const uint32_t nl_wanted = (uint32_t)(hashed);                                             \
        uint32_t nl_found = NL_NO_ROW;                                                             \
        for (size_t nl_at = nl_wanted & (nl_in->room - 1); nl_in->room && nl_in->slots[nl_at].row; \
             nl_at = (nl_at + 1) & (nl_in->room - 1)) {                                            \
            const uint32_t i = nl_in->slots[nl_at].row - 1;                                        \
            if (nl_in->slots[nl_at].hash == nl_wanted && (same)) {                                 \
                nl_found = i;                                                                      \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        nl_found;                                                                                  \
    })

/* Adds a row that is not there yet. */
void nl_lookup_add(struct nl_lookup *lookup, uint64_t hash, uint32_t row);
void nl_lookup_clear(struct nl_lookup *lookup); /* empties; keeps the memory */
void nl_lookup_release(struct nl_lookup *lookup);

#endif
