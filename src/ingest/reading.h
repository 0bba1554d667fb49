/*
 * reading — one file on its way into the store: what a format's `load` works with.
 *
 *     struct nl_reading reading = nl_reading_begin(builder, format, &input, job);
 *     if (!nl_reading_load(&reading, format, err)) ...
 *
 * The format's row says how it is fed (enum nl_feed): an open stream of decompressed bytes,
 * the whole file, or neither, when it opens reading->input->path itself. A test or a fuzzer
 * that has bytes sets `stream` (nl_stream_memory) or `file` ({.bytes, .size}) itself and
 * closes it. Everything is borrowed.
 */
#ifndef NL_READING_H
#define NL_READING_H

#include "base/job.h"
#include "base/stream.h"
#include "store/builder.h"

struct whole_file;
struct nl_format;
struct nl_input;

struct nl_reading {
    struct nl_builder *builder; /* rows go here … */
    uint32_t source;            /* … under this source */
    const struct nl_input *input;
    struct nl_job *job;            /* may be NULL */
    struct nl_stream *stream;      /* of NL_FEED_STREAM, else NULL */
    const struct whole_file *file; /* of NL_FEED_WHOLE, else NULL */
};

/* A reading under a separate source, which has the input's name, size and rank. */
struct nl_reading nl_reading_begin(struct nl_builder *builder, const struct nl_format *format,
                                   const struct nl_input *input, struct nl_job *job);

/* Opens what the format asks for, unless it is there; loads; closes what it opened. Coverage says
 * when compressed data was cut. Errors as nl_format.load. */
NL_MUST_CHECK bool nl_reading_load(struct nl_reading *reading, const struct nl_format *format,
                                   struct nl_err *err);

#endif
