/* reading — see reading.h. */
#include "ingest/reading.h"

#include "ingest/ingest.h"
#include "ingest/lib/wholefile.h"

struct nl_reading nl_reading_begin(struct nl_builder *builder, const struct nl_format *format,
                                   const struct nl_input *input, struct nl_job *job)
{
    uint32_t source = nl_builder_source(builder, input->name, format->name);
    nl_builder_source_bytes(builder, source, input->bytes);
    if (input->rank != NL_NULL_I64)
        nl_builder_rank(builder, source, input->rank);
    return (struct nl_reading){builder, source, input, job, NULL, NULL};
}

/* The same line for every format: what came before the cut is loaded. */
static void tell_cut(const struct nl_reading *reading, const char *damage)
{
    nl_builder_coverage(reading->builder, reading->source, "truncated: compressed data", 1, damage);
}

static bool load_stream(struct nl_reading *reading, const struct nl_format *format,
                        struct nl_err *err)
{
    reading->stream = nl_stream_open(reading->input->path, reading->job, err);
    if (!reading->stream)
        return false;
    bool done = format->load(reading, err);
    const char *damage = nl_stream_damage(reading->stream);
    if (done && damage)
        tell_cut(reading, damage);
    nl_stream_close(reading->stream);
    reading->stream = NULL;
    return done;
}

static bool load_whole(struct nl_reading *reading, const struct nl_format *format,
                       struct nl_err *err)
{
    struct whole_file file;
    if (!whole_file_open(&file, reading->input, reading->job, err))
        return false;
    reading->file = &file;
    bool done = format->load(reading, err);
    if (done && file.cut)
        tell_cut(reading, file.damage);
    whole_file_close(&file);
    reading->file = NULL;
    return done;
}

bool nl_reading_load(struct nl_reading *reading, const struct nl_format *format, struct nl_err *err)
{
    if (format->feed == NL_FEED_STREAM && !reading->stream)
        return load_stream(reading, format, err);
    if (format->feed == NL_FEED_WHOLE && !reading->file)
        return load_whole(reading, format, err);
    return format->load(reading, err);
}
