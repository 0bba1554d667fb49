/*
 * diffinner — what other files that make up a side use of diffside.c; for no other room.
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

/* Its own steps instead of the marked ones: of one capture. */
void diff_drop_own_steps(struct diff_side *side);
bool diff_has_steady(const struct diff_side *side, const struct nl_step_group *group);

/* What one capture is compared by, cut out and added up, without rounding. */
void diff_capture_measure(struct diff_side *side, struct diff_parts *parts);

/* A sum that stays at the largest number instead of overflowing: damaged files have such times. */
static inline int64_t diff_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? -INT64_MAX : INT64_MAX) : sum;
}

/* sum / units, rounded half up; 0 units give 0. */
int64_t diff_mean(int64_t sum, uint64_t units);

#endif
