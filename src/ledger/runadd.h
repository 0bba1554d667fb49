/*
 * runadd — puts profiles into the ledger: every word is a separate run (a folder or a pattern of
 * several ranks is one run, as in all commands).
 *
 * Words are read at the same time, sharing the job's threads and memory, and are written in their
 * order, each in one transaction after its artefacts are on the disk; nothing is reported before
 * all of it is synced. Small files are read more at a time than there are threads, as they wait for
 * the disk most. What fails does not disturb the others. The same content again is the same run: it
 * is found by its digest without being read again, comes back from the trash if it was there, and
 * takes what is newly said about it.
 *
 * Metadata: `settings` win over the file, which wins over neurolens.yaml next to it.
 */
#ifndef NL_RUNADD_H
#define NL_RUNADD_H

#include "ledger/ledger.h"

struct nl_add_options {
    const struct nl_rundoc_setting *settings; /* given by a person, checked by the caller */
    size_t setting_count;
    bool no_trace;            /* keep the document alone, not the trace */
    bool keep_source;         /* keep the files themselves, too */
    const char *cache_folder; /* for reading profiles; NULL = none */
    uint64_t cache_bytes;
    int64_t rank;            /* NL_NULL_I64 = find out */
    const char *const *join; /* reports whose metrics go to the kernels of every run; they are files
                                of the run like the others */
    size_t join_count;
    const char *command; /* the command line, for the provenance; secrets are removed here */
};

enum nl_add_outcome {
    NL_ADD_FAILED, /* `err` says why */
    NL_ADD_ADDED,
    NL_ADD_THERE,   /* the same content was there */
    NL_ADD_UPDATED, /* it was there, and what was said about it is new */
};

struct nl_add_result {
    enum nl_add_outcome outcome;
    bool restored; /* came back from the trash */
    char id[NL_RUNDOC_ID], short_id[NL_RUNDOC_ID];
    size_t settings;         /* values newly taken from --set and neurolens.yaml */
    bool trace, findings;    /* what was kept in addition to the document */
    uint64_t artefact_bytes; /* of all that was kept, not compressed */
    struct nl_err err;
};

/* One result per word. Opens the ledger at `folder` itself, once per worker. False with `err` only
 * when the ledger cannot be used at all, or the job was cancelled; `results` are filled in any case
 * and hold at least what was done until then. */
NL_MUST_CHECK bool nl_ledger_add(const char *folder, const char *const *words, size_t count,
                                 const struct nl_add_options *options,
                                 struct nl_add_result *results, struct nl_job *job,
                                 struct nl_err *err);

#endif
