/*
 * clockerror — the clock error that recordings report in their metadata.
 */
#ifndef NL_CLOCKERROR_H
#define NL_CLOCKERROR_H

#include "store/trace.h"

/* ns; NL_NULL_I64 if none is reported. The largest error of the source (NL_NULL_ROW: of all
 * sources). */
int64_t nl_clock_error(const struct nl_trace *trace, uint32_t source);

#endif
