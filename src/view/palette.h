/*
 * palette — colours by what they mean (palette.def). Text plots and pages take them from here,
 * so that compute is the same blue everywhere. A colour is a number of enum nl_ink;
 * NL_INK_NONE is the text's own.
 */
#ifndef NL_PALETTE_H
#define NL_PALETTE_H

#include <stddef.h>

#include "base/str.h"

enum nl_ink {
    NL_INK_NONE,
#define NL_INK(ink, name, light, dark, ansi, mark, words) NL_INK_##ink,
#include "view/palette.def"
#undef NL_INK
    NL_INK_COUNT
};

struct nl_ink_def {
    const char *name;         /* "compute" */
    const char *light, *dark; /* "#rrggbb" */
    unsigned ansi;            /* of a terminal's 256 colours */
    char mark;                /* a letter that stands for it */
    const char *words;        /* for legends */
};

extern const struct nl_ink_def nl_inks[NL_INK_COUNT]; /* [0] is empty */

/* The i-th of many things that mean nothing by themselves (ranks, counters): inks in an order in
 * which neighbours differ most. */
enum nl_ink nl_ink_of_index(size_t index);

#endif
