/*
 * runsaid — what people said about a run, in its document: the tags and notes that the ledger's
 * rows have. The document as it is kept has none, so that a tag does not change what was kept; they
 * are put in when a document leaves the ledger and taken out of one that comes in. Private to
 * ledger/ but for the first.
 */
#ifndef NL_RUNSAID_H
#define NL_RUNSAID_H

#include <jansson.h>

#include "ledger/ledger.h"

/* The run's document with its tags and notes, added to `out`. Without either, and of versions that
 * have no place for them, the bytes that were kept. */
NL_MUST_CHECK bool nl_ledger_document_said(struct nl_ledger *ledger,
                                           const struct nl_ledger_run *run, struct nl_buf *out,
                                           struct nl_err *err);

/* Gives the run the tags and notes of a document, inside a transaction. A tag that another run has
 * goes on meaning that one; what is no tag is left out. */
NL_MUST_CHECK bool nl_runsaid_take(struct nl_ledger *ledger, int64_t run, const json_t *document,
                                   struct nl_err *err);

#endif
