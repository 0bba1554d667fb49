/* sections — see sections.h. */
#include "cli/sections.h"

#include <string.h>

#include "base/nearest.h"

bool nl_section_check(const char *of, const char *const *names, const char *section,
                      struct nl_err *err)
{
    struct nl_nearest nearest;
    if (!section)
        return true;
    nl_nearest_init(&nearest, section);
    for (const char *const *name = names; *name; name++) {
        if (strcmp(*name, section) == 0)
            return true;
        nl_nearest_offer(&nearest, *name);
    }
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_USAGE, "--section: %s has no table '%s'; %s%s", of, section,
                   best ? "did you mean " : "the first is ", best ? best : names[0]);
}
