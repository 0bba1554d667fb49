/* Any bytes as a file of trtexec: refused with a reason, or a trace that can be
 * finished and answers what is asked of it. Halves of the bytes are two files of one
 * profile, so that layers are joined. */
#include <stdint.h>
#include <stdlib.h>

#include "answers.h"
#include "derive/derive.h"
#include "ingest/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool load(struct nl_builder *builder, const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_input input = {.path = "-",
                             .name = "fuzz.json",
                             .encoding = "plain",
                             .head = data,
                             .head_len = size < NL_SNIFF_BYTES ? size : NL_SNIFF_BYTES,
                             .rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    if (!stream)
        return false;
    uint32_t source = nl_builder_source(builder, "fuzz.json", "tensorrt");
    struct nl_reading reading = {builder, source, &input, &job, stream, NULL};
    bool ok = nl_format_trt.load(&reading, &err);
    if (!ok && (err.code == NL_OK || !err.text[0]))
        abort();
    nl_stream_close(stream);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    nl_err_clear(&err);
    const uint8_t *cut = size ? memchr(data, '\x1e', size) : NULL; /* record separator */
    size_t first = cut ? (size_t)(cut - data) : size;
    struct nl_builder *builder = nl_builder_new(&job);
    bool ok = load(builder, data, first);
    if (cut)
        ok |= load(builder, cut + 1, size - first - 1);
    if (!ok) {
        nl_builder_free(builder);
        return 0;
    }
    struct nl_trace *trace = nl_builder_finish(builder, &err);
    if (!trace)
        abort();
    if (answers_deep())
        answers_ask(trace, answers_variant(data, size));
    nl_trace_free(trace);
    return 0;
}
