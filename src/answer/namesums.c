/* namesums — see namesums.h. */
#include "answer/namesums.h"

#include <stdlib.h>

#include "base/sum.h"
#include "tables/lookup.h"

static int by_sum(const void *left, const void *right)
{
    const struct nl_name_sum *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

size_t nl_sum_by_name(const struct nl_result *rows, const char *name, const char *ns,
                      struct nl_name_sum *sums, size_t most)
{
    size_t count = 0;
    for (size_t row = 0; row < rows->rows; row++) {
        struct nl_str text = nl_lookup_text(rows, row, name);
        size_t at = 0;
        while (at < count && !nl_str_eq(sums[at].name, text))
            at++;
        if (at == most)
            continue;
        if (at == count)
            sums[count++] = (struct nl_name_sum){.name = text, .first = row};
        nl_sum_add(&sums[at].ns, nl_lookup_i64(rows, row, ns));
        sums[at].count++;
    }
    if (count)
        qsort(sums, count, sizeof *sums, by_sum);
    return count;
}
