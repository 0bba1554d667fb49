/*
 * runshow — everything the ledger knows about one run, as a report of tables: metadata, metrics,
 * steps, operators, findings, notes, artefacts, sources and provenance.
 */
#ifndef NL_RUNSHOW_H
#define NL_RUNSHOW_H

#include "answer/report.h"
#include "ledger/ledger.h"

/* Released with nl_report_free. `section`: that table alone, or NULL; NL_USAGE when
 * there is none of that name. `eyes`: values of metadata and metrics are texts in their
 * units instead of numbers. */
struct nl_report *nl_ledger_show(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const char *section, bool eyes, struct nl_err *err);

#endif
