/*
 * diffcountwords — sentences about the counts and the memory of a diff.
 */
#ifndef NL_COMPARE_DIFFCOUNTWORDS_H
#define NL_COMPARE_DIFFCOUNTWORDS_H

#include "compare/diffdoc.h"

/* " Memory: at most 532.5 MiB → 745.1 MiB (+39.9 %) are allocated at once.", where
 * nothing else can be compared. */
void diff_put_memory(const struct diff_doc *doc, struct nl_buf *text,
                     const struct nl_result *counts);

/* "Counts: kernels 400 → 20; …", of those that explain something; nothing without any. */
void diff_put_counts(const struct diff_doc *doc, struct nl_buf *text,
                     const struct nl_result *counts);

#endif
