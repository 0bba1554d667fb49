/*
 * elfsymbols — functions and source lines of one ELF file (program or
 * library), by libelf and libdw.
 *
 * Nothing is fetched from the network: of separate debug files only those under
 * /usr/lib/debug are read.
 */
#ifndef ELFSYMBOLS_H
#define ELFSYMBOLS_H

#include "base/str.h"

struct elfsymbols;

/* Why there is none. */
enum elfsymbols_state {
    ELFSYMBOLS_THERE,
    ELFSYMBOLS_MISSING, /* no such file, or not to be read */
    ELFSYMBOLS_CHANGED, /* another file by now: its id differs */
    ELFSYMBOLS_STATES
};

struct elfsymbols_place {
    const char *function; /* as the linker names it; NULL = no symbol there */
    const char *file;     /* NULL = no line known */
    uint32_t line;
};

/* `id` is what the file was when it was recorded: a build id in hex, or "~bytes-mtime" of a file
 * without one; "" = not given, and then nothing is read. NULL: *state says why. */
struct elfsymbols *elfsymbols_open(const char *path, struct nl_str id,
                                   enum elfsymbols_state *state);
void elfsymbols_close(struct elfsymbols *symbols);

/* The symbol at an offset in the file. Texts live as long as the symbols. */
void elfsymbols_find(struct elfsymbols *symbols, uint64_t file_offset,
                     struct elfsymbols_place *place);

#endif
