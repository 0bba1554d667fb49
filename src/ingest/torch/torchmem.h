/*
 * torchmem — memory snapshots of PyTorch's CUDA allocator from the bytes of a pickle (tests and fuzzers
 * use memory).
 */
#ifndef NL_TORCHMEM_H
#define NL_TORCHMEM_H

#include "ingest/ingest.h"

NL_MUST_CHECK bool torchmem_load_bytes(const struct nl_reading *reading, const void *bytes,
                                       size_t len, struct nl_err *err);

#endif
