/*
 * artefact — files kept under the SHA-256 of their content, compressed: artefacts/ab/<sha256>.zst.
 *
 * The same content is kept once. A file is written under a temporary name (artefacts/new.XXXXXX),
 * brought to the disk and renamed, so what has its final name is whole. Reading checks the content
 * against its name. Which runs need which artefact stands in the database; ledgergc.h removes those
 * that none needs.
 *
 * A `sha256` that is none (nl_digest_is_text) is refused everywhere, and links below the ledger's
 * folder are not followed: rows and files of a ledger may be somebody else's.
 *
 * `ledger` is the ledger's folder. Errors: NL_WRITE (disk full, no permission), NL_IO (missing),
 * NL_FORMAT (damaged), NL_INTERRUPTED.
 */
#ifndef NL_ARTEFACT_H
#define NL_ARTEFACT_H

#include <stdio.h>

#include "base/digest.h"
#include "base/job.h"
#include "base/str.h"

struct nl_artefact {
    char sha256[NL_DIGEST_TEXT];
    uint64_t bytes; /* not compressed */
    bool stored;    /* it was not there before: nl_artefact_last, before anything names it */
};

NL_MUST_CHECK bool nl_artefact_keep_bytes(struct nl_artefact *artefact, const char *ledger,
                                          const void *bytes, size_t size, struct nl_job *job,
                                          struct nl_err *err);
NL_MUST_CHECK bool nl_artefact_keep_file(struct nl_artefact *artefact, const char *ledger,
                                         const char *path, struct nl_job *job, struct nl_err *err);

/* The folders of artefacts will last, too: one sync for all that were just stored, whoever made the
 * folders (perhaps a command that was killed before it came here). */
NL_MUST_CHECK bool nl_artefact_last(const char *ledger, struct nl_err *err);

/* What does not exist yet: written to a file without a name in the ledger's folder (its
 * disk has the room), then kept. The caller closes the stream, which is all that it
 * takes to be rid of the file. */
NL_MUST_CHECK FILE *nl_artefact_scratch(const char *ledger, struct nl_err *err);
NL_MUST_CHECK bool nl_artefact_keep_stream(struct nl_artefact *artefact, const char *ledger,
                                           FILE *stream, struct nl_job *job, struct nl_err *err);

/* Is it there? Marks it as used now, so that gc leaves it alone for a while. */
bool nl_artefact_touch(const char *ledger, const char *sha256);

/* Its size on the disk; false when it is not there. */
bool nl_artefact_stored(const char *ledger, const char *sha256, uint64_t *bytes);

/* Its path, for messages; nl_free'd by the caller. */
char *nl_artefact_path(const char *ledger, const char *sha256);

/* Its content into a file that appears at once, or added to a buffer (which
 * bounds it: NL_LIMIT). */
NL_MUST_CHECK bool nl_artefact_unpack(const char *ledger, const char *sha256, const char *path,
                                      struct nl_job *job, struct nl_err *err);
/* Reads it to its end: is the content what its name says? */
NL_MUST_CHECK bool nl_artefact_verify(const char *ledger, const char *sha256, struct nl_job *job,
                                      struct nl_err *err);
NL_MUST_CHECK bool nl_artefact_read(const char *ledger, const char *sha256, struct nl_buf *out,
                                    struct nl_err *err);

#endif
