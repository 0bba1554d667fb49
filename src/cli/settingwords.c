/* KEY=VALUE, cut at the first "=". */
#include "cli/settingwords.h"

#include <string.h>

bool nl_setting_words(const struct nl_texts *words, struct nl_rundoc_setting **settings,
                      struct nl_arena *arena, struct nl_err *err)
{
    *settings = nl_arena_alloc(arena, (words->count + 1) * sizeof **settings);
    for (size_t i = 0; i < words->count; i++) {
        const char *equals = strchr(words->items[i], '=');
        if (!equals)
            return nl_fail(err, NL_USAGE, "--set: '%s' is not KEY=VALUE", words->items[i]);
        const char *word =
            nl_arena_text(arena, words->items[i], (size_t)(equals - words->items[i]));
        (*settings)[i] = (struct nl_rundoc_setting){nl_rundoc_setting_key(word, arena), equals + 1};
        if (!nl_rundoc_is_label((*settings)[i].key) &&
            !nl_rundoc_setting_check(&(*settings)[i], err))
            return false;
    }
    return true;
}
