/*
 * clockerror — the error that recordings tell of their clocks, in metadata.
 */
#ifndef NL_CLOCKERROR_H
#define NL_CLOCKERROR_H

#include "store/trace.h"

/* ns; NL_NULL_I64 when none is given. The largest of a source's (NL_NULL_ROW: of all sources'). */
int64_t nl_clock_error(const struct nl_trace *trace, uint32_t source);

#endif
