/*
 * Items of a list on the stack of the machine: found, taken, forgotten.
 */
#include "ingest/torch/picklewatch.h"

#include <string.h>

#define FRAME 0x95 /* with 8 bytes of length */

/* In place of an item that was taken, so that the stack stays as the program knows it. */
static const struct pickle_value taken = {(uint64_t)1 << 4 | PICKLE_OTHER};

static bool is_text(const struct pickle *p, struct pickle_value value, const char *text)
{
    return pickle_type(value) == PICKLE_TEXT && nl_str_is(pickle_text(p, value), text);
}

/* Keys and values that have not been put into the outermost dictionary yet begin here. */
#define FIRST_KEY 1

static bool in_root(const struct pickle *p)
{
    return p->mark_count == 1 && p->marks[0] == FIRST_KEY &&
           pickle_type(p->stack[0]) == PICKLE_DICT;
}

bool pickle_watch_list(const struct pickle *p)
{
    return p->watch && !p->list_at && in_root(p) && p->depth > FIRST_KEY &&
           (p->depth - FIRST_KEY) % 2 == 1 && is_text(p, p->stack[p->depth - 1], p->watch->key);
}

struct pickle_value pickle_so_far(const struct pickle *p, const char *key)
{
    if (!p->depth || pickle_type(p->stack[0]) != PICKLE_DICT || !p->mark_count)
        return (struct pickle_value){PICKLE_NONE};
    struct pickle_value put = pickle_get(p, p->stack[0], key);
    for (size_t i = p->marks[0]; i + 1 < p->depth && pickle_type(put) == PICKLE_NONE; i += 2)
        if (is_text(p, p->stack[i], key))
            put = p->stack[i + 1];
    return put;
}

/* All that was made since the list began, or since the last time. */
static void forget(struct pickle *p)
{
    p->passing.item_count = p->passing.pool_used = 0;
    if (!p->watch->keep)
        p->wide_count = p->passing.wide_base;
    pickle_memo_release(p);
}

/* Whether the next opcode begins the next item or ends some: nothing more comes into this one.
 * Frames may begin anywhere. */
static bool item_ends(const struct pickle *p)
{
    size_t at = p->at;
    if (at < p->len && p->bytes[at] == FRAME)
        at += 9;
    return at < p->len && (p->bytes[at] == '}' || p->bytes[at] == 'e');
}

size_t pickle_watch_items(const struct pickle *p)
{
    size_t outer = p->list_at + 1, marks = p->mark_count;
    if (!p->watch || !p->list_at || marks < 2)
        return 0;
    size_t first = p->marks[marks - 1];
    if (!p->watch->nested)
        return marks == 2 && first == outer ? first : 0;
    bool alone = marks == 2 && first == outer + 1; /* a list of one list has no mark */
    bool among = marks == 3 && p->marks[1] == outer && first > outer;
    return alone || among ? first : 0;
}

bool pickle_watch_take(struct pickle *p, size_t from)
{
    size_t first = pickle_watch_items(p), at = from - 1, list = 0;
    if (!first || at < first || pickle_container(p, p->stack[at])->count || !item_ends(p))
        return false;
    if (at > first && p->stack[at - 1].bits != taken.bits) /* something is kept here */
        return false;
    if (!p->taken && p->watch->ready && !p->watch->ready(p->watch->context, p)) {
        p->watch = NULL;
        return false;
    }
    if (p->watch->nested)
        list = pickle_count(p, p->stack[p->list_at]) + (first - p->list_at - 2);
    p->watch->take(p->watch->context, list, p->stack + from, p->depth - from);
    p->stack[at] = taken;
    p->depth = from;
    p->taken++;
    forget(p);
    return true;
}

void pickle_watch_close(struct pickle *p, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < p->depth; i++)
        if (p->stack[i].bits != taken.bits)
            p->stack[kept++] = p->stack[i];
    if (kept > from) /* they stay: nothing is forgotten any more */
        p->watch = NULL;
    p->depth = kept;
    p->passing.on = false;
}

struct pickle_value *pickle_known_tuple(struct pickle *p, const struct pickle_value *values)
{
    uint64_t both = values[0].bits ^ values[1].bits << 20;
    return &p->passing.tuples[(both * 0x9e3779b97f4a7c15u >> 32) % PICKLE_TUPLES];
}
