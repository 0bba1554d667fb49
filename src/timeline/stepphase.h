/*
 * stepphase — warm-up and steady steps, distinguished by their lengths.
 */
#ifndef NL_STEPPHASE_H
#define NL_STEPPHASE_H

#include "timeline/stepfind.h"

/* Sets the phases of steps in order of time, from their lengths and load_ns (stepphase.c). A first
 * step is warm-up while its robust z-score (distance from the median over 1.4826 × the median
 * absolute deviation, at least 1 % of the median) is over 3.5 (Iglewicz and Hoaglin 1993): longer
 * while things are set up, or shorter while the CPU runs ahead and fills the launch queue. */
void nl_steps_set_phases(struct nl_found_step *steps, size_t count);

#endif
