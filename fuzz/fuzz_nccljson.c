/* Any bytes as JSON lines of NCCL's profiler or inspector: a trace that can be finished, or a message. */
#include <stdint.h>
#include <stdlib.h>

#include "ingest/nccljson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    if (!stream)
        return 0;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz.jsonl", "nccl-json");
    bool ok = nccljson_load(builder, source, stream, &job, &err);
    nl_stream_close(stream);
    if (ok) {
        nl_trace_free(nl_builder_finish(builder, &err));
        return 0;
    }
    if (err.code == NL_OK || !err.text[0])
        abort(); /* refused without a reason */
    nl_builder_free(builder);
    return 0;
}
