/*
 * torchmem — memory snapshots of PyTorch's CUDA allocator from a pickle that was read (tests and
 * fuzzers use memory).
 */
#ifndef NL_TORCHMEM_H
#define NL_TORCHMEM_H

#include "ingest/ingest.h"
#include "ingest/pickle.h"

NL_MUST_CHECK bool torchmem_load(struct nl_builder *builder, uint32_t source, struct pickle *pickle,
                                 struct nl_job *job, struct nl_err *err);

#endif
