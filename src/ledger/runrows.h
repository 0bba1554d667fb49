/*
 * runrows — the rows that a run's document (rundoc/rundoc.h) and findings become. Private to
 * ledger/. Facts are the single values of the objects run, hardware, software and workload under
 * their dotted names, timeline.duration_ns, metrics.NAME for every metric with a value, and the
 * labels among the settings that the run has.
 *
 * All of it happens inside the caller's transaction.
 */
#ifndef NL_RUNROWS_H
#define NL_RUNROWS_H

#include <jansson.h>

#include "findings/finding.h"
#include "ledger/ledger.h"

/* The document's tree; released with json_decref. NL_FORMAT when the text is no JSON object. */
json_t *nl_runrows_parse(const char *text, size_t size, struct nl_err *err);

/* The value at a dotted place such as "workload.batch_size"; NULL when it is not there or null. */
const json_t *nl_runrows_value(const json_t *document, const char *key);

/* Puts the rows in, instead of those that the run has. */
NL_MUST_CHECK bool nl_runrows_document(struct nl_ledger *ledger, int64_t run,
                                       const json_t *document, struct nl_err *err);
NL_MUST_CHECK bool nl_runrows_findings(struct nl_ledger *ledger, int64_t run,
                                       const struct nl_findings *findings, struct nl_err *err);

#endif
