/* What archives of both kinds have in common: recognition, bounds,
 * temporary files, archives within. */
#define _GNU_SOURCE
#include "ingest/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define RATIO       400u
#define FREE_OF_IT  ((uint64_t)64 << 20) /* bytes whose ratio does not matter */
#define PACKED_HEAD ((size_t)256 << 10)  /* a block of zstd is at most half of that */
#define DESCRIPTORS 256u                 /* that this process may need besides */

enum kind { KIND_NONE, KIND_TAR, KIND_ZIP };

static const char *folder(void)
{
    const char *named = getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

int nl_archive_spool(const char *in)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/neurolens-XXXXXX", in ? in : folder());
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* ---- Recognition ---- */

/* Models, arrays, documents and programs are ZIP archives, too: their first file's name shows
 * it. */
static bool is_other_zip(const unsigned char *head, size_t len)
{
    static const char *const ends[] = {"/data.pkl",      "/.format_version", "/byteorder", ".npy",
                                       ".xml",           "mimetype",         "META-INF/",  ".MF",
                                       "/archive_format"};
    size_t name = len >= 30 ? (size_t)head[26] | (size_t)head[27] << 8 : 0;
    if (head[2] != 3 || 30 + name > len)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (name >= end && memcmp(head + 30 + name - end, ends[i], end) == 0)
            return true;
    }
    return false;
}

/* The first 512 bytes of what a packed file holds, from its first bytes: a stream of the file would
 * begin to inflate all of it in a thread. */
static bool unpacked_head(int fd, unsigned char *head)
{
    struct nl_err ignored;
    nl_err_clear(&ignored);
    unsigned char *packed = nl_alloc(PACKED_HEAD);
    ssize_t len = pread(fd, packed, PACKED_HEAD, 0);
    struct nl_stream *stream = len > 0 ? nl_stream_memory(packed, (size_t)len, &ignored) : NULL;
    ssize_t got = stream ? nl_stream_read(stream, head, 512, &ignored) : -1;
    nl_stream_close(stream);
    nl_free(packed);
    return got == 512;
}

static bool is_packed(const unsigned char *head)
{
    return memcmp(head, "\x1f\x8b", 2) == 0 || memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0;
}

static enum kind archive_kind(const char *path)
{
    unsigned char head[512] = {0};
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 22)
        return KIND_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return KIND_NONE;
    ssize_t got = pread(fd, head, sizeof head, 0);
    bool packed = is_packed(head);
    bool whole = packed ? unpacked_head(fd, head) : got == (ssize_t)sizeof head;
    close(fd);
    if (!packed && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
        return is_other_zip(head, (size_t)got) ? KIND_NONE : KIND_ZIP;
    return whole && nl_archive_is_tar(head) ? KIND_TAR : KIND_NONE;
}

bool nl_archive_is(const char *path)
{
    return archive_kind(path) != KIND_NONE;
}

/* ---- Members ---- */

