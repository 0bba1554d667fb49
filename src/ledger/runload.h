/*
 * runload — one word of `add` on its way into the ledger: which files it means, who they are, and
 * the document, trace and findings made of them. Private to ledger/.
 *
 *     nl_runload_identify   files and digests            (enough to see whether the run is there)
 *     nl_runload_read       document, trace, findings    (the long part)
 *     nl_runload_release
 */
#ifndef NL_RUNLOAD_H
#define NL_RUNLOAD_H

#include <jansson.h>

#include "findings/finding.h"
#include "ingest/inputs.h"
#include "ledger/artefact.h"
#include "ledger/runadd.h"
#include "ledger/runfingerprint.h"
#include "ledger/runyaml.h"

#define NL_MAX_DOCUMENT ((size_t)1 << 30)

struct nl_runload {
    const char *word;
    struct nl_inputs inputs;
    struct nl_rundoc_source *sources; /* one per input */
    char input[NL_DIGEST_TEXT];       /* over all of them */
    bool is_document;                 /* the one input is a run.json */
    struct nl_runyaml yaml;

    /* of nl_runload_read */
    char id[NL_RUNDOC_ID];
    size_t *used; /* places in `sources` of the files that were really read */
    size_t used_count;
    struct nl_buf text;                 /* the document */
    json_t *document;                   /* its tree; of a profile without the events */
    struct nl_trace *trace;             /* NULL for a document without one */
    struct nl_findings *findings;       /* NULL: not judged */
    struct nl_ledger_fingerprint print; /* empty: not made */
    struct nl_rundoc_setting *settings;
    const char **origins; /* of each setting: "--set" or "neurolens.yaml" */
    size_t setting_count;
    size_t redacted; /* secrets taken out of a document */
};

/* The files that are joined to the word's are files of the run, too. */
NL_MUST_CHECK bool nl_runload_identify(struct nl_runload *load, const char *word,
                                       const struct nl_add_options *options, struct nl_job *job,
                                       struct nl_err *err);

/* `known` are settings that the run has already (the options' win over them). */
NL_MUST_CHECK bool nl_runload_read(struct nl_runload *load, const struct nl_add_options *options,
                                   const struct nl_rundoc_setting *known, size_t known_count,
                                   struct nl_job *job, struct nl_err *err);
void nl_runload_release(struct nl_runload *load);

#endif
