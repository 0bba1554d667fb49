/* view — the list of renderers. */
#include "view/view.h"

#include <string.h>

const struct nl_view *const nl_views[] = {
#define NL_VIEW(name) &nl_view_##name,
#include "view/views.def"
#undef NL_VIEW
    NULL};

const struct nl_view *nl_view_find(const char *name)
{
    for (size_t i = 0; nl_views[i]; i++)
        if (!strcmp(nl_views[i]->name, name))
            return nl_views[i];
    return NULL;
}

unsigned nl_view_plot_height(unsigned screen)
{
    enum { MIN_LINES = 8, MAX_LINES = 30 };
    unsigned half = screen / 2;
    return !screen ? 0 : half < MIN_LINES ? MIN_LINES : half > MAX_LINES ? MAX_LINES : half;
}

bool nl_view_is_series(const struct nl_result *result)
{
    return !strcmp(result->name, "bandwidth");
}
