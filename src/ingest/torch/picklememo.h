/*
 * picklememo — what a pickle's program has put aside under numbers (MEMOIZE, PUT), for itself.
 *
 * Python's pickler numbers every list and dictionary, wanted again or not: eight bytes each, more
 * than all rows of a long dump come to. The memo is blocks; one in which everything was forgotten
 * goes (picklewatch.h). Keys of dictionaries are mostly in the first. Also the places of values
 * that are forgotten with their item.
 */
#ifndef PICKLEMEMO_H
#define PICKLEMEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICKLE_MEMO_BLOCK 256 /* as many as BINGET can number */

struct pickle;

struct pickle_value {
    uint64_t bits; /* type in the low 4 */
};

struct pickle_items {
    struct pickle_value *values; /* of a dictionary: key, value, key, value */
    uint32_t count, cap;
};

/* Values that are forgotten once the dictionary around them was taken. */
#define PICKLE_PASSING ((uint64_t)1 << 59) /* bit of the number of such a container */
#define PICKLE_TUPLES  64

struct pickle_passing {
    bool on; /* inside of the list */
    struct pickle_items *items;
    size_t item_count, item_cap;
    struct pickle_value *pool; /* their values; what has no room there is kept after all */
    size_t pool_used;
    size_t wide_base;                          /* wide numbers from here on pass, too */
    struct pickle_value tuples[PICKLE_TUPLES]; /* of two texts, met before */
};

struct pickle_memo {
    /* Of PICKLE_MEMO_BLOCK each; NULL: gone. The first stays, the last is not full. */
    struct pickle_value **blocks;
    size_t block_cap, held; /* held: how many are there */
    uint64_t count;         /* values put so far, and numbers left out */
    uint64_t released;      /* what was put before this many were may be forgotten */
    uint64_t looked_at;     /* blocks that were looked at, whether they may go */
};

void pickle_memo_init(struct pickle_memo *memo);
void pickle_memo_free(struct pickle_memo *memo);
/* False for numbers far beyond all others. */
bool pickle_memo_put(struct pickle_memo *memo, uint64_t index, struct pickle_value value);
/* A new item begins: values that pass (picklewatch.h) are forgotten. */
void pickle_memo_release(struct pickle *pickle);

/* The next number's value. False when there is no room for it in the last
 * block: then pickle_memo_put. */
static inline bool pickle_memo_add(struct pickle_memo *memo, struct pickle_value value)
{
    size_t at = memo->count % PICKLE_MEMO_BLOCK;
    if (at == PICKLE_MEMO_BLOCK - 1)
        return false;
    memo->blocks[memo->count++ / PICKLE_MEMO_BLOCK][at] = value;
    return true;
}

#endif
