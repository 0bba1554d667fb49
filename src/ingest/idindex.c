/* See idindex.h. Linear probing at half load; ids are mixed, since many files number from 1. */
#include "ingest/idindex.h"

#include <string.h>

#include "base/mem.h"

static struct id_slot *slot_of(const struct id_index *index, uint64_t id)
{
    size_t mask = index->room - 1;
    size_t at = (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & mask;
    while (index->slots[at].row && index->slots[at].id != id)
        at = (at + 1) & mask;
    return &index->slots[at];
}

uint32_t id_index_get(const struct id_index *index, uint64_t id)
{
    return index->count ? slot_of(index, id)->row - 1 : ID_INDEX_NONE;
}

static void make_room(struct id_index *index)
{
    struct id_index old = *index;
    index->room = old.room ? old.room * 2 : 64;
    index->slots = nl_zalloc(index->room * sizeof *index->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].row)
            *slot_of(index, old.slots[i].id) = old.slots[i];
    nl_free(old.slots);
}

void id_index_put(struct id_index *index, uint64_t id, uint32_t row)
{
    if (index->count * 2 >= index->room)
        make_room(index);
    struct id_slot *slot = slot_of(index, id);
    index->count += slot->row == 0;
    *slot = (struct id_slot){id, row + 1};
}

void id_index_clear(struct id_index *index)
{
    if (index->count)
        memset(index->slots, 0, index->room * sizeof *index->slots);
    index->count = 0;
}

void id_index_release(struct id_index *index)
{
    nl_free(index->slots);
    *index = (struct id_index){0};
}
