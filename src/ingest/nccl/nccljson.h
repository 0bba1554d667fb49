/*
 * nccljson — JSON lines of programs inside NCCL: a profiler plug-in that writes an object per event,
 * and NCCL's inspector, an object per collective (tests and fuzzers use memory).
 */
#ifndef NL_NCCLJSON_H
#define NL_NCCLJSON_H

#include "base/stream.h"
#include "ingest/ingest.h"

NL_MUST_CHECK bool nccljson_load(struct nl_builder *builder, uint32_t source,
                                 struct nl_stream *stream, struct nl_job *job, struct nl_err *err);

#endif
