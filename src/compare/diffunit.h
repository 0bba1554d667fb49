/*
 * diffunit — by which unit two sides of a diff can be compared.
 */
#ifndef NL_COMPARE_DIFFUNIT_H
#define NL_COMPARE_DIFFUNIT_H

#include "compare/diffside.h"

/* Whether two sides can be compared by a unit; settles for both which kind of ranges, or which
 * event of samples, is meant. The order of the two does not matter. */
bool diff_sides_allow(struct diff_side *base, struct diff_side *changed, enum diff_unit unit);

/* diff_sides_allow of any number of sides, so that all are measured in one way. */
bool diff_all_allow(struct diff_side *const *sides, size_t count, enum diff_unit unit);

bool diff_has_steady_steps(const struct diff_side *side);

#endif
