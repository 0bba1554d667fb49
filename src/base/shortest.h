/*
 * shortest — the shortest decimal that reads back as the same double, in little time.
 */
#ifndef NL_SHORTEST_H
#define NL_SHORTEST_H

#include "base/units.h"

/* The shortest of 15 to 17 digits that reads back as the same number, which is
 * finite: "0.1", "1e+300". Returns `out`. */
const char *nl_format_shortest(char out[NL_UNIT_TEXT], double value);

#endif
