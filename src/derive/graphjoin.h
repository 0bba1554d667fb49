/*
 * graphjoin — which launch of a capture a kernel of a graph's replay is: kernel.captured,
 * table captured and its slices, from captures in the trace itself and in the joined
 * file. After links are known.
 */
#ifndef NL_GRAPHJOIN_H
#define NL_GRAPHJOIN_H

#include "store/columns.h"

/* Whether graphs were captured in it. */
bool nl_has_captures(const struct nl_trace *trace);

/* For derive.c alone. */
NL_MUST_CHECK bool nl_join_graphs(struct nl_finish *finish, struct nl_err *err);

#endif
