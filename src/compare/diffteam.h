/*
 * diffteam — a side of a diff with all its captures: opened, measured, and its parts.
 */
#ifndef NL_COMPARE_DIFFTEAM_H
#define NL_COMPARE_DIFFTEAM_H

#include "compare/diffside.h"

/* With all its captures: itself, when it is one. */
void diff_team_open(struct diff_side *side, const struct nl_diff_input *input);

/* Cuts out what is compared by the unit that was allowed, adds it up, and fills `parts`, which
 * is zeroed, by name. False, with the side without a unit again and no parts, when its times are
 * too long to be added up. */
NL_MUST_CHECK bool diff_side_measure(struct diff_side *side, enum diff_unit unit,
                                     struct diff_parts *parts);

/* The parts of a measured side of device work (units step, wall, work) by another lens; they add up
 * to the side's sum and mean. `parts` is zeroed. False when nothing of that kind was recorded. */
bool diff_parts_make(struct diff_parts *parts, struct diff_side *side, enum diff_lens lens);
/* Fills `owner` of the parts of lens name, where operators were recorded. */
void diff_parts_own(struct diff_parts *parts, struct diff_side *side);

#endif
