/* reading — see reading.h. */
#include "ingest/reading.h"

#include "ingest/ingest.h"

struct nl_reading nl_reading_begin(struct nl_builder *builder, const struct nl_format *format,
                                   const struct nl_input *input, struct nl_job *job)
{
    uint32_t source = nl_builder_source(builder, input->name, format->name);
    nl_builder_source_bytes(builder, source, input->bytes);
    if (input->rank != NL_NULL_I64)
        nl_builder_rank(builder, source, input->rank);
    return (struct nl_reading){builder, source, input, job, NULL};
}

bool nl_reading_load(struct nl_reading *reading, const struct nl_format *format, struct nl_err *err)
{
    if (!format->streams || reading->stream)
        return format->load(reading, err);
    reading->stream = nl_stream_open(reading->input->path, reading->job, err);
    if (!reading->stream)
        return false;
    bool done = format->load(reading, err);
    nl_stream_close(reading->stream);
    reading->stream = NULL;
    return done;
}
