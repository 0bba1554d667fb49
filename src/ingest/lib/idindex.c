/*
 * See idindex.h. An id stays where it was put first, in the array or in the table; both are asked.
 * The table has linear probing at half load.
 */
#include "ingest/lib/idindex.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SPARSE 4

static struct id_slot *slot_of(const struct id_index *index, uint64_t id)
{
    size_t mask = index->room - 1;
    size_t at = (size_t)(nl_hash_number(id) >> 20) & mask;
    while (index->slots[at].row && index->slots[at].id != id)
        at = (at + 1) & mask;
    return &index->slots[at];
}

uint32_t id_index_get_large(const struct id_index *index, uint64_t id)
{
    return slot_of(index, id)->row - 1;
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

/* Is there a place for the id in the array, which may have SPARSE places per id? Makes it. */
static bool has_place(struct id_index *index, uint64_t id)
{
    if (id < index->small_room)
        return true;
    if (id >= (index->small_count + index->count + 16) * SPARSE)
        return false;
    size_t room = index->small_room ? index->small_room * 2 : 64;
    room = room > id ? room : (size_t)id + 1;
    index->small = nl_realloc(index->small, room * sizeof *index->small);
    memset(index->small + index->small_room, 0, (room - index->small_room) * sizeof *index->small);
    index->small_room = room;
    return true;
}

void id_index_put(struct id_index *index, uint64_t id, uint32_t row)
{
    struct id_slot *slot = index->count ? slot_of(index, id) : NULL;
    if (!(slot && slot->row) && has_place(index, id)) {
        index->small_count += index->small[id] == 0;
        index->small[id] = row + 1;
        return;
    }
    if (index->count * 2 >= index->room) {
        make_room(index);
        slot = NULL;
    }
    slot = slot ? slot : slot_of(index, id);
    index->count += slot->row == 0;
    *slot = (struct id_slot){id, row + 1};
}

/* Memory that was hardly used goes, so that clearing costs no more than what was put did. */
void id_index_clear(struct id_index *index)
{
    if (index->room > (index->count + 16) * 16 ||
        index->small_room > (index->small_count + 16) * 16) {
        id_index_release(index);
        return;
    }
    if (index->count)
        memset(index->slots, 0, index->room * sizeof *index->slots);
    if (index->small_count)
        memset(index->small, 0, index->small_room * sizeof *index->small);
    index->count = index->small_count = 0;
}

void id_index_release(struct id_index *index)
{
    nl_free(index->slots);
    nl_free(index->small);
    *index = (struct id_index){0};
}
