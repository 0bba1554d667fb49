/*
 * loadtext — a file whose bytes stand in a unit test, read by one format. The trace is the
 * caller's; NULL with err otherwise.
 */
#ifndef LOADTEXT_H
#define LOADTEXT_H

#include "derive/derive.h"
#include "ingest/ingest.h"

static inline struct nl_trace *loadtext(const struct nl_format *format, const char *text,
                                        size_t len, unsigned threads, struct nl_err *err)
{
    struct nl_job job = {.threads = threads};
    struct nl_input input = {.path = "-",
                             .name = "t",
                             .encoding = "plain",
                             .rank = NL_NULL_I64,
                             .head = (const unsigned char *)text,
                             .head_len = len};
    nl_err_clear(err);
    struct nl_stream *stream = nl_stream_memory(text, len, err);
    if (!stream)
        return NULL;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, input.name, format->name);
    struct nl_reading reading = {builder, source, &input, &job, stream, NULL};
    bool ok = format->load(&reading, err);
    nl_stream_close(stream);
    if (ok)
        return nl_builder_finish(builder, err);
    nl_builder_free(builder);
    return NULL;
}

#endif
