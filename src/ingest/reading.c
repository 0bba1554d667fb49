/* reading — see reading.h. */
#include "ingest/reading.h"

#include "ingest/ingest.h"

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
