/*
 * wholebars — the whole that an answer is about, and how each device spends it: the sentence, the
 * bars and their shares have the same base. Private to the room.
 */
#ifndef NL_WHOLEBARS_H
#define NL_WHOLEBARS_H

#include "answer/devicewords.h"

/* Fills whole, whole_ns and bars of the verdict; devices in the order of the breakdown, the one
 * at hand always among them. */
void nl_whole_bars(struct nl_device_case *it);

#endif
