/* SHA-256 through libcrypto, which uses the processor's own instructions where it has them. */
#include "base/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

#define STEP ((size_t)4 << 20) /* bytes between two looks at the job */

struct nl_digest {
    EVP_MD_CTX *state;
};

struct nl_digest *nl_digest_new(struct nl_err *err)
{
    EVP_MD_CTX *state = EVP_MD_CTX_new();
    if (!state || EVP_DigestInit_ex(state, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(state);
        (void)nl_fail(err, NL_MEMORY, "no memory for a SHA-256");
        return NULL;
    }
    struct nl_digest *digest = nl_alloc(sizeof *digest);
    digest->state = state;
    return digest;
}

void nl_digest_add(struct nl_digest *digest, const void *bytes, size_t size)
{
    if (size > 0 && EVP_DigestUpdate(digest->state, bytes, size) != 1)
        NL_BUG("SHA-256 refuses bytes");
}

void nl_digest_end(struct nl_digest *digest, char text[NL_DIGEST_TEXT])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(digest->state, raw, &size) != 1 || size * 2 + 1 != NL_DIGEST_TEXT)
        NL_BUG("SHA-256 does not end");
    for (unsigned i = 0; i < size; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", raw[i]);
    EVP_MD_CTX_free(digest->state);
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
