/*
 * Any bytes as a CSV log of nvprof: loading never fails but with a message, and gives a
 * trace that can be finished.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ingest/nvprofcsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_input input = {.path = "-",
                             .name = "12_fuzz.csv",
                             .encoding = "plain",
                             .head = data,
                             .head_len = size < NL_SNIFF_BYTES ? size : NL_SNIFF_BYTES,
                             .rank = NL_NULL_I64};
    const char *why = NULL;
    (void)nl_format_nvprofcsv.sniff(&input, &why);
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    if (!stream)
        return 0;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "12_fuzz.csv", "nvprof-csv");
    bool ok = nvprofcsv_load_stream(builder, source, &input, stream, &job, &err);
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
