/*
 * runsources — the files that a run was read from, with their digests, for its document.
 */
#ifndef NL_RUNSOURCES_H
#define NL_RUNSOURCES_H

#include "base/job.h"
#include "ingest/inputs.h"
#include "rundoc/rundoc.h"

struct nl_run_sources {
    struct nl_rundoc_source *items;
    size_t count;
    struct nl_inputs inputs;
};

/* Digests the files that `paths` (files, folders, globs) stand for and that `trace` was read from:
 * all of them when none can be recognised by name and size. NL_USAGE for standard input, which
 * cannot be read twice. Release in any case. */
NL_MUST_CHECK bool nl_run_sources_find(struct nl_run_sources *sources, const char *const *paths,
                                       size_t count, const struct nl_trace *trace,
                                       struct nl_job *job, struct nl_err *err);
void nl_run_sources_release(struct nl_run_sources *sources);

#endif
