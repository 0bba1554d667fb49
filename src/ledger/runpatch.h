/*
 * runpatch — settings put into a document that comes without its profile. Derived metrics are not
 * worked out again; everything else stays as it is. Private to ledger/.
 */
#ifndef NL_RUNPATCH_H
#define NL_RUNPATCH_H

#include <jansson.h>

#include "rundoc/rundoc.h"

/* Sets the values in the tree and writes it into `text` (emptied first). The result is checked:
 * NL_FORMAT when it is no valid document. */
NL_MUST_CHECK bool nl_runpatch(json_t *document, const struct nl_rundoc_setting *settings,
                               size_t count, struct nl_buf *text, struct nl_err *err);

/* NL_FORMAT with the first fault when the text is no valid document. */
NL_MUST_CHECK bool nl_runpatch_check(const char *text, size_t size, struct nl_err *err);

#endif
