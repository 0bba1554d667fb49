/*
 * diffnoise — which rows of a diff changed beyond what they vary by themselves.
 */
#ifndef NL_COMPARE_DIFFNOISE_H
#define NL_COMPARE_DIFFNOISE_H

#include "compare/diffpair.h"

/* Finds for every row how much it varies by itself, and flags those beyond it:
 * Benjamini–Hochberg at 5 % over all rows, and at least DIFF_MATERIAL of A's time. Captures
 * differ by `noise` besides. */
void diff_rows_judge(struct diff_rows *rows, const struct diff_side *base,
                     const struct diff_side *changed, const struct nl_noise *noise);

/* The same of the parts of the time, by group: sums of the rows. Their captures, where there is one
 * a side, may differ by more than steps do (partnoise.h). */
void diff_groups_judge(struct diff_row groups[DIFF_GROUPS], const struct diff_rows *rows,
                       const struct diff_side *base, const struct diff_side *changed,
                       const struct nl_noise *noise);

#endif
