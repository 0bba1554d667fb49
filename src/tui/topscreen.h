/*
 * topscreen — the screen of `neurolens top`: a machine (capture/recorder/machine.h)
 * drawn into cells of any size.
 *
 * From top to bottom: a bar with the system, alerts if there are any, a line per GPU with plots
 * where there is room, the processes, a bar of keys. Where the screen is small columns go, then
 * plots, then GPUs (their number is shown), and some processes always stay.
 */
#ifndef NL_TOPSCREEN_H
#define NL_TOPSCREEN_H

#include "capture/recorder/machine.h"
#include "tui/cells.h"

enum top_sort { TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_GPU, TOP_BY_PID };

struct top_view {
    enum top_sort sort;
    bool paused, help;
    bool still;    /* one look: there is nothing to plot */
    size_t offset; /* of the first process shown */
    size_t page;   /* set by top_draw: processes that fit */
};

void top_draw(struct cells *cells, const struct machine *machine, struct top_view *view);

/* Takes a key (a character or enum terminal_key); false when it means to quit. */
bool top_key(struct top_view *view, int key);

/* The processes in the order of the view; nl_free it. */
const struct machine_process **top_order(const struct machine *machine, enum top_sort sort);

#endif
