/*
 * diff — two profiles side by side: by what they are compared, how much that changed, how sure it
 * is, and what the change is made of, so that the parts add up to it exactly.
 *
 * The answer is a report: sentences, then tables (nl_diff_sections[]). Which unit is compared, how
 * time is given to kernels and how means are rounded stands in compare/diffside.h, diffwork.h and
 * diffpair.h; how a verdict is reached in diffsure.h. Nothing here depends on the order of the two:
 * diff(A, B) is -diff(B, A).
 */
#ifndef NL_COMPARE_DIFF_H
#define NL_COMPARE_DIFF_H

#include "answer/report.h"
#include "compare/replicate.h"

/* Something known of a run that is not in its profile: "workload.batch_size" and "32". */
struct nl_diff_fact {
    const char *key, *value;
};

struct nl_diff_input {
    const struct nl_trace *trace; /* borrowed */
    struct nl_window window;
    const char *word;                   /* what the user calls it, for commands to type next */
    const char *all;                    /* the same of all captures of the side; NULL = `word` */
    const struct nl_diff_input *others; /* further captures of the same side */
    size_t other_count;
    const struct nl_diff_fact *facts;
    size_t fact_count;
    struct nl_noise noise; /* how captures of this program differ, by history */
};

/* Tables of the report, NULL-terminated. */
extern const char *const nl_diff_sections[];

/* The report of `changed` (B) against `base` (A). With `section` that table alone. *comparable is
 * false when nothing may be said about slower or faster: the report then says why. NULL with err on
 * NL_INTERRUPTED. `job` may be NULL. */
NL_MUST_CHECK struct nl_report *nl_diff_new(const struct nl_diff_input *base,
                                            const struct nl_diff_input *changed,
                                            const char *section, bool *comparable,
                                            struct nl_job *job, struct nl_err *err);

#endif
