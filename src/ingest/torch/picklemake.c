/*
 * Values of pickles as they are made, and the opcodes that files have most of.
 */
#include "ingest/torch/picklemake.h"

#include <string.h>

#include "ingest/torch/picklewatch.h"

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

#define MAX_FREQUENT_BYTES 10 /* bytes that are looked at */

/* The value that one of the opcodes pushes that files have most of, and the opcode's length; 0 for
 * others and for what is odd. Lengths are constants here, so that the processor need not wait for
 * one opcode to know where the next is. */
static inline uint32_t frequent(struct pickle *p, const unsigned char *at,
                                struct pickle_value *value)
{
    uint32_t argument;
    int64_t whole;
    memcpy(&argument, at + 1, sizeof argument);
    switch (*at) {
    case 'h': return pickle_memo_get(p, argument & 0xff, value) ? 2 : 0;
    case 'j': return pickle_memo_get(p, argument, value) ? 5 : 0;
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

/* Where the machine is, in registers. */
struct cursor {
    const unsigned char *at;
    struct pickle_value *top;
};

/* A new list that passes, and its number in the memo, if it gets one. */
static inline bool begin_list(struct pickle *p, struct cursor *now)
{
    struct pickle_passing *passing = &p->passing;
    if (passing->item_count == passing->item_cap)
        return false;
    struct pickle_value list = pickle_make(PICKLE_LIST, passing->item_count | PICKLE_PASSING);
    if (now->at[1] == PICKLE_OP_MEMOIZE) {
        if (!pickle_memo_add(&p->memo, list))
            return false;
        now->at++;
    }
    passing->items[passing->item_count++] = (struct pickle_items){NULL, 0, 0};
    *now->top++ = list;
    return true;
}

/* Values on top of the stack become those of the list below them, when that passes and is empty. */
static inline bool fill_list(struct pickle *p, struct cursor *now, struct pickle_value *values)
{
    struct pickle_passing *passing = &p->passing;
    struct pickle_value list = values[-1];
    size_t count = (size_t)(now->top - values);
    if (pickle_type(list) != PICKLE_LIST || !(list.bits >> 4 & PICKLE_PASSING) ||
        count > PICKLE_POOL - passing->pool_used)
        return false;
    struct pickle_items *items = &passing->items[list.bits >> 4 & ~PICKLE_PASSING];
    if (items->cap)
        return false;
    struct pickle_value *to = passing->pool + passing->pool_used;
    for (size_t i = 0; i < count; i++)
        to[i] = values[i];
    *items = (struct pickle_items){to, (uint32_t)count, (uint32_t)count};
    passing->pool_used += count;
    now->top = values;
    return true;
}

/* The list's mark, that of the items, that of the dictionary: more are inside of an item. */
#define ITEM_MARKS 3

/* Opcodes that make lists inside of an item that passes; false for what is not as it mostly is. */
static inline bool short_list(struct pickle *p, struct cursor *now)
{
    struct pickle_value *stack = p->stack;
    if (!p->passing.on || p->mark_count < ITEM_MARKS)
        return false;
    switch (*now->at) {
    case ']':
        if (!begin_list(p, now))
            return false;
        break;
    case '(':
        if (p->mark_count == p->mark_cap)
            return false;
        p->marks[p->mark_count++] = (size_t)(now->top - stack);
        break;
    case 'a':
        if (now->top - stack < 2 || !fill_list(p, now, now->top - 1))
            return false;
        break;
    case 'e': {
        size_t from = p->marks[p->mark_count - 1];
        if (p->mark_count == ITEM_MARKS || !from || from > (size_t)(now->top - stack) ||
            !fill_list(p, now, stack + from))
            return false;
        p->mark_count--;
        break;
    }
    default: return false;
    }
    now->at++;
    return true;
}

void pickle_run_frequent(struct pickle *p)
{
    struct cursor now = {p->bytes + p->at, p->stack + p->depth};
    const unsigned char *end = p->bytes + p->len;
    const struct pickle_value *full = p->stack + p->stack_cap;
    const struct pickle_value *first = p->memo.blocks[0]; /* NONE after the last */
    while (end - now.at >= MAX_FREQUENT_BYTES && now.top < full) {
        if (*now.at == 'h' && pickle_type(first[now.at[1]]) == PICKLE_TEXT) { /* mostly a key */
            *now.top++ = first[now.at[1]];
            now.at += 2;
            continue;
        }
        uint32_t length = frequent(p, now.at, now.top);
        if (length) {
            now.at += length;
            now.top++;
        } else if (!short_list(p, &now)) {
            break;
        }
    }
    p->at = (size_t)(now.at - p->bytes);
    p->depth = (size_t)(now.top - p->stack);
}
