/*
 * unseenwork — GPU work that a timeline without any should have: calls launched it and its kernels
 * are not there, the file is cut before them, or a GPU is named of which nothing was recorded. Such
 * a profile is not called CPU-only. Private to the room.
 */
#ifndef NL_UNSEENWORK_H
#define NL_UNSEENWORK_H

#include "answer/judge.h"

/* "GPU work was launched in 8,716 calls (cudaLaunchKernel), but its kernels are not in the file. ":
 * false, with nothing written, where nothing was launched or work of a device is there. */
bool nl_unseen_launched(const struct nl_judged *judged, struct nl_buf *out);

/* Whether all calls are CUDA's, and none of them launches, copies or fills: then no device work is
 * missing. (HSA launches without a call.) */
bool nl_unseen_unasked(const struct nl_trace *trace);

/* How a sentence about the CPU of a profile that launches nothing begins: "CPU-only
 * profile, ", or what is missing. */
void nl_unseen_put_head(const struct nl_judged *judged, struct nl_buf *out);

#endif
