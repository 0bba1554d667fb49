/* analyses — every analysis by its name. Not in analyze.h: few files name one, and a new one would
 * compile all others again. */
#ifndef NL_ANALYSES_H
#define NL_ANALYSES_H

#include "tables/analyze.h"

#define NL_ANALYSIS(name) extern const struct nl_analysis nl_analysis_##name;
#include "tables/analyses.def"
#undef NL_ANALYSIS

#endif
