/*
 * ledgerrebuild — the database made again from the files next to it (`neurolens ledger rebuild`).
 *
 * A database that is missing, empty or damaged is replaced; a damaged one is set aside as
 * ledger.db.damaged-DATE, never deleted. Then every card (runcard.h) whose run is not in the
 * database becomes that run with its tags, notes, settings, findings and provenance, and every
 * run document without a card becomes a run with what the document says and with its trace, found
 * by files, origin and duration. Cards that are missing or older than their runs are written. A
 * whole ledger stays as it is.
 */
#ifndef NL_LEDGERREBUILD_H
#define NL_LEDGERREBUILD_H

#include "base/job.h"
#include "ledger/ledger.h"

struct nl_ledger_rebuilt {
    char aside[64];           /* name of the damaged database in the ledger's folder, or "" */
    uint64_t before;          /* runs that were there */
    uint64_t from_cards;      /* runs that came back with everything */
    uint64_t from_documents;  /* runs that came back without tags and notes */
    uint64_t without_trace;   /* of these, those whose trace was not found */
    uint64_t cards;           /* written for runs that were there */
    uint64_t spare_documents; /* older documents of runs that are there, left in place */
    uint64_t failed;          /* cards and documents that are damaged */
    char failure[200];        /* of the first of them */
};

NL_MUST_CHECK bool nl_ledger_rebuild(const char *folder, struct nl_ledger_rebuilt *rebuilt,
                                     struct nl_job *job, struct nl_err *err);

#endif
