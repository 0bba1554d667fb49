/* nvprofcsv — the reader of nvprof's CSV logs; here only for tests. */
#ifndef NVPROFCSV_H
#define NVPROFCSV_H

#include "base/stream.h"
#include "ingest/ingest.h"

NL_MUST_CHECK bool nvprofcsv_load_stream(struct nl_builder *builder, uint32_t source,
                                         const struct nl_input *input, struct nl_stream *stream,
                                         struct nl_job *job, struct nl_err *err);

#endif
