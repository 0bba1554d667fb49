/*
 * diffsure — whether two sides can be compared at all, and how sure it is that one is slower.
 *
 * First facts: device models, numbers of devices and ranks, workload (batch, shapes, precision),
 * how alike the names of the work are (Jaccard) and how much work there is. Some decide: where they
 * disagree, nothing is reported about slower or faster. Where operators are recorded, their names
 * decide and those of kernels do not: one kernel in another's place is a change to be judged,
 * another program is none. Facts that decide "in check" stop the gate alone: who compares two
 * versions of a framework by hand wants to see what that changed.
 *
 * Then the shift of the typical step (its median) and of the mean step between captures
 * (compare/replicate.h). Slower or faster: the whole 95 % interval of the typical step is on one
 * side of 1; else that of the mean; else many more steps of one side are slow (Fisher's exact test,
 * p < DIFF_TAIL_P) and the mean differs by DIFF_TAIL_MEAN. No change: the interval is within ±
 * DIFF_RESOLVED. Else the captures do not decide. Without steps there is one measurement a capture:
 * with two captures or more on both sides these are judged alike; with fewer there is no interval.
 */
#ifndef NL_COMPARE_DIFFSURE_H
#define NL_COMPARE_DIFFSURE_H

#include "compare/diffpair.h"

#define DIFF_JACCARD   0.5  /* least share of names that both have */
#define DIFF_WORK      0.5  /* least ratio of the operations */
#define DIFF_RESOLVED  0.05 /* an interval within this rules out a change that matters */
#define DIFF_TAIL_P    0.01
#define DIFF_TAIL_MEAN 0.02

enum diff_verdict {
    DIFF_SLOWER,
    DIFF_FASTER,
    DIFF_NO_CHANGE,
    DIFF_UNTOLD,  /* the interval is too wide */
    DIFF_UNKNOWN, /* no interval */
    DIFF_INCOMPARABLE,
    DIFF_VERDICTS
};

/* What a verdict of slower or faster stands on. */
enum diff_basis { DIFF_BY_TYPICAL, DIFF_BY_MEAN, DIFF_BY_TAIL };

/* Columns of the table "comparability". */
enum {
    DIFF_FACT_NAME,
    DIFF_FACT_BASE,
    DIFF_FACT_NEW,
    DIFF_FACT_AGREES,
    DIFF_FACT_DECIDES,
    DIFF_FACT_COLUMNS
};

struct diff_sureness {
    enum diff_verdict verdict;
    enum diff_basis basis;
    double ratio;        /* of typical steps; of means without steps; NaN unknown */
    double low, high;    /* 95 %; NaN unknown */
    double median_ratio; /* of the medians of all steps; NaN without */
    double mean_ratio, mean_low, mean_high; /* of mean steps */
    double p95_ratio;                       /* of the captures' 95th percentiles */
    size_t slow[2], steps[2];               /* steps over NL_SLOW_STEP medians of their capture */
    struct nl_apart apart;                  /* of typical steps */
    size_t more;             /* captures a side that would decide; SIZE_MAX unknown */
    const char *outlying;    /* captures far from their side's others, or NULL */
    const char *reason;      /* why there is no verdict, or NULL; in the result's arena */
    struct nl_result *facts; /* table "comparability" */
};

/* A measured side (or one without a unit), its parts by name, and by operator where both sides have
 * operators recorded, else NULL. */
struct diff_judged {
    struct diff_side *side;
    struct diff_parts *parts, *operators;
    const struct nl_diff_input *facts; /* what is known of it besides */
};

/* The table of facts; `against` gets those that decide and disagree. */
void diff_find_facts(struct diff_sureness *sureness, const struct diff_judged *base,
                     const struct diff_judged *changed, struct nl_buf *against);

/* Of them, which work was done and how much of it; `least`: share of names that both must have. */
void diff_find_work_facts(struct diff_sureness *sureness, const struct diff_judged *base,
                          const struct diff_judged *changed, double least, struct nl_buf *against);

/* "step", "wall", … and what it means. */
const char *diff_unit_text(enum diff_unit unit);
const char *diff_unit_words(const struct diff_side *side);

#endif
