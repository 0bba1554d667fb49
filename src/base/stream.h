/*
 * stream — the bytes of an input in order, decompressed: plain, gzip (ISA-L) or zstd, recognised
 * by content. Concatenated gzip members and zstd frames are read through. Memory stays at a few
 * buffers whatever the input's size. For compressed input a thread inflates ahead into a bounded
 * ring; for plain input reads happen in the caller.
 *
 *     struct nl_stream *s = nl_stream_open(path, job, err);
 *     while ((n = nl_stream_read(s, buffer, sizeof buffer, err)) > 0) ...
 *     nl_stream_close(s);
 *
 * A damaged or cut compressed file gives all bytes up to the damage first; the read after that
 * returns 0 and nl_stream_damage says what happened (a cut file is loaded with coverage, not
 * refused).
 */
#ifndef NL_STREAM_H
#define NL_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/job.h"
#include "base/str.h"

struct nl_stream;

/* path "-" is stdin. `job` may be NULL; its `done` counts raw (compressed) bytes read, `total`
 * the file's size. The ratio of decompressed to compressed bytes is capped (zip bombs): over
 * 400:1 beyond the first GiB reading fails with NL_LIMIT. */
struct nl_stream *nl_stream_open(const char *path, struct nl_job *job, struct nl_err *err);

/* The same of an open file, which the stream takes, also when it fails; `path` is for messages. */
struct nl_stream *nl_stream_open_file(int fd, const char *path, struct nl_job *job,
                                      struct nl_err *err);

/* A stream over memory (borrowed), for tests, fuzzers and sniffing; same recognition. */
struct nl_stream *nl_stream_memory(const void *bytes, size_t len, struct nl_err *err);

void nl_stream_close(struct nl_stream *stream);

/* Reads up to `room` bytes; as many as there are unless the end comes. 0 = end, -1 = error. */
ssize_t nl_stream_read(struct nl_stream *stream, void *buffer, size_t room, struct nl_err *err);

/* Data decoded ahead, in place. NL_STREAM_BEFORE bytes before `bytes` and NL_STREAM_BEHIND after
 * the last of the `len` may be written to. */
#define NL_STREAM_BEFORE ((size_t)64 << 10)
#define NL_STREAM_BEHIND 64
struct nl_stream_piece {
    char *bytes; /* NULL: nothing is lent */
    size_t len;
    void *buffer;
};

/* The next bytes without a copy, until they are given back; from any thread, one at a time.
 * Nothing is lent when bytes are not decoded ahead, at the end and after errors:
 * nl_stream_read says which. */
struct nl_stream_piece nl_stream_lend(struct nl_stream *stream);

/* Gives a piece back, also from another thread; *piece lends nothing then. All pieces are given
 * back before the stream is closed. */
void nl_stream_return(struct nl_stream *stream, struct nl_stream_piece *piece);

/* Whether a separate thread decodes ahead. */
bool nl_stream_is_ahead(const struct nl_stream *stream);

/* The whole file added to `out`, decompressed. NL_FORMAT when compressed data is cut or damaged,
 * NL_LIMIT when it does not fit in out->max. */
NL_MUST_CHECK bool nl_stream_read_all(struct nl_buf *out, const char *path, struct nl_err *err);

/* NULL, or why the compressed data ended early ("gzip data ends without its trailer", ...). */
const char *nl_stream_damage(const struct nl_stream *stream);

/* "plain", "gzip" or "zstd". */
const char *nl_stream_encoding(const struct nl_stream *stream);

#endif
