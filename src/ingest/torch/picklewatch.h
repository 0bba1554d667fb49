/*
 * picklewatch — the dictionaries of one list, taken while the pickle is read.
 *
 *     struct pickle_watch watch = {.key = "entries", .take = take, .context = &context};
 *     if (!pickle_read_watched(&pickle, bytes, len, &watch, job, err)) ...
 *     // the list keeps the items not taken; if pickle.lost also the first pickle.taken ones
 *
 * A dump of a million records needs no million dictionaries at once. The list must be the value of
 * `key` in a dictionary that is the whole pickle. Each item is taken from the stack of the machine
 * as soon as the next one begins; then the lists, dictionaries and wide numbers made for it are
 * freed. Texts and tuples of texts stay, because the memo shares them.
 *
 * If the program asks its memo for something that was freed, the pickle is read again without
 * freeing (`lost`); then the list holds all items, including those already taken.
 */
#ifndef PICKLEWATCH_H
#define PICKLEWATCH_H

#include "ingest/torch/pickle.h"

struct pickle_watch {
    const char *key;
    bool nested; /* it is a list of such lists */
    bool keep;   /* items share what they are made of: they alone are forgotten */
    /* Asked before the first, if not NULL: whether the other data they need has been read
     * (pickle_so_far). Else nothing is taken. */
    bool (*ready)(void *context, const struct pickle *pickle);
    /* The dictionary's keys and values; they are good until this returns. `list`: which of the
     * lists it is from, when there are several. */
    void (*take)(void *context, size_t list, const struct pickle_value *pairs, size_t count);
    void *context;
};

/* Value of a key of the outermost dictionary, of what has been read of it;
 * NONE when there is none. */
struct pickle_value pickle_so_far(const struct pickle *pickle, const char *key);

/* ---- For pickle.c ---- */

/* Whether the list that begins here, on top of the stack, is the one. */
bool pickle_watch_list(const struct pickle *pickle);
/* Where on the stack the items begin of the list whose mark is the innermost, if they
 * are to be taken; else 0. */
size_t pickle_watch_items(const struct pickle *pickle);
/* Takes the stack from `from` on, the items of a dictionary just below, if that is an item of the
 * list and whole. */
bool pickle_watch_take(struct pickle *pickle, size_t from);
/* The list's items from `from` on leave the stack for the list: those that were taken do not. */
void pickle_watch_close(struct pickle *pickle, size_t from);
/* Whether a value is forgotten when the item that it is made for was taken. */
static inline bool pickle_passes(const struct pickle *pickle, struct pickle_value value)
{
    uint64_t number = value.bits >> 4;
    switch (pickle_type(value)) {
    case PICKLE_LIST:
    case PICKLE_TUPLE:
    case PICKLE_DICT: return number & PICKLE_PASSING;
    case PICKLE_BIG:
    case PICKLE_FLOAT: return number >= pickle->passing.wide_base;
    default: return false;
    }
}
/* What the memo has under a number, if that is there and not forgotten. */
static inline bool pickle_memo_get(const struct pickle *pickle, uint64_t index,
                                   struct pickle_value *value)
{
    const struct pickle_memo *memo = &pickle->memo;
    const struct pickle_value *block;
    if (index >= memo->count || !(block = memo->blocks[index / PICKLE_MEMO_BLOCK]))
        return false;
    *value = block[index % PICKLE_MEMO_BLOCK];
    return pickle_type(*value) == PICKLE_TEXT || index >= memo->released ||
           !pickle_passes(pickle, *value);
}
/* Whether values of a new tuple are two texts that were in one before: then that one. */
struct pickle_value *pickle_known_tuple(struct pickle *pickle, const struct pickle_value *values);

#endif
