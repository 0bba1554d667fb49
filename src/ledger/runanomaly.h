/*
 * runanomaly — what is unusual of a run: each of its metrics against the runs that are
 * its history (runhistory.h).
 *
 * A run is judged when it is added or its facts change, against the runs before it; what was found
 * stands in the table `anomalies`, and how many runs it was compared with in `histories`. So lists
 * of any length only read it.
 *
 * Unusual is a metric whose robust z is above 3.5 and that differs from the median of its history
 * by more than 5 % (shares by a point, too): z = (value - median) / s, with s = 1.4826 MAD, but
 * never less than 1 % of the median, since captures of one program differ by that anyway
 * (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993; the factor makes MAD the
 * deviation of a normal distribution).
 */
#ifndef NL_RUNANOMALY_H
#define NL_RUNANOMALY_H

#include "base/job.h"
#include "ledger/ledger.h"

/* One value against its history; sorts `history`. */
struct nl_anomaly {
    double usual, spread; /* median, s */
    double z;             /* NaN where s is 0 */
    double change;        /* of the median; NaN where that is 0 */
    bool unusual;
};
struct nl_anomaly nl_anomaly_of(double value, double *history, size_t count, bool is_share);

/* Inside a transaction: judges the run anew. */
NL_MUST_CHECK bool nl_runanomaly_judge(struct nl_ledger *ledger, int64_t run, struct nl_err *err);

/* Judges the runs that older versions added, the oldest first. */
NL_MUST_CHECK bool nl_runanomaly_judge_rest(struct nl_ledger *ledger, struct nl_job *job,
                                            struct nl_err *err);

/* A sentence for people, in `arena`: what is unusual, that nothing is, or why it is unknown. */
const char *nl_runanomaly_sentence(struct nl_ledger *ledger, int64_t run, struct nl_arena *arena,
                                   struct nl_err *err);

#endif
