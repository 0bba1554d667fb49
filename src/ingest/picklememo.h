/*
 * picklememo — what a pickle's program has put aside under numbers (MEMOIZE, PUT), for itself.
 *
 * Python's pickler numbers every list and dictionary, wanted again or not: eight bytes each, more than
 * all rows of a long dump come to. The memo is blocks; one in which everything was forgotten goes
 * (picklewatch.h). Keys of dictionaries are mostly in the first.
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

struct pickle_memo {
    struct pickle_value *
        *blocks; /* of PICKLE_MEMO_BLOCK; NULL: gone. The first stays, the last is not full */
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

/* The next number's value. False when there is no room for it in the last block: then pickle_memo_put. */
static inline bool pickle_memo_add(struct pickle_memo *memo, struct pickle_value value)
{
    size_t at = memo->count % PICKLE_MEMO_BLOCK;
    if (at == PICKLE_MEMO_BLOCK - 1)
        return false;
    memo->blocks[memo->count++ / PICKLE_MEMO_BLOCK][at] = value;
    return true;
}

#endif
