/*
 * Values of pickles as they are made, and the opcodes that files have most of.
 */
#include "ingest/picklemake.h"

#include <string.h>

#include "ingest/picklewatch.h"

struct pickle_value pickle_wide(struct pickle *p, enum pickle_type type, uint64_t bits)
{
    nl_grow(&p->wide, &p->wide_cap, p->wide_count + 1);
    p->wide[p->wide_count] = bits;
    return pickle_make(type, p->wide_count++);
}

struct pickle_value pickle_integer(struct pickle *p, int64_t value)
{
    if (value >= -((int64_t)1 << 59) && value < (int64_t)1 << 59)
        return pickle_make(PICKLE_INT, (uint64_t)value);
    return pickle_wide(p, PICKLE_BIG, (uint64_t)value);
}

struct pickle_value pickle_new(struct pickle *p, enum pickle_type type)
{
    if (p->passing.on) {
        struct pickle_passing *passing = &p->passing;
        nl_grow(&passing->items, &passing->item_cap, passing->item_count + 1);
        passing->items[passing->item_count] = (struct pickle_items){NULL, 0, 0};
        return pickle_make(type, passing->item_count++ | PICKLE_PASSING);
    }
    nl_grow(&p->items, &p->item_cap, p->item_count + 1);
    p->items[p->item_count] = (struct pickle_items){NULL, 0, 0};
    return pickle_make(type, p->item_count++);
}

/* Memory for a container's values. */
static struct pickle_value *room(struct pickle *p, struct pickle_value to, size_t count)
{
    struct pickle_passing *passing = &p->passing;
    if (!(to.bits >> 4 & PICKLE_PASSING) || count > PICKLE_POOL - passing->pool_used)
        return nl_arena_alloc(&p->arena, count * sizeof(struct pickle_value));
    passing->pool_used += count;
    return passing->pool + passing->pool_used - count;
}

bool pickle_add(struct pickle *p, struct pickle_value to, const struct pickle_value *values,
                size_t count)
{
    struct pickle_items *items = pickle_container(p, to);
    if (count > UINT32_MAX / 2 - items->count)
        return false;
    if (items->count + count > items->cap) {
        size_t cap = items->count + count;
        if (items->cap && cap < (size_t)items->cap * 2)
            cap = (size_t)items->cap * 2;
        struct pickle_value *grown = room(p, to, cap);
        if (items->count)
            memcpy(grown, items->values, items->count * sizeof *grown);
        items->values = grown;
        items->cap = (uint32_t)cap;
    }
    if (count == 1)
        items->values[items->count] = *values;
    else if (count)
        memcpy(items->values + items->count, values, count * sizeof *values);
    items->count += (uint32_t)count;
    return true;
}

/* What the memo has at a place, if that is there and not forgotten. */
static inline bool known(const struct pickle *p, uint32_t index, struct pickle_value *value)
{
    if (index >= p->memo_count)
        return false;
    *value = p->memo[index];
    return index >= p->passing.memo_released || !pickle_passes(p, *value);
}

#define MOST_FREQUENT 10 /* bytes that are looked at */

/* The value that one of the opcodes pushes that files have most of, and the opcode's length; 0 for others
 * and for what is odd. Lengths are constants here, so that the processor need not wait for one opcode
 * to know where the next is. */
static inline uint32_t frequent(struct pickle *p, const unsigned char *at,
                                struct pickle_value *value)
{
    uint32_t argument;
    int64_t whole;
    memcpy(&argument, at + 1, sizeof argument);
    switch (*at) {
    case 'h': return known(p, argument & 0xff, value) ? 2 : 0;
    case 'j': return known(p, argument, value) ? 5 : 0;
    case 'K': *value = pickle_make(PICKLE_INT, argument & 0xff); return 2;
    case 'M': *value = pickle_make(PICKLE_INT, argument & 0xffff); return 3;
    case 'J': *value = pickle_make(PICKLE_INT, (uint64_t)(int64_t)(int32_t)argument); return 5;
    case 'N': *value = pickle_make(PICKLE_NONE, 0); return 1;
    case 0x88:
    case 0x89: *value = pickle_make(PICKLE_BOOL, *at == 0x88); return 1;
    case PICKLE_OP_LONG1:
        if (at[1] != sizeof whole)
            return 0;
        memcpy(&whole, at + 2, sizeof whole);
        *value = pickle_integer(p, whole);
        return 10;
    default: return 0;
    }
}

void pickle_run_frequent(struct pickle *p)
{
    const unsigned char *at = p->bytes + p->at, *end = p->bytes + p->len;
    struct pickle_value *top = p->stack + p->depth, *full = p->stack + p->stack_cap;
    uint32_t length;
    while (end - at >= MOST_FREQUENT && top < full && (length = frequent(p, at, top)) != 0) {
        at += length;
        top++;
    }
    p->at = (size_t)(at - p->bytes);
    p->depth = (size_t)(top - p->stack);
}
