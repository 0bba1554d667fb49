/*
 * trendalert — notifies a command or a web address of a change for the worse, when asked to (`trend
 * --alert`, `--webhook`), once for each change.
 *
 * What was reported is a line "METRIC RUN" in the file trend-alerts of the ledger's folder: a
 * nightly job reports a change once, not every night. A command gets the alert as JSON on its
 * standard input (neurolens.alert/1) and its sentence as $NEUROLENS_ALERT; an address gets the JSON
 * by POST, sent by the curl program.
 */
#ifndef NL_TRENDALERT_H
#define NL_TRENDALERT_H

#include "cli/command.h"

/* Who gets it; NULL = not asked for. */
struct nl_trend_listeners {
    const char *command, *webhook;
};

struct nl_trend_alert {
    const char *metric, *run, *sentence;
    const char *commit_before, *commit; /* NULL not known */
    double before, after;               /* levels */
    const char *unit;
};

/* Nothing when neither was asked for, or it was reported before. NL_ENVIRONMENT when the command
 * fails or the address does not answer: then the next call tries again. */
NL_MUST_CHECK bool nl_trend_alert_send(const struct nl_trend_alert *alert,
                                       const struct nl_trend_listeners *to,
                                       const struct nl_call *call, struct nl_err *err);

#endif
