/*
 * archive — profiles packed together: tar (plain, gzip, zstd) and ZIP, known by their content. Each
 * regular file in one is inflated into an unnamed temporary file; no name of an archive ever
 * becomes a name on the disk. An archive in an archive is opened likewise.
 *
 * Bounds: NL_ARCHIVE_MEMBERS files, NL_ARCHIVE_DEPTH archives within each other, 400 bytes from one
 * byte beyond the first 64 MiB, and nine tenths of what is free in the folder for temporary files.
 */
#ifndef NL_ARCHIVE_H
#define NL_ARCHIVE_H

#include <stdint.h>

#include "base/err.h"
#include "base/job.h"
#include "base/stream.h"
#include "base/str.h"

#define NL_ARCHIVE_MEMBERS 10000u
#define NL_ARCHIVE_DEPTH   3u

/* What was not taken out of archives, by why. */
struct nl_archive_told {
    int64_t others;   /* links, devices, sparse files */
    int64_t locked;   /* with a password */
    int64_t unpacked; /* packed in a way that is not read */
    int64_t damaged;  /* taken as far as they are whole, or not at all */
    int64_t cut;      /* archives that end early */
    int64_t deep;     /* archives in too many others */
};

struct nl_unpack {
    /* Gets each member; takes the descriptor, also when it fails. */
    bool (*member)(struct nl_unpack *unpack, struct nl_str name, int fd, struct nl_err *err);
    void *context;
    const char *only;   /* the one member that is wanted, or NULL */
    const char *folder; /* for the files; NULL: that for temporary files */
    struct nl_job *job;
    unsigned depth;
    /* so far */
    size_t members;
    uint64_t packed, bytes, room; /* of the outermost archives; written; may be written */
    struct nl_archive_told told;
};

/* Is this file an archive? False as well for what cannot be read. */
bool nl_archive_is(const char *path);

/* All members in their order. Fails with NL_LIMIT over a bound, NL_FORMAT when nothing of it can be
 * read, NL_IO when a temporary file cannot be written, NL_INTERRUPTED. */
NL_MUST_CHECK bool nl_archive_unpack(struct nl_unpack *unpack, const char *path,
                                     struct nl_err *err);

/* A new unnamed file in `folder`, or with NULL in that for temporary files; -1 with errno. */
int nl_archive_spool(const char *folder);

/* Lets this process, and those that it starts, open a file per member. */
void nl_archive_allow_files(void);

/* ---- Within archive*.c ---- */

/* One member while it is written. fd < 0: it is not wanted. */
struct nl_archive_out {
    struct nl_unpack *unpack;
    struct nl_str name;
    int fd;
};
NL_MUST_CHECK bool nl_archive_begin(struct nl_archive_out *out, struct nl_unpack *unpack,
                                    struct nl_str name, struct nl_err *err);
NL_MUST_CHECK bool nl_archive_write(struct nl_archive_out *out, const void *bytes, size_t len,
                                    struct nl_err *err);
/* Hands it over, or opens it when it is an archive itself. */
NL_MUST_CHECK bool nl_archive_end(struct nl_archive_out *out, struct nl_err *err);
void nl_archive_drop(struct nl_archive_out *out);

NL_MUST_CHECK bool nl_archive_tar(struct nl_unpack *unpack, struct nl_stream *stream,
                                  struct nl_err *err);
bool nl_archive_is_tar(const unsigned char *block); /* 512 bytes */
NL_MUST_CHECK bool nl_archive_zip(struct nl_unpack *unpack, const unsigned char *bytes, size_t size,
                                  struct nl_err *err);

#endif
