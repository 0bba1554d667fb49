/*
 * settingwords — the words of --set, KEY=VALUE, as settings of a run.
 */
#ifndef NL_SETTINGWORDS_H
#define NL_SETTINGWORDS_H

#include "base/mem.h"
#include "cli/options.h"
#include "rundoc/rundoc.h"

/* As many settings as words, in the arena, each checked: NL_USAGE for what no run has. */
NL_MUST_CHECK bool nl_setting_words(const struct nl_texts *words,
                                    struct nl_rundoc_setting **settings, struct nl_arena *arena,
                                    struct nl_err *err);

#endif
