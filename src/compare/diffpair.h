/*
 * diffpair — which part of one side is which of the other, and what changed of it.
 *
 * Parts are paired within their group, by the first of these that fits:
 *
 *   name        the same name
 *   short_name  the same without signature and numbers of instances (folded)
 *   operator    left over on both sides, of the same category and launched by the same operator:
 *               one implementation replaced another
 *   category    the same where neither side has operators recorded
 *
 * Several that fold to the same become one row. What is left is removed or added. Whatever the
 * pairing, the changes add up to the change of the time.
 *
 * A change is split: change = by count + by time, exactly. With t ns per step from c calls per step,
 * by count = ½ (c_B - c_A)(t_A / c_A + t_B / c_B), each of the two products rounded half away from 0
 * (the mean of changing the count first and the time first; Shapley's value). What is on one side
 * only is all count.
 */
#ifndef NL_COMPARE_DIFFPAIR_H
#define NL_COMPARE_DIFFPAIR_H

#include "compare/diffside.h"

enum diff_match {
    DIFF_SAME,
    DIFF_RENAMED,
    DIFF_REPLACED,
    DIFF_REPLACED_CATEGORY,
    DIFF_REMOVED,
    DIFF_ADDED,
    DIFF_MATCHES
};

struct diff_row {
    enum diff_group group;
    enum diff_match match;
    struct nl_str base, changed; /* names; ptr NULL when on the other side only */
    struct nl_str owner;
    uint8_t category;
    uint64_t base_count, changed_count; /* NL_NULL_U64 unknown */
    int64_t base_ns, changed_ns;        /* per unit */
    int64_t by_count, by_time; /* NL_NULL_I64 where counts are not known, and of idle time */
};

struct diff_rows {
    struct diff_row *items; /* largest change first */
    size_t count, cap;
    struct nl_arena arena;
};

/* `base` and `changed` were measured by the same unit. `rows` is zeroed. Parts get their owners when
 * any are left over and `own`. */
void diff_pair(struct diff_rows *rows, struct diff_side *base_side, struct diff_parts *base,
               struct diff_side *changed_side, struct diff_parts *changed, bool own);
void diff_rows_release(struct diff_rows *rows);

/* "same", "renamed", … */
const char *diff_match_text(enum diff_match match);
const char *diff_group_text(enum diff_group group);

#endif
