/*
 * claims — which rows of the account a finding explains: the column `finding` of account. Findings claim in the order in
 * which they are reported; a row is claimed by at most one, so each nanosecond is, too. Remarks, faults of the
 * recording and findings that another one explains claim nothing.
 *
 * A row goes to a finding when at least half of what stands behind it (gaps with that class and name; kernels
 * of that name; copies of that kind) lies in the finding's time. Of many, every n-th is looked at.
 */
#ifndef NL_CLAIMS_H
#define NL_CLAIMS_H

#include "account/account.h"
#include "findings/finding.h"
#include "findings/scene.h"

/* Fills findings->claims and claims_ns. `account` and `scenes` are of the same trace and window. */
void nl_findings_claim(struct nl_findings *findings, const struct nl_scenes *scenes,
                       const struct nl_account *account);

/* The claims alone: an id, or NULL, per row of nl_account_new(trace, window); nl_free the array. NULL when there are
 * none, and when the job is cancelled. */
const char **nl_claims_new(const struct nl_trace *trace, const struct nl_window *window,
                           struct nl_job *job, size_t *count);

#endif
