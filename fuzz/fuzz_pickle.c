/*
 * Any bytes as a pickle, and what it holds as a flight recorder dump or as a memory snapshot: loading
 * never fails but with a message, ends soon, and gives a trace that can be finished.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ingest/flightrec.h"
#include "ingest/torchmem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load_snapshot(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_input input = {
        .path = "-", .name = "dump_3", .encoding = "plain", .rank = NL_NULL_I64};
    struct pickle pickle;
    nl_err_clear(&err);
    bool ok = pickle_read(&pickle, data, size, &job, &err);
    if (ok) {
        struct nl_builder *builder = nl_builder_new(&job);
        uint32_t source = nl_builder_source(builder, input.name, "pickle");
        ok = torchmem_load(builder, source, &pickle, &job, &err);
        pickle_free(&pickle);
        if (ok)
            nl_trace_free(nl_builder_finish(builder, &err));
        else
            nl_builder_free(builder);
    }
    if (!ok && (err.code == NL_OK || !err.text[0]))
        abort(); /* refused without a reason */
}

/* As a dump in either form: JSON becomes a pickle first. */
static void load_dump(const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_input input = {
        .path = "-", .name = "dump_3", .encoding = "plain", .rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, input.name, "flight-recorder");
    if (flightrec_load_bytes(builder, source, &input, data, size, &job, &err)) {
        nl_trace_free(nl_builder_finish(builder, &err));
        return;
    }
    if (err.code == NL_OK || !err.text[0])
        abort(); /* refused without a reason */
    nl_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load_dump(data, size);
    load_snapshot(data, size);
    return 0;
}
