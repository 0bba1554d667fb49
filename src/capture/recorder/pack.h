/*
 * pack — blocks of a recording taken out of memory: several together are compressed into one PACKED
 * block after all others, then given back to the process, which uses them again.
 */
#ifndef NL_PACK_H
#define NL_PACK_H

#include <stdbool.h>

#include "base/str.h"
#include "nlrec/recformat.h"

struct pack {
    int file;
    struct nl_rec_head *head;
    struct nl_buf raw; /* blocks, cut to what they hold */
    uint32_t *blocks;  /* their numbers, to give back */
    size_t count, cap;
    uint64_t packed, failed; /* blocks */
};

/* How a block goes back: to the process, or, when that has ended, to the file system. */
enum pack_back { PACK_REUSE, PACK_PUNCH };

void pack_begin(struct pack *pack, int file, struct nl_rec_head *head);

/* Adds block `number` as it is in the file. False when it cannot be read or is none that counts. */
bool pack_block(struct pack *pack, uint32_t number, struct nl_rec_block *header);

/* Adds a block of the recorder's own making: `bytes` (a multiple of 8) of kind `kind`. */
void pack_own(struct pack *pack, uint32_t kind, const char *bytes, size_t count);

/* Writes what was added, when it is `least` bytes or more, and gives the blocks back.
 * When the disk is full the blocks stay where they are: nothing is lost, but the
 * process cannot use them again. */
void pack_write(struct pack *pack, size_t least, enum pack_back back);
void pack_end(struct pack *pack);

#define PACK_BYTES ((size_t)1 << 20) /* a good size to write */

#endif
