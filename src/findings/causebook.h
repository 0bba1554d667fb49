/*
 * causebook — the causes that findings name, as a person looks them up: how each is judged, what
 * speaks against it, what it needs, what helps, where a maker says more.
 */
#ifndef NL_CAUSEBOOK_H
#define NL_CAUSEBOOK_H

#include "base/str.h"

/* The id of the i-th cause, in alphabetical order; NULL after the last. */
const char *nl_causebook_id(size_t i);

/* What is wrong, in a few words; NULL when there is no such cause. */
const char *nl_causebook_title(const char *id);

/* Adds a page about the cause to `out`, a paragraph a line; false: there is no such cause. Remedies
 * are those for PyTorch on an NVIDIA GPU: findings have those for the device and framework at
 * hand. */
bool nl_causebook_page(struct nl_buf *out, const char *id);

/* All causes in the order of causes.def, without remedies: the part of
 * docs/findings.md that `make docs` makes. */
void nl_causebook_document(struct nl_buf *out);

#endif
