/*
 * topgpus — the part of topscreen about GPUs: a line each with the columns
 * there is room for, and plots.
 */
#ifndef NL_TOPGPUS_H
#define NL_TOPGPUS_H

#include "tui/topscreen.h"

/* Draws from `row` on, `room` rows at most; returns how many it took. With `plots`
 * where there is room for them. */
unsigned top_draw_gpus(struct cells *cells, const struct machine *machine, unsigned row,
                       unsigned room, bool plots);

/* Words of the alerts that are on, joined with ", ". */
void top_alert_words(const struct alerts *alerts, char *out, size_t room);

#endif
