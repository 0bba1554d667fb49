/*
 * doccheck — a text checked against a schema: every fault with its place
 * and the keyword it offends.
 *
 * One pass token by token; memory is needed for the faults only. Faults are those that JSON Schema
 * defines, one per place and keyword (required: one per missing member), and two more: "syntax"
 * (RFC 8259, one, after which nothing is looked at) and "duplicate" (a key that occurs twice).
 */
#ifndef NL_DOCCHECK_H
#define NL_DOCCHECK_H

#include "rundoc/docschema.h"
#include "rundoc/rundoc.h"

#define DOC_FAULTS 1000 /* listed at most */

/* True when nothing is wrong. `faults` is zeroed, its arena initialised. */
bool doc_check(const struct doc_node *node, const char *text, size_t size,
               struct nl_rundoc_faults *faults);

#endif
