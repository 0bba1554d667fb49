/*
 * ordered — pieces of a file that several threads render and that are written in order: a few are
 * in memory at once, and the bytes do not depend on the number of threads.
 */
#ifndef NL_ORDERED_H
#define NL_ORDERED_H

#include "export/bytes.h"
#include "export/export.h"

typedef void nl_render_fn(const void *context, size_t piece, struct bytes *out);

/* Writes pieces 0 .. count - 1 to `out`. False with NL_INTERRUPTED when cancelled. */
NL_MUST_CHECK bool nl_write_ordered(const struct nl_export *export, FILE *out, size_t count,
                                    nl_render_fn *render, const void *context, struct nl_err *err);

#endif
