/* Any bytes as an ONNX Runtime profile: refused with a reason, or a trace that can be finished. */
#include <stdint.h>
#include <stdlib.h>

#include "ingest/ort_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    const char *why = NULL;
    struct nl_input input = {.path = "-",
                             .name = "fuzz.json",
                             .encoding = "plain",
                             .head = data,
                             .head_len = size < NL_SNIFF_BYTES ? size : NL_SNIFF_BYTES,
                             .rank = NL_NULL_I64};
    nl_err_clear(&err);
    nl_format_ort.sniff(&input, &why);
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    if (!stream)
        return 0;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz.json", "onnxruntime");
    if (ort_load_stream(builder, source, &input, stream, &job, &err)) {
        struct nl_trace *trace = nl_builder_finish(builder, &err);
        if (!trace)
            abort();
        nl_trace_free(trace);
    } else {
        if (err.code == NL_OK || !err.text[0])
            abort();
        nl_builder_free(builder);
    }
    nl_stream_close(stream);
    return 0;
}
