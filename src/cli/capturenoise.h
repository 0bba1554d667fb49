/*
 * capturenoise — what the ledger knows of how captures differ: the noise of a comparison, learnt
 * from earlier runs of the same workload on the same host (ledger/runnoise.h). Without a ledger, or
 * with too few runs in it, nothing is known, and the built-in values hold (compare/replicate.h).
 */
#ifndef NL_CAPTURENOISE_H
#define NL_CAPTURENOISE_H

#include "cli/captures.h"

/* Sets the noise of sides that are compared; their own runs do not count. A ledger that cannot be
 * read is no reason to fail: then nothing is known. */
void nl_capture_noise(struct nl_captures *const *sides, size_t count, const struct nl_call *call);

#endif
