/*
 * diffinner — what the files that make up a side use of each other; for no other room.
 */
#ifndef NL_COMPARE_DIFFINNER_H
#define NL_COMPARE_DIFFINNER_H

#include "compare/diffside.h"

/* The span of a device (of a rank, when `device` is NULL the first that has the rank) at a moment;
 * SIZE_MAX none. */
size_t diff_span_at(const struct diff_side *side, const struct diff_device *device, int64_t ts);
const struct diff_device *diff_device_of_rank(const struct diff_side *side, int64_t rank);
/* The first of a rank and an ordinal, or NULL. */
struct diff_device *diff_device_at(const struct diff_side *side, int64_t rank, int64_t ordinal);
/* Adds a device; side->devices has room. */
struct diff_device *diff_device_keep(struct diff_side *side, const struct diff_device *device);

/* diff_sides_allow of any number of sides, so that all are measured in one way. */
bool diff_all_allow(struct diff_side *const *sides, size_t count, enum diff_unit unit);

/* Its own steps instead of the marked ones: of one capture. */
void diff_drop_own_steps(struct diff_side *side);
bool diff_has_steady(const struct diff_side *side, const struct nl_step_group *group);
bool diff_has_steady_steps(const struct diff_side *side);

/* What one capture is compared by, cut out and added up, without rounding. */
void diff_capture_measure(struct diff_side *side, struct diff_parts *parts);
bool diff_capture_parts(struct diff_parts *parts, struct diff_side *side, enum diff_lens lens);
void diff_capture_own(struct diff_parts *parts, struct diff_side *side);

/* Adds a part; the pointer is good until the next. */
struct diff_part *diff_part_add(struct diff_parts *parts, enum diff_group group,
                                struct nl_str name);

/* Sets the means so that they add up to `mean`, the rounded quotient of their sum and `units`. */
void diff_parts_round(struct diff_part *items, size_t count, uint64_t units, int64_t mean);

/* A sum that stays at the largest number instead of overflowing: damaged files have such times. */
static inline int64_t diff_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? -INT64_MAX : INT64_MAX) : sum;
}

/* By bytes: < 0, 0 or > 0. */
int diff_text_order(struct nl_str a, struct nl_str b);

/* sum / units, rounded half up; 0 units give 0. */
int64_t diff_mean(int64_t sum, uint64_t units);

/* ---- parts that do not come from device work (diffsums.c) ---- */

/* Whether all captures have functions that can be compared; picks what was sampled. */
bool diff_functions_allow(struct diff_side *const *captures, size_t count);
/* Whether it has sums per layer of a compiled model. */
bool diff_layers_allow(struct diff_side *side);
void diff_parts_host(struct diff_parts *parts, struct diff_side *side);
void diff_parts_result(struct diff_parts *parts, struct diff_side *side);

#endif
