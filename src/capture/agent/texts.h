/*
 * texts — names to numbers, inside the recorded process: looked up without a lock, added under one.
 *
 * A number is given out only when its text is in the recording file. Numbers stay valid in forked
 * children: the table is private memory, which a child has too, and texts_rewrite puts all of it
 * into the child's own file.
 */
#ifndef NL_TEXTS_H
#define NL_TEXTS_H

#include <stddef.h>

#include "capture/shared/recfile.h"

struct texts {
    uint32_t *slots;   /* hash table of ids */
    uint64_t *entries; /* by id: where its text begins in `bytes` << 16 | length */
    char *bytes;
    uint64_t used;  /* of bytes */
    uint32_t count; /* ids given out: 1 to count */
    uint32_t lock;  /* pid of who adds */
    struct nl_rec_block *block;
};

/* False when the process may not have the address space. */
bool texts_init(struct texts *texts);

/* Number of a text; 0 when it cannot be kept (table or file full). Over NL_REC_MAX_NAME bytes it is
 * cut. `pid` is that of the calling process. */
uint32_t texts_id(struct texts *texts, struct recfile *file, const char *text, size_t bytes,
                  uint32_t pid);

/* The same for a text that is known already, else 0: takes no lock. */
uint32_t texts_known(const struct texts *texts, const char *text, size_t bytes);

/* Writes all texts to `file`, which is new. */
void texts_rewrite(struct texts *texts, struct recfile *file);

#endif
