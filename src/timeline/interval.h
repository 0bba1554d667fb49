/*
 * interval — sets of half-open time intervals [start, end) and the algebra over them. The one
 * implementation of every breakdown, used natively by analyses and from SQL.
 *
 * A struct nl_intervals is a growable array of intervals. "Normal" means sorted by start, not
 * empty, and disjoint with gaps (touching ones joined). All operators take normal sets and give
 * normal sets; nl_intervals_normalise makes one of any set. Cost: O(n) for operators, O(n log n)
 * (O(n) when already sorted) to normalise.
 */
#ifndef NL_INTERVAL_H
#define NL_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_interval {
    int64_t start, end;
};

struct nl_intervals {
    struct nl_interval *items;
    size_t count, cap;
};

void nl_intervals_init(struct nl_intervals *set);
void nl_intervals_release(struct nl_intervals *set);
/* Adds [start, end); intervals with end <= start are ignored. */
/* Room for that many in all, so that the set is not copied while it grows. */
void nl_intervals_reserve(struct nl_intervals *set, size_t count);
void nl_intervals_add(struct nl_intervals *set, int64_t start, int64_t end);
void nl_intervals_normalise(struct nl_intervals *set);

/* `out` must be initialised and not be an input; its old contents are dropped. */
void nl_intervals_union(const struct nl_intervals *a, const struct nl_intervals *b,
                        struct nl_intervals *out);
void nl_intervals_intersect(const struct nl_intervals *a, const struct nl_intervals *b,
                            struct nl_intervals *out);
void nl_intervals_subtract(const struct nl_intervals *a, const struct nl_intervals *b,
                           struct nl_intervals *out);
/* What of [start, end) is not covered. */
void nl_intervals_gaps(const struct nl_intervals *set, int64_t start, int64_t end,
                       struct nl_intervals *out);
int64_t nl_intervals_length(const struct nl_intervals *set);
/* Length of the intersection without building it. */
int64_t nl_intervals_overlap(const struct nl_intervals *a, const struct nl_intervals *b);
/* Index of the interval that contains ts, or -1. */
ptrdiff_t nl_intervals_find(const struct nl_intervals *set, int64_t ts);

#endif
