/*
 * runseries — one number of every run, in the order in which they were added:
 * what trends are made of.
 *
 * A metric is a fact by its name or the last part of it (runfield.h), `step.p50` or another
 * quantile of the steady steps, `op["NAME"].p50|mean|total|count`, or one of the words of rules
 * that the ledger has under another name (step.mean, kernels.count, memory.peak, idle.share …).
 * 100,000 runs take about 0.1 s: every column is read once from an index.
 */
#ifndef NL_RUNSERIES_H
#define NL_RUNSERIES_H

#include "ledger/ledger.h"
#include "tables/result.h"

struct nl_series_run {
    int64_t run, added_ns;
    double value;
    const char *id, *commit, *branch, *host; /* NULL unknown */
};

struct nl_series {
    struct nl_series_run *items;
    size_t count, cap;
    size_t without;   /* runs that do not have the metric */
    const char *name; /* what the metric is called in the ledger */
    enum nl_meaning meaning;
    struct nl_arena arena;
};

/* Filters as of `ls` (runlist.h). NL_USAGE when no run can have such a
 * metric. Release in any case. */
NL_MUST_CHECK bool nl_ledger_series(struct nl_ledger *ledger, const char *metric,
                                    const char *const *filters, size_t filter_count,
                                    struct nl_series *series, struct nl_err *err);
void nl_series_release(struct nl_series *series);

#endif
