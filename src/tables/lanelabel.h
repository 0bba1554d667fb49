/* lanelabel — what a lane is called where people read it: "stream 7",
 * "thread 4387 (python) · nvtx". */
#ifndef NL_LANELABEL_H
#define NL_LANELABEL_H

#include "store/trace.h"

/* Appended to the empty `out`: its own name, its thread's or its stream, and its kind if that adds
 * something. */
void nl_lane_label(struct nl_buf *out, const struct nl_trace *trace, uint32_t lane);

#endif
