/*
 * Any bytes as trace JSON: loading never fails but with a message, and gives a trace that can be
 * finished and answers what is asked of it. The first byte chooses whether two threads load it as
 * well; of sound text they must load what one does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "answers.h"
#include "derive/derive.h"
#include "ingest/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Loads with so many threads; NULL when it was refused. */
static struct nl_trace *load(const uint8_t *data, size_t size, unsigned threads)
{
    struct nl_err err;
    struct nl_job job = {.threads = threads};
    struct nl_input input = {
        .path = "-", .name = "fuzz.json", .encoding = "plain", .rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    if (!stream)
        return NULL;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz.json", "kineto");
    struct nl_reading reading = {builder, source, &input, &job, stream, NULL};
    bool ok = nl_format_kineto.load(&reading, &err);
    nl_stream_close(stream);
    if (ok)
        return nl_builder_finish(builder, &err);
    if (err.code == NL_OK || !err.text[0])
        abort(); /* refused without a reason */
    nl_builder_free(builder);
    return NULL;
}

/* Was the text sound? Damage is mended from where it is met, which depends on the blocks. */
static bool is_sound(const struct nl_trace *trace)
{
    static const char *const damage[] = {"repaired:", "skipped:", "truncated:"};
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        for (size_t d = 0; d < sizeof damage / sizeof damage[0]; d++)
            if (nl_str_starts(nl_trace_name(trace, trace->coverage.item[i]), damage[d]))
                return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct nl_trace *one = load(data + 1, size - 1, 1);
    if (data[0] % 4 == 0) {
        struct nl_trace *two = load(data + 1, size - 1, 2);
        if (one && is_sound(one) && (!two || one->slice.rows != two->slice.rows))
            abort();
        nl_trace_free(two);
    }
    if (one && answers_deep())
        answers_ask(one, answers_variant(data, size));
    nl_trace_free(one);
    return 0;
}
