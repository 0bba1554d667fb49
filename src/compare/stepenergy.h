/*
 * stepenergy — the energy that the devices of a side took in the time compared, from telemetry read
 * meanwhile.
 *
 * A counter of energy (J or mJ, as NVML and amdgpu have it) is taken before readings of power (W;
 * an instantaneous one before averages; never a limit). Between two readings energy grows evenly
 * and power changes evenly, so both integrals are exact sums of trapezoids. Readings further
 * apart than five times their median distance say nothing of the time between them. Where
 * readings cover less than 80 % of the time compared, the energy is not known; else the rest is
 * assumed to be like what they cover.
 */
#ifndef NL_COMPARE_STEPENERGY_H
#define NL_COMPARE_STEPENERGY_H

#include "compare/diffside.h"

#define DIFF_MIN_ENERGY_SHARE 0.8

struct diff_energy {
    /* a step, of all devices together (without steps: all that is compared); NaN not known */
    double joules;
    double watts;   /* mean of all devices together; NaN */
    double share;   /* of the time compared, that readings cover; NaN when there is none */
    size_t devices; /* that were read, */
    size_t of;      /* of so many */
};

/* `side` is measured. */
struct diff_energy diff_energy_of(struct diff_side *side);

#endif
