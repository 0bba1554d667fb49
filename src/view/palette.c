/* palette — see palette.h. */
#include "view/palette.h"

const struct nl_ink_def nl_inks[NL_INK_COUNT] = {
    {NULL, NULL, NULL, 0, ' ', NULL},
#define NL_INK(ink, name, light, dark, ansi, mark, words) {name, light, dark, ansi, mark, words},
#include "view/palette.def"
#undef NL_INK
};

enum nl_ink nl_ink_of_part(struct nl_str part)
{
    static const struct {
        const char *prefix;
        enum nl_ink ink;
    } parts[] = {
        {"compute", NL_INK_compute},
        {"exposed_comm", NL_INK_comm},
        {"comm", NL_INK_comm},
        {"exposed_copy", NL_INK_copy},
        {"copy", NL_INK_copy},
        {"migration", NL_INK_copy},
        {"exposed_memset", NL_INK_memset},
        {"memset", NL_INK_memset},
        {"idle", NL_INK_idle},
        {"before_device", NL_INK_idle},
        {"after_device", NL_INK_idle},
        {"host", NL_INK_host},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (nl_str_starts(part, parts[i].prefix))
            return parts[i].ink;
    return NL_INK_NONE;
}

enum nl_ink nl_ink_of_index(size_t index)
{
    static const enum nl_ink order[] = {NL_INK_compute, NL_INK_copy,   NL_INK_good,
                                        NL_INK_comm,    NL_INK_bad,    NL_INK_host,
                                        NL_INK_warm,    NL_INK_memset, NL_INK_idle};
    return order[index % (sizeof order / sizeof *order)];
}
