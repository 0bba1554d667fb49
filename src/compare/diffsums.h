/*
 * diffsums — parts of a side that do not come from device work.
 */
#ifndef NL_COMPARE_DIFFSUMS_H
#define NL_COMPARE_DIFFSUMS_H

#include "compare/diffside.h"

/* Whether all captures have functions that can be compared; picks what was sampled. */
bool diff_functions_allow(struct diff_side *const *captures, size_t count);
/* Whether it has sums per layer of a compiled model. */
bool diff_layers_allow(struct diff_side *side);
void diff_parts_host(struct diff_parts *parts, struct diff_side *side);
void diff_parts_result(struct diff_parts *parts, struct diff_side *side);

#endif
