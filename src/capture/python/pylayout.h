/*
 * pylayout — the memory layout of a CPython interpreter, per version (pylayout.def).
 *
 * Versions 3.13 and later describe themselves at the beginning of their runtime structure; that
 * description is believed only where it is sane. Versions that are not known have no layout: their
 * processes are not sampled, which is better than garbage.
 */
#ifndef PYLAYOUT_H
#define PYLAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYLAYOUT_NONE      UINT32_MAX
#define PYLAYOUT_MAX_FRAME 248u /* bytes of a frame; its fields begin within frame_size */
#define PYLAYOUT_WORDS     52u  /* 8-byte words of the runtime structure that pylayout_for wants */

/* How code offsets become lines. */
enum pylines { PYLINES_LNOTAB, PYLINES_PAIRS, PYLINES_LOCATIONS };

struct pylayout {
#define PYFIELD(name, v9, v10, v11, v12, v13, v14) uint32_t name;
#include "capture/python/pylayout.def"
#undef PYFIELD
    enum pylines lines;
    uint32_t at_scale; /* frame_at counts instructions of so many bytes; 0 = it is an address */
};

/* `version` as PY_VERSION_HEX, 0 = before 3.9; `words` are those of the runtime structure (of
 * version 0 none). On failure `why` says so. */
bool pylayout_for(struct pylayout *layout, uint32_t version, const uint64_t words[PYLAYOUT_WORDS],
                  char *why, size_t room);

#endif
