/*
 * The memo's blocks.
 */
#include "ingest/torch/picklememo.h"

#include "ingest/torch/picklewatch.h"

#define MAX_MEMO_GAP 65536

/* There is always a last block with room: what is added needs not look. */
static void next_block(struct pickle_memo *memo)
{
    size_t block = memo->count / PICKLE_MEMO_BLOCK;
    nl_grow(&memo->blocks, &memo->block_cap, block + 1);
    memo->blocks[block] = nl_zalloc(PICKLE_MEMO_BLOCK * sizeof **memo->blocks); /* NONE */
    memo->held++;
}

void pickle_memo_init(struct pickle_memo *memo)
{
    *memo = (struct pickle_memo){0};
    memo->looked_at = 1;
    next_block(memo);
}

void pickle_memo_free(struct pickle_memo *memo)
{
    for (size_t i = 0; memo->blocks && i <= memo->count / PICKLE_MEMO_BLOCK; i++)
        nl_free(memo->blocks[i]);
    nl_free(memo->blocks);
    *memo = (struct pickle_memo){0};
}

bool pickle_memo_put(struct pickle_memo *memo, uint64_t index, struct pickle_value value)
{
    if (index > memo->count + MAX_MEMO_GAP)
        return false;
    while (memo->count <= index) /* numbers that are left out are NONE */
        if (++memo->count % PICKLE_MEMO_BLOCK == 0)
            next_block(memo);
    struct pickle_value **block = &memo->blocks[index / PICKLE_MEMO_BLOCK];
    if (*block)
        (*block)[index % PICKLE_MEMO_BLOCK] = value;
    return *block != NULL;
}

static bool all_pass(const struct pickle *pickle, const struct pickle_value *values)
{
    for (size_t i = 0; i < PICKLE_MEMO_BLOCK; i++)
        if (!pickle_passes(pickle, values[i]))
            return false;
    return true;
}

void pickle_memo_release(struct pickle *pickle)
{
    struct pickle_memo *memo = &pickle->memo;
    memo->released = memo->count;
    for (; memo->looked_at < memo->count / PICKLE_MEMO_BLOCK; memo->looked_at++) {
        struct pickle_value **block = &memo->blocks[memo->looked_at];
        if (!*block || !all_pass(pickle, *block))
            continue;
        nl_free(*block);
        *block = NULL;
        memo->held--;
    }
}