/* A descriptor per member: as many as this process may have at the most. */
void nl_archive_allow_files(void)
{
    struct rlimit limit;
    rlim_t wanted = NL_ARCHIVE_MEMBERS + DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_wanted(const struct nl_unpack *unpack, struct nl_str name)
{
    size_t at = name.len;
    while (at > 0 && name.ptr[at - 1] != '/')
        at--;
    struct nl_str last = {name.ptr + at, name.len - at};
    if (last.len == 0 || last.ptr[0] == '.' || nl_str_is(last, "neurolens.yaml") ||
        nl_str_starts(name, "__MACOSX/"))
        return false;
    return !unpack->only || nl_str_is(name, unpack->only);
}

bool nl_archive_begin(struct nl_archive_out *out, struct nl_unpack *unpack, struct nl_str name,
                      struct nl_err *err)
{
    while (name.len >= 2 && name.ptr[0] == '.' && name.ptr[1] == '/')
        name = (struct nl_str){name.ptr + 2, name.len - 2};
    *out = (struct nl_archive_out){unpack, name, -1};
    if (nl_job_cancelled(unpack->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (!is_wanted(unpack, name))
        return true;
    if (++unpack->members > NL_ARCHIVE_MEMBERS)
        return nl_fail(err, NL_LIMIT, "the archive holds more than %u files; unpack it",
                       NL_ARCHIVE_MEMBERS);
    out->fd = nl_archive_spool(unpack->folder);
    if (out->fd < 0 && errno == EMFILE)
        return nl_fail(err, NL_LIMIT,
                       "the archive holds more files than this process may open; unpack it, or "
                       "raise `ulimit -n`");
    return out->fd >= 0 ||
           nl_fail(err, NL_IO, "cannot unpack into %s: %s; set TMPDIR", folder(), strerror(errno));
}

bool nl_archive_write(struct nl_archive_out *out, const void *bytes, size_t len, struct nl_err *err)
{
    struct nl_unpack *unpack = out->unpack;
    if (nl_job_cancelled(unpack->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    unpack->bytes += len;
    if (unpack->bytes > FREE_OF_IT && unpack->bytes / RATIO > unpack->packed)
        return nl_fail(err, NL_LIMIT,
                       "it unpacks to over %u times its size; if that is right, unpack it", RATIO);
    if (out->fd < 0)
        return true;
    if (unpack->bytes > unpack->room)
        return nl_fail(err, NL_LIMIT, "it unpacks to more than is free in %s; set TMPDIR",
                       folder());
    for (size_t at = 0; at < len;) {
        ssize_t put = write(out->fd, (const char *)bytes + at, len - at);
        if (put < 0 && errno != EINTR)
            return nl_fail(err, NL_IO, "cannot unpack into %s: %s; set TMPDIR", folder(),
                           strerror(errno));
        at += put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool unpack_inner(struct nl_unpack *unpack, const char *path, struct nl_err *err)
{
    const char *only = unpack->only;
    if (unpack->depth + 1 >= NL_ARCHIVE_DEPTH) {
        unpack->told.deep++;
        return true;
    }
    unpack->depth++;
    unpack->only = NULL;
    bool done = nl_archive_unpack(unpack, path, err);
    unpack->depth--;
    unpack->only = only;
    if (done || err->code != NL_FORMAT)
        return done;
    unpack->told.damaged++; /* the others are read */
    nl_err_clear(err);
    return true;
}

bool nl_archive_end(struct nl_archive_out *out, struct nl_err *err)
{
    char path[64];
    int fd = out->fd;
    out->fd = -1;
    if (fd < 0)
        return true;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!nl_archive_is(path))
        return out->unpack->member(out->unpack, out->name, fd, err);
    bool done = unpack_inner(out->unpack, path, err);
    close(fd);
    return done;
}

void nl_archive_drop(struct nl_archive_out *out)
{
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
}

/* ---- Archives ---- */

static bool unpack_zip(struct nl_unpack *unpack, const char *path, struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, err))
        return false;
    bool done = nl_archive_zip(unpack, map.bytes, map.size, err);
    nl_map_close(&map);
    return done;
}

static bool unpack_tar(struct nl_unpack *unpack, const char *path, struct nl_err *err)
{
    struct nl_stream *stream = nl_stream_open(path, NULL, err);
    if (!stream)
        return false;
    bool done = nl_archive_tar(unpack, stream, err);
    nl_stream_close(stream);
    return done;
}

bool nl_archive_unpack(struct nl_unpack *unpack, const char *path, struct nl_err *err)
{
    struct stat info;
    struct statvfs disk;
    if (unpack->depth == 0) {
        nl_archive_allow_files();
        unpack->packed += stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
        if (statvfs(folder(), &disk) == 0)
            unpack->room = unpack->bytes + (uint64_t)disk.f_bavail * disk.f_frsize / 10 * 9;
    }
    enum kind kind = archive_kind(path);
    if (kind == KIND_NONE)
        return nl_fail(err, NL_FORMAT, "no archive");
    return kind == KIND_ZIP ? unpack_zip(unpack, path, err) : unpack_tar(unpack, path, err);
}
