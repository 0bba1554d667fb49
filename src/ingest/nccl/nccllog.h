/*
 * nccllog — text logs of NCCL and RCCL: NCCL_DEBUG=INFO lines of any number of ranks, and the tables
 * of nccl-tests, with whatever stands between (tests and fuzzers use memory).
 */
#ifndef NL_NCCLLOG_H
#define NL_NCCLLOG_H

#include "base/stream.h"
#include "ingest/ingest.h"

NL_MUST_CHECK bool nccllog_load(struct nl_builder *builder, uint32_t source,
                                struct nl_stream *stream, struct nl_job *job, struct nl_err *err);

#endif
