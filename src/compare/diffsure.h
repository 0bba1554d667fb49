/*
 * diffsure — whether two sides can be compared at all, and how sure it is that one is slower.
 *
 * First facts: device models, number of devices and ranks, element types, how alike the names of the
 * work are (Jaccard) and how much work there is. Some decide: where they disagree, nothing is said
 * about slower or faster. Where operators are recorded, their names decide and those of kernels do not:
 * one kernel in another's place is a change to be judged, another program is none. Then the shift of the logarithms of the steps' lengths (Hodges–Lehmann,
 * compare/shift.h). Steps of one capture are no replicates: captures differ by about DIFF_NOISE for
 * reasons that no step shows, so the interval is widened by that on both sides,
 *     se² = se_steps² + 2 DIFF_NOISE²,
 * and a verdict needs the whole interval on one side of 1. Without steps, or with too few, there is
 * no interval and no verdict.
 */
#ifndef NL_COMPARE_DIFFSURE_H
#define NL_COMPARE_DIFFSURE_H

#include "compare/diffpair.h"

#define DIFF_NOISE   0.01 /* standard deviation of one capture against the next */
#define DIFF_JACCARD 0.5  /* least share of names that both have */
#define DIFF_WORK    0.5  /* least ratio of the pieces of work */

enum diff_verdict {
    DIFF_SLOWER,
    DIFF_FASTER,
    DIFF_UNTOLD,  /* the interval holds 1 */
    DIFF_UNKNOWN, /* no interval */
    DIFF_INCOMPARABLE,
    DIFF_VERDICTS
};

struct diff_sureness {
    enum diff_verdict verdict;
    double ratio;     /* of medians-like: Hodges–Lehmann; of means without steps; NaN unknown */
    double low, high; /* 95 %; NaN unknown */
    double median_ratio;     /* of the steps' medians; NaN without */
    const char *reason;      /* why there is no verdict, or NULL; in the result's arena */
    struct nl_result *facts; /* table "comparability" */
};

/* A measured side (or one without a unit), its parts by name, and by operator where both sides have
 * operators recorded, else NULL. */
struct diff_judged {
    struct diff_side *side;
    struct diff_parts *parts, *operators;
};

void diff_judge(struct diff_sureness *sureness, const struct diff_judged *base,
                const struct diff_judged *changed);

const char *diff_verdict_text(enum diff_verdict verdict);

/* "step", "wall", … and what it means. */
const char *diff_unit_text(enum diff_unit unit);
const char *diff_unit_words(const struct diff_side *side);

#endif
