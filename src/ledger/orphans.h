/*
 * orphans — artefacts that no row speaks of, put together into runs: a document with the trace
 * that has its files, origin and duration, and with the files that it names where they were
 * kept. Private to ledger/.
 *
 *     nl_orphans_find(&orphans, ledger, job, &err)     what lies there
 *     nl_orphans_card(&orphans, i, document, &err)     a card of document i, as runcard.h has it
 *     nl_orphans_release(&orphans)
 */
#ifndef NL_ORPHANS_H
#define NL_ORPHANS_H

#include <jansson.h>

#include "base/job.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledger.h"

struct nl_orphan {
    char sha256[NL_DIGEST_TEXT];
    int64_t written_ns; /* when it was */
    /* of a trace */
    const char *files; /* names of its sources, a line each; NULL = cannot be opened */
    int64_t origin_ns, duration_ns;
    uint64_t bytes;
    bool taken;
};

struct nl_orphan_list {
    struct nl_orphan *items;
    size_t count, cap;
};

struct nl_orphans {
    struct nl_ledger *ledger;
    struct nl_job *job;
    struct nl_orphan_list documents, traces; /* the newest document first */
    struct nl_arena arena;
};

NL_MUST_CHECK bool nl_orphans_find(struct nl_orphans *orphans, struct nl_ledger *ledger,
                                   struct nl_job *job, struct nl_err *err);
void nl_orphans_release(struct nl_orphans *orphans);

/* `document` is the tree of documents.items[i] and `bytes` its size. The trace that fits is taken.
 * NULL with err when the document names no files. */
json_t *nl_orphans_card(struct nl_orphans *orphans, size_t i, const json_t *document, size_t bytes,
                        struct nl_err *err);

#endif
