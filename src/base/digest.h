/*
 * digest — SHA-256 of bytes and of files: the identity of content, where two different files must
 * never be taken for one (artefacts of the ledger, sources of a run). The text is what `sha256sum`
 * prints. For tables in memory use nl_hash, which is faster and no identity.
 */
#ifndef NL_DIGEST_H
#define NL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/job.h"

#define NL_DIGEST_TEXT 65 /* 64 lower-case hex digits and the NUL */

/* A digest in the making. Fails only when libcrypto cannot (NL_INTERNAL). */
struct nl_digest;
struct nl_digest *nl_digest_new(struct nl_err *err);
void nl_digest_add(struct nl_digest *digest, const void *bytes, size_t size);
/* Writes the text and frees the digest. */
void nl_digest_end(struct nl_digest *digest, char text[NL_DIGEST_TEXT]);

NL_MUST_CHECK bool nl_digest_bytes(char text[NL_DIGEST_TEXT], const void *bytes, size_t size,
                                   struct nl_err *err);

/* Is it the text of a SHA-256: 64 lower-case hex digits and no more? What a database or a file says
 * is one must be asked before it becomes part of a path. NULL is none. */
bool nl_digest_is_text(const char *text);

/* The file's bytes as stored (compressed stays compressed); `size` gets their number and may be
 * NULL. Fails with NL_IO, or NL_INTERRUPTED when `job` (may be NULL) is cancelled. */
NL_MUST_CHECK bool nl_digest_file(char text[NL_DIGEST_TEXT], uint64_t *size, const char *path,
                                  struct nl_job *job, struct nl_err *err);

#endif
