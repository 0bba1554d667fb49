/*
 * artefactwalk — every artefact in a ledger's folder, whatever the database says of it.
 *
 *     nl_artefact_walk(folder, see, context, &err)     calls `see` for each
 *     nl_artefact_any(folder)                          is there at least one?
 *     nl_artefact_kind_of(folder, sha256)              what is in it
 *
 * Only regular files called artefacts/ab/<sha256>.zst count; anything else is not touched. The
 * order is the file system's.
 */
#ifndef NL_ARTEFACTWALK_H
#define NL_ARTEFACTWALK_H

#include <sys/stat.h>

#include "ledger/artefact.h"

struct nl_artefact_file {
    char sha256[NL_DIGEST_TEXT]; /* as its name says; the content was not looked at */
    struct stat info;
    int folder; /* its open folder, for unlinkat(folder, name) */
    const char *name;
};

/* False stops the walk with err. */
typedef bool nl_artefact_see(void *context, const struct nl_artefact_file *file,
                             struct nl_err *err);
NL_MUST_CHECK bool nl_artefact_walk(const char *ledger, nl_artefact_see *see, void *context,
                                    struct nl_err *err);

bool nl_artefact_any(const char *ledger);

enum nl_artefact_kind {
    NL_ARTEFACT_DAMAGED, /* cannot be read */
    NL_ARTEFACT_DOCUMENT,
    NL_ARTEFACT_TRACE,
    NL_ARTEFACT_SOURCE /* anything else: a file that was added */
};
/* By its first bytes. */
enum nl_artefact_kind nl_artefact_kind_of(const char *ledger, const char *sha256);

#endif
