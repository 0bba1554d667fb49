/*
 * partnoise — how surely a part of the mean step is known: from that part of each
 * step, whatever the step does.
 *
 * `se` is the standard error of the logarithm of the part's mean ns a step, or of its share of the
 * steps; of a share from part - share × length of each step, which adds up to 0 (the error of a
 * ratio of sums, to the first order).
 *
 * `wider`: one capture a side does not show how captures differ, and NL_NOISE_SINGLE is what steps
 * do whose own deviation is NL_PART_CALM. A part whose steps vary more than that and than the whole
 * step may differ between captures by as many times more.
 */
#ifndef NL_COMPARE_PARTNOISE_H
#define NL_COMPARE_PARTNOISE_H

#include "compare/diffside.h"

#define NL_PART_CALM 0.01

struct nl_part_noise {
    double se;    /* NaN with under 4 steps, or where the part is nothing */
    double wider; /* >= 1 */
};

/* `group` up to DIFF_IDLE, of a measured capture whose steps were cut out (by_step). */
struct nl_part_noise nl_part_noise_of(const struct diff_side *capture, enum diff_group group,
                                      bool share);

#endif
