/*
 * derive — a builder full of rows → a finished trace: store makes columns of the rows,
 * this room adds what follows from them: links, classes of kernels, joined files,
 * measurements, checks of clocks.
 */
#ifndef NL_DERIVE_H
#define NL_DERIVE_H

#include "store/builder.h"

/* Never fails on odd data: what could not be kept is counted in coverage. Fails with
 * NL_INTERRUPTED, NL_MEMORY, or NL_LIMIT (over 2^32 - 2 rows). Frees the builder either way. */
struct nl_trace *nl_builder_finish(struct nl_builder *builder, struct nl_err *err);

#endif
