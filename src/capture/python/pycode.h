/*
 * pycode — code objects of another process by their address, and the frames
 * "function\tfile\tline" that they make. What was read once is kept for as long as the code
 * object at that address is the same one.
 */
#ifndef PYCODE_H
#define PYCODE_H

#include "base/map.h"
#include "base/mem.h"
#include "capture/python/pyfind.h"

struct pycode_entry;

struct pycode {
    struct pymem *mem;
    const struct pyfind *found;
    struct pycode_entry **entries;
    struct nl_idmap by_address; /* of entries */
    size_t count, cap, table_bytes;
    const char **texts;
    struct nl_lookup text_rows;
    size_t text_count, text_cap;
    struct nl_arena arena;
    uint64_t overflow; /* frames that share a name: there are too many */
};

void pycode_init(struct pycode *code, struct pymem *mem, const struct pyfind *found);
void pycode_release(struct pycode *code);

/* Before a stack: makes room, so that entries stay until the next call. */
void pycode_begin(struct pycode *code);
/* Entries of the code objects at `addresses`, read anew: entries[i] is NULL where there is none. */
void pycode_find(struct pycode *code, const uint64_t *addresses, struct pycode_entry **entries,
                 size_t count);
/* The frame at an instruction, as frames store it. Lives as long as `code`. */
const char *pycode_frame(struct pycode *code, struct pycode_entry *entry, uint64_t at);

#endif
