/*
 * heldclock — when a device held its clock down, why, and what that took from the time it computed:
 * from readings of the clock and of the driver's reasons (bits of nvmlClocksEventReasons), as
 * `neurolens run` records them. Private to findings.
 *
 * A reading holds as timeline/readings.h says. Loss: time computing under the reason × (1 − clock /
 * highest clock), which is what work that follows the clock would win.
 */
#ifndef NL_HELDCLOCK_H
#define NL_HELDCLOCK_H

#include "findings/cause.h"

enum nl_clock_reason { NL_CLOCK_HEAT, NL_CLOCK_POWER, NL_CLOCK_SETTING, NL_CLOCK_REASONS };

/* Bits of the driver's reasons. A reading with bits of several reasons counts for the first. */
extern const uint64_t nl_clock_reason_bits[NL_CLOCK_REASONS];

struct nl_held_clock {
    uint32_t clock, reasons; /* rows of counter_series; NL_NULL_ROW: not recorded */
    double top_mhz;          /* highest reading of the recording, or what the device can do */
    int64_t computing_ns;    /* of the scene's computing, where both are known */
    struct {
        int64_t held_ns; /* computing under the reason */
        double lost_ns;  /* of it */
    } by[NL_CLOCK_REASONS];
};

/* Readings in the scene's window that have one of `bits`, and the clocks read after
 * them and before the next. */
struct nl_held_readings {
    uint64_t reasons, with_bits, clocks;
    double sum_mhz;
};
struct nl_held_readings nl_held_readings(const struct nl_scene *scene,
                                         const struct nl_held_clock *held, uint64_t bits);

/* Intervals of computing under `wanted` go into `where`, which may be NULL. */
struct nl_held_clock nl_held_clock(const struct nl_scene *scene, enum nl_clock_reason wanted,
                                   struct nl_intervals *where);

#endif
