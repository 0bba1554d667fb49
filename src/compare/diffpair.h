/*
 * diffpair — which part of one side is which of the other, and what changed of it.
 *
 * Parts are paired within their group, by the first of these that fits:
 *
 *   name        the same name
 *   signature   the same without template arguments and instance numbers (folded)
 *   place       left over on both sides between the same paired neighbours in the order of launches
 *   operator    left over on both sides and launched by the same operator: first of the same
 *               category, then of any
 *   category    left over on both sides
 *
 * The last three follow from the counts on each side: one for one is renamed (same count, a call
 * takes about as long) or replaced, several for one fused, one for several split, else replaced.
 * Several that pair are one row: its times are those of all. What is left is removed or added.
 * Whatever the pairing, the changes add up to the change of the time.
 *
 * A change is split: change = by count + by time, exactly. With t ns per step from c calls per
 * step, by count = ½ (c_B - c_A)(t_A / c_A + t_B / c_B), each of the two products rounded half
 * away from 0 (the mean of changing the count first and the time first; Shapley's value). What is
 * on one side only is all count.
 */
#ifndef NL_COMPARE_DIFFPAIR_H
#define NL_COMPARE_DIFFPAIR_H

#include "compare/diffside.h"

enum diff_match {
    DIFF_SAME,
    DIFF_RENAMED, /* one for one, at the same count and about the same time a call */
    DIFF_FUSED,   /* several became one */
    DIFF_SPLIT,   /* one became several */
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
    size_t base_parts, changed_parts;   /* names on each side */
    uint64_t base_count, changed_count; /* NL_NULL_U64 unknown */
    int64_t base_gross, changed_gross;  /* whole durations of all calls, whatever ran meanwhile */
    int64_t base_blocks[DIFF_BLOCKS], changed_blocks[DIFF_BLOCKS];
    double low, high;            /* 95 % of the change, ns per unit; NaN not known */
    double p;                    /* of no change */
    bool flagged;                /* beyond its own noise, and large enough to matter */
    int64_t base_ns, changed_ns; /* per unit */
    int64_t by_count, by_time;   /* NL_NULL_I64 where counts are not known, and of idle time */
};

struct diff_rows {
    struct diff_row *items; /* largest change first */
    size_t count, cap;
    struct nl_arena arena;
};

/* `base` and `changed` were measured by the same unit. `rows` is zeroed. Parts get their owners
 * when any are left over and `own`. */
void diff_pair(struct diff_rows *rows, struct diff_side *base_side, struct diff_parts *base,
               struct diff_side *changed_side, struct diff_parts *changed, bool own);
void diff_rows_release(struct diff_rows *rows);

#define DIFF_MATERIAL 0.005

/* Whole length of a call; NaN when there are none. */
static inline double diff_call_ns(int64_t gross, uint64_t count)
{
    return count && count != NL_NULL_U64 && gross > 0 ? (double)gross / (double)count
                                                      : __builtin_nan("");
}

/* "same", "renamed", … */
const char *diff_match_text(enum diff_match match);
const char *diff_group_text(enum diff_group group);

#endif
