/*
 * diffparts — the parts that a side of a diff is made of.
 */
#ifndef NL_COMPARE_DIFFPARTS_H
#define NL_COMPARE_DIFFPARTS_H

#include "compare/diffside.h"

void diff_parts_release(struct diff_parts *parts);

/* The parts of one capture, without rounding; and their owners. */
bool diff_capture_parts(struct diff_parts *parts, struct diff_side *side, enum diff_lens lens);
void diff_capture_own(struct diff_parts *parts, struct diff_side *side);

/* Adds a part; the pointer is good until the next. */
struct diff_part *diff_part_add(struct diff_parts *parts, enum diff_group group,
                                struct nl_str name);
/* Sets the means so that they add up to `mean`, the rounded quotient of their sum and `units`. */
void diff_parts_round(struct diff_part *items, size_t count, uint64_t units, int64_t mean);

#endif
