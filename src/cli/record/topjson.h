/*
 * topjson — one look at a machine as JSON: `neurolens top --once --format json`. docs/top.md lists
 * the members; they are only ever added to.
 */
#ifndef NL_TOPJSON_H
#define NL_TOPJSON_H

#include <stdio.h>

#include "capture/recorder/machine.h"
#include "tui/topscreen.h"

/* At most `limit` processes, in the order of `sort`. */
void nl_top_json(FILE *stream, const struct machine *machine, enum top_sort sort, size_t limit);

#endif
