/* causes — every cause by its name. Not in cause.h: few files name one, and a new one would
 * compile all others again. */
#ifndef NL_CAUSES_H
#define NL_CAUSES_H

#include "findings/cause.h"

#define NL_CAUSE(name, level, title) extern const struct nl_cause nl_cause_##name;
#include "findings/causes.def"

#endif
