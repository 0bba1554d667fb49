/* Any bytes as a Perfetto trace: one of ours that can be finished, or a message. */
#include <stdint.h>
#include <stdlib.h>

#include "ingest/perfetto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz.pftrace", "perfetto");
    if (perfetto_load_bytes(builder, source, data, size, &job, &err)) {
        nl_trace_free(nl_builder_finish(builder, &err));
        return 0;
    }
    if (err.code == NL_OK || !err.text[0])
        abort(); /* refused without a reason */
    nl_builder_free(builder);
    return 0;
}
