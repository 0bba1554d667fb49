/*
 * runopen — a run of the ledger as a profile again.
 *
 * The trace that was kept is unpacked into the cache once and mapped from there. Where none was
 * kept, or another version of the program wrote it, the profile is read from the kept files, else
 * from its place when it was added, if the content is still the same; a run that came as a document
 * from that.
 */
#ifndef NL_RUNOPEN_H
#define NL_RUNOPEN_H

#include "ledger/ledger.h"

struct nl_open_options {
    const char *cache_folder; /* NULL = unpack into the folder for temporary files */
    uint64_t cache_bytes;
};

/* NL_IO when nothing of it can be read any more, saying what was tried. */
struct nl_trace *nl_ledger_trace(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const struct nl_open_options *options, struct nl_job *job,
                                 struct nl_err *err);

/* The run's document as it was stored, added to `out`. */
NL_MUST_CHECK bool nl_ledger_document(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                      struct nl_buf *out, struct nl_err *err);

#endif
