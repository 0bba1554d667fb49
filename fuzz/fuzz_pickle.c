/*
 * Any bytes as a pickle, and what it holds as a flight recorder dump or as a memory snapshot:
 * loading never fails but with a message, ends soon, and gives a trace that can be finished and
 * answers what is asked of it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "answers.h"
#include "derive/derive.h"
#include "ingest/lib/wholefile.h"
#include "ingest/torch/picklewatch.h"
#include "ingest/torch/pickle.h"
#include "ingest/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const uint8_t *data, size_t size, bool flight)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_input input = {
        .path = "-", .name = "dump_3", .encoding = "plain", .rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, input.name, "pickle");
    const struct whole_file file = {.bytes = data, .size = size};
    struct nl_reading reading = {builder, source, &input, &job, NULL, &file};
    const struct nl_format *format = flight ? &nl_format_flightrec : &nl_format_torchmem;
    bool ok = format->load(&reading, &err);
    if (!ok && (err.code == NL_OK || !err.text[0]))
        abort(); /* refused without a reason */
    struct nl_trace *trace =
        nl_builder_finish(builder, &err); /* as of a folder where others are left */
    if (!trace)
        abort();
    if (!ok && (trace->slice.rows || trace->memory.rows))
        abort(); /* rows of what was refused */
    if (answers_deep())
        answers_ask(trace, answers_variant(data, size));
    nl_trace_free(trace);
}

/* All values of any pickle, as trees of a few levels. */
static void walk(struct pickle *pickle, struct pickle_value value, unsigned levels)
{
    uint32_t count = pickle_count(pickle, value);
    (void)pickle_text(pickle, value);
    (void)pickle_f64(pickle, value);
    for (uint32_t i = 0; i < count && levels && pickle_spend(pickle, 1); i++) {
        walk(pickle, pickle_item(pickle, value, i), levels - 1);
        walk(pickle, pickle_key(pickle, value, i), levels - 1);
    }
}

static void take(void *context, size_t list, const struct pickle_value *pairs, size_t count)
{
    (void)list;
    for (size_t i = 0; i < count; i++)
        walk(context, pairs[i], 3);
}

/* With and without dictionaries that are taken while it is read. */
static void read_all(const uint8_t *data, size_t size)
{
    for (unsigned how = 0; how < 8; how++) {
        struct pickle pickle;
        struct nl_err err;
        const struct pickle_watch watch = {.key = how & 4 ? "device_traces" : "entries",
                                           .nested = how & 1,
                                           .keep = how & 2,
                                           .take = take,
                                           .context = &pickle};
        nl_err_clear(&err);
        if (pickle_read_watched(&pickle, data, size, &watch, NULL, &err)) {
            walk(&pickle, pickle.root, 4);
            pickle_free(&pickle);
        } else if (err.code == NL_OK || !err.text[0]) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size, true);
    load(data, size, false);
    read_all(data, size);
    return 0;
}
