/*
 * ledgercheck — is the ledger whole? (`neurolens ledger check`)
 *
 * Looked at: the database's pages and references; every artefact that a run needs: is it
 * there, and is its content what its name says; artefacts that no run needs; cards (runcard.h)
 * that are missing, differ from the rows, or belong to no run. Nothing is changed. What is
 * wrong is a row of the result
 *
 *     what     database | artefact | orphan | card
 *     run      id of the run it concerns, or NULL
 *     detail   what is wrong, in words
 *     next     what to do about it
 *
 * and the note sums up what was looked at.
 */
#ifndef NL_LEDGERCHECK_H
#define NL_LEDGERCHECK_H

#include "base/job.h"
#include "ledger/ledger.h"
#include "tables/result.h"

struct nl_ledger_check_options {
    bool quick; /* sizes instead of contents of artefacts, no pages of the database */
};

/* NULL with err when the ledger cannot be inspected at all, or the job was cancelled. */
struct nl_result *nl_ledger_check(struct nl_ledger *ledger,
                                  const struct nl_ledger_check_options *options, struct nl_job *job,
                                  struct nl_err *err);

#endif
