/*
 * idindex — numbers that a file gives things (ids, addresses, handles) to rows of an array.
 *
 * An open-addressing table that grows; zero-initialised is empty. Row numbers are below 2^32 - 1.
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
    size_t room, count;
};

#define ID_INDEX_NONE UINT32_MAX

/* Row of an id, or ID_INDEX_NONE. */
uint32_t id_index_get(const struct id_index *index, uint64_t id);
/* Sets the row of an id; the last one set counts. */
void id_index_put(struct id_index *index, uint64_t id, uint32_t row);
void id_index_clear(struct id_index *index); /* empties, keeps the memory */
void id_index_release(struct id_index *index);

#endif
