/*
 * chrometext — Chrome JSON that stands in a unit test, loaded; rows and coverage of the result. For one .c file each: all is static.
 */
#ifndef CHROMETEXT_H
#define CHROMETEXT_H

#include "check.h"

#include "ingest/ingest.h"

static struct nl_err err;

static struct nl_trace *load_bytes(const char *text, size_t len, unsigned threads)
{
    struct nl_job job = {.threads = threads};
    struct nl_input input = {
        .path = "-", .name = "t.json", .encoding = "plain", .rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(text, len, &err);
    if (!stream)
        return NULL;
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "t.json", "kineto");
    struct nl_reading reading = {builder, source, &input, &job, stream, NULL};
    bool ok = nl_format_kineto.load(&reading, &err);
    nl_stream_close(stream);
    if (ok)
        return nl_builder_finish(builder, &err);
    nl_builder_free(builder);
    return NULL;
}

static struct nl_trace *load(const char *text)
{
    return load_bytes(text, strlen(text), 1);
}

/* Row of the slice of this name, NL_NULL_ROW when there is none. */
static uint32_t find(const struct nl_trace *t, const char *name)
{
    uint32_t id = nl_dict_find(&t->names, nl_str(name));
    for (uint32_t i = 0; i < t->slice.rows; i++)
        if (t->slice.name[i] == id)
            return i;
    return NL_NULL_ROW;
}

/* Count that coverage has for an item, 0 when it is not there. */
static int64_t covered(const struct nl_trace *t, const char *item)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < t->coverage.rows; i++)
        if (nl_str_is(nl_trace_name(t, t->coverage.item[i]), item))
            sum += t->coverage.count[i];
    return sum;
}

#endif
