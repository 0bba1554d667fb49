/*
 * claims — which rows of the account a finding explains: the column `finding` of account. Findings
 * claim rows in report order. At most one finding claims a row, and therefore a nanosecond.
 * Remarks, recording faults and findings explained by another one claim nothing.
 *
 * A finding claims a row if at least half of the row's items (gaps with that class and name;
 * kernels of that name; copies of that kind) are within the finding's time. Large rows are sampled:
 * every n-th item is checked.
 */
#ifndef NL_CLAIMS_H
#define NL_CLAIMS_H

#include "account/account.h"
#include "findings/finding.h"
#include "findings/scene.h"

/* Fills findings->claims and claims_ns. `account` and `scenes` are of the same trace and window. */
void nl_findings_claim(struct nl_findings *findings, const struct nl_scenes *scenes,
                       const struct nl_account *account);

/* Only the claims: an id or NULL per row of nl_account_new(trace, window). The caller frees the
 * array with nl_free. NULL if there are none or the job is cancelled. */
const char **nl_claims_new(const struct nl_trace *trace, const struct nl_window *window,
                           struct nl_job *job, size_t *count);

#endif
