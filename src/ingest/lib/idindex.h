/*
 * idindex — numbers that a file gives things (ids, addresses, handles) to rows of an array.
 *
 * Zero-initialised is empty; it grows. Ids that are about as small as their number (files often
 * number from 1) are places of an array, the others are in an open-addressing table. Row numbers are
 * below 2^32 - 1.
 */
#ifndef NL_IDINDEX_H
#define NL_IDINDEX_H

#include <stddef.h>
#include <stdint.h>

struct id_index {
    struct id_slot {
        uint64_t id;
        uint32_t row; /* + 1; 0 = free */
    } * slots;
    size_t room, count; /* of slots */
    uint32_t *small;    /* row + 1 of ids below small_room; 0 = not here */
    size_t small_room, small_count;
};

#define ID_INDEX_NONE UINT32_MAX

uint32_t id_index_get_large(const struct id_index *index, uint64_t id);

/* Row of an id, or ID_INDEX_NONE. */
static inline uint32_t id_index_get(const struct id_index *index, uint64_t id)
{
    if (id < index->small_room && index->small[id])
        return index->small[id] - 1;
    return index->count ? id_index_get_large(index, id) : ID_INDEX_NONE;
}

/* Sets the row of an id; the last one set counts. */
void id_index_put(struct id_index *index, uint64_t id, uint32_t row);
void id_index_clear(struct id_index *index); /* empties; may keep the memory */
void id_index_release(struct id_index *index);

#endif
