/*
 * exportrun — export --to run.json.
 */
#ifndef NL_EXPORTRUN_H
#define NL_EXPORTRUN_H

#include <stdio.h>

#include "cli/input.h"

/* The options of export. */
struct nl_export_options {
    const char *to;
    const char *events; /* a number or "all" */
    const char *table, *of;
    struct nl_texts set; /* key=value */
};

static inline const struct nl_export_options *nl_export_own(const struct nl_call *call)
{
    return call->own;
}

/* A wrong option is reported before a profile is loaded for minutes. */
NL_MUST_CHECK bool nl_export_run_options(const struct nl_export_options *own, struct nl_err *err);

/* Loads the profile unless its document is stored, and writes that to
 * `out`. A window is refused. */
NL_MUST_CHECK bool nl_export_run(const struct nl_call *call, struct nl_input_words *input,
                                 FILE *out, struct nl_err *err);

#endif
