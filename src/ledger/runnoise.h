/*
 * runnoise — how much captures of one program differ on one host, learnt from the runs
 * that the ledger has of it.
 *
 * Of the typical (median) steady steps x of the runs in the order of adding, as logarithms: s² = Σ
 * d² / (2 (n - 1)), d the difference of a run and the next (von Neumann, Kent, Bellinson, Hart,
 * Ann. Math. Stat. 12, 1941). So a level that changed once counts once and not in every run; and
 * differences over 3.5 robust deviations are cut to that, so that it hardly counts at all. Its
 * degrees of freedom are 2 (n - 1)² / (3 n - 4), from the variance given there.
 */
#ifndef NL_RUNNOISE_H
#define NL_RUNNOISE_H

#include "ledger/runhistory.h"

#define NL_MIN_RUNNOISE 6 /* runs */

struct nl_runnoise {
    double sd, df; /* of logarithms; NaN where there are too few runs */
    size_t runs;   /* that it was learnt from */
};

/* Of logarithms in order. */
struct nl_runnoise nl_runnoise_of(const double *logs, size_t count);

/* From the newest runs like `who` without those of `except`. */
NL_MUST_CHECK bool nl_runnoise_learn(struct nl_ledger *ledger, const struct nl_history_who *who,
                                     const int64_t *except, size_t except_count,
                                     struct nl_runnoise *noise, struct nl_err *err);

#endif
