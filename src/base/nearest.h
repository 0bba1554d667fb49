/*
 * nearest — the candidate most like a mistyped word (insertions, deletions, replacements and
 * swaps of neighbours), or NULL when none is close: at most a third of the word may differ.
 */
#ifndef NL_NEAREST_H
#define NL_NEAREST_H

#include <stddef.h>

struct nl_nearest {
    const char *word;
    const char *best;
    size_t distance;
};
void nl_nearest_init(struct nl_nearest *nearest, const char *word);
void nl_nearest_offer(struct nl_nearest *nearest, const char *candidate);
const char *nl_nearest_best(const struct nl_nearest *nearest);

#endif
