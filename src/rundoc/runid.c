/*
 * The id of a run: SHA-256 over the sorted digests of its sources, cut to 32 digits. Names, order
 * and times of the files are not in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rundoc/rundoc.h"

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool nl_rundoc_id(char id[NL_RUNDOC_ID], const struct nl_rundoc_source *sources, size_t count,
                  struct nl_err *err)
{
    char text[NL_DIGEST_TEXT];
    struct nl_digest *digest = nl_digest_new(err);
    if (!digest)
        return false;
    const char **sorted = nl_alloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = sources[i].sha256;
    if (count)
        qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; i++)
        nl_digest_add(digest, sorted[i], strlen(sorted[i]) + 1);
    nl_digest_end(digest, text);
    nl_free(sorted);
    memcpy(id, text, NL_RUNDOC_ID - 1);
    id[NL_RUNDOC_ID - 1] = 0;
    return true;
}
