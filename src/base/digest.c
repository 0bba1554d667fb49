/*
 * SHA-256 of libcrypto, which uses the processor's own instructions where it has them. The plain
 * functions, not the EVP ones: those load providers and a configuration file first (2 ms), and
 * linked statically they bring the whole library along, whose start costs every command another ms.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

#define STEP ((size_t)4 << 20) /* bytes between two looks at the job */

struct nl_digest {
    SHA256_CTX state;
};

struct nl_digest *nl_digest_new(struct nl_err *err)
{
    struct nl_digest *digest = nl_alloc(sizeof *digest);
    if (SHA256_Init(&digest->state) == 1)
        return digest;
    nl_free(digest);
    (void)nl_fail(err, NL_INTERNAL, "libcrypto has no SHA-256");
    return NULL;
}

void nl_digest_add(struct nl_digest *digest, const void *bytes, size_t size)
{
    if (size > 0 && SHA256_Update(&digest->state, bytes, size) != 1)
        NL_BUG("SHA-256 refuses bytes");
}

void nl_digest_end(struct nl_digest *digest, char text[NL_DIGEST_TEXT])
{
    unsigned char raw[SHA256_DIGEST_LENGTH];
    if (SHA256_Final(raw, &digest->state) != 1)
        NL_BUG("SHA-256 does not end");
    for (unsigned i = 0; i < sizeof raw; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", raw[i]);
    nl_free(digest);
}

bool nl_digest_is_text(const char *text)
{
    return text && strspn(text, "0123456789abcdef") == NL_DIGEST_TEXT - 1 &&
           text[NL_DIGEST_TEXT - 1] == '\0';
}

bool nl_digest_bytes(char text[NL_DIGEST_TEXT], const void *bytes, size_t size, struct nl_err *err)
{
    struct nl_digest *digest = nl_digest_new(err);
    if (!digest)
        return false;
    nl_digest_add(digest, bytes, size);
    nl_digest_end(digest, text);
    return true;
}

bool nl_digest_file(char text[NL_DIGEST_TEXT], uint64_t *size, const char *path, struct nl_job *job,
                    struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, err))
        return false;
    struct nl_digest *digest = nl_digest_new(err);
    bool ok = digest != NULL;
    for (size_t at = 0; ok && at < map.size; at += STEP) {
        size_t step = map.size - at < STEP ? map.size - at : STEP;
        nl_digest_add(digest, map.bytes + at, step);
        nl_job_add(job, step);
        if (nl_job_cancelled(job))
            ok = nl_fail(err, NL_INTERRUPTED, "stopped on request");
    }
    if (digest)
        nl_digest_end(digest, text);
    if (size)
        *size = map.size;
    nl_map_close(&map);
    return ok;
}
