/* palette — see palette.h. */
#include "view/palette.h"

const struct nl_ink_def nl_inks[NL_INK_COUNT] = {
    {NULL, NULL, NULL, 0, ' ', NULL},
#define NL_INK(ink, name, light, dark, ansi, mark, words) {name, light, dark, ansi, mark, words},
#include "view/palette.def"
#undef NL_INK
};

enum nl_ink nl_ink_of_index(size_t index)
{
    static const enum nl_ink order[] = {NL_INK_compute, NL_INK_copy,   NL_INK_good,
                                        NL_INK_comm,    NL_INK_bad,    NL_INK_host,
                                        NL_INK_warm,    NL_INK_memset, NL_INK_idle};
    return order[index % (sizeof order / sizeof *order)];
}
