/* Artefacts: write, sync, rename; read and check. */
#define _GNU_SOURCE
#include "ledger/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stream.h"

#define STEP  ((size_t)1 << 20)
#define LEVEL 3

static char *join(const char *folder, const char *format, const char *name)
{
    size_t room = strlen(folder) + strlen(format) + 2 * strlen(name) + 16;
    char *path = nl_alloc(room);
    int at = snprintf(path, room, "%s/artefacts/", folder);
    snprintf(path + at, room - (size_t)at, format, name);
    return path;
}

char *nl_artefact_path(const char *ledger, const char *sha256)
{
    char name[NL_DIGEST_TEXT + 4];
    snprintf(name, sizeof name, "%.2s/%s", sha256, sha256);
    return join(ledger, "%s.zst", name);
}

bool nl_artefact_touch(const char *ledger, const char *sha256)
{
    char *path = nl_artefact_path(ledger, sha256);
    /* A ledger that is read only cannot be marked, and is not swept either. */
    bool there = utimensat(AT_FDCWD, path, NULL, 0) == 0 || access(path, R_OK) == 0;
    nl_free(path);
    return there;
}

static bool cannot_write(const char *path, int failure, struct nl_err *err)
{
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_WRITE, "cannot write: %s; nothing was left behind", strerror(failure));
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

struct packer {
    ZSTD_CCtx *context;
    char *out;
    size_t room;
    int fd;
    const char *path; /* for messages */
};

/* Compresses a piece; the last one ends the frame. */
static bool pack(struct packer *packer, const unsigned char *bytes, size_t size, bool last,
                 struct nl_err *err)
{
    ZSTD_inBuffer input = {bytes, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer output = {packer->out, packer->room, 0};
        left = ZSTD_compressStream2(packer->context, &output, &input,
                                    last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return nl_fail(err, NL_INTERNAL, "zstd: %s", ZSTD_getErrorName(left));
        if (!write_all(packer->fd, packer->out, output.pos))
            return cannot_write(packer->path, errno, err);
    } while (last ? left > 0 : input.pos < input.size);
    return true;
}

/* Compresses into an open file. */
static bool compress_to(int fd, const char *path, const unsigned char *bytes, size_t size,
                        struct nl_job *job, struct nl_err *err)
{
    struct packer packer = {ZSTD_createCCtx(), NULL, ZSTD_CStreamOutSize(), fd, path};
    if (!packer.context)
        return nl_fail(err, NL_MEMORY, "no memory to compress");
    packer.out = nl_alloc(packer.room);
    ZSTD_CCtx_setParameter(packer.context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(packer.context, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setPledgedSrcSize(packer.context, size);
    bool done = true, last = false;
    for (size_t at = 0; done && !last; at += STEP) {
        last = size - at <= STEP;
        done = pack(&packer, bytes + at, last ? size - at : STEP, last, err);
        nl_job_add(job, STEP);
        if (done && nl_job_cancelled(job))
            done = nl_fail(err, NL_INTERRUPTED, "stopped on request");
    }
    nl_free(packer.out);
    ZSTD_freeCCtx(packer.context);
    return done;
}

static bool sync_folder(const char *path, struct nl_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    return done || cannot_write(path, failure, err);
}

/* Gives the finished temporary its name, and makes the name last. */
static bool put_in_place(const char *ledger, const char *temporary, const char *path,
                         const char *sha256, struct nl_err *err)
{
    char two[3] = {sha256[0], sha256[1], '\0'};
    char *folder = join(ledger, "%s", two), *above = join(ledger, "%s", ".");
    bool fresh = mkdir(folder, 0700) == 0;
    bool done = (fresh || errno == EEXIST) || cannot_write(folder, errno, err);
    if (done && rename(temporary, path) != 0)
        done = cannot_write(path, errno, err);
    done = done && sync_folder(folder, err) && (!fresh || sync_folder(above, err));
    nl_free(folder);
    nl_free(above);
    return done;
}

static bool store(const char *ledger, const char *sha256, const void *bytes, size_t size,
                  struct nl_job *job, struct nl_err *err)
{
    char *folder = join(ledger, "%s", "."), *path = nl_artefact_path(ledger, sha256);
    char *temporary = join(ledger, "%s", "new.XXXXXX");
    bool done = nl_make_folders(folder, err);
    int fd = done ? mkostemp(temporary, O_CLOEXEC) : -1;
    if (done && fd < 0)
        done = cannot_write(folder, errno, err);
    if (done) {
        done = compress_to(fd, path, bytes, size, job, err);
        if (done && fsync(fd) != 0)
            done = cannot_write(path, errno, err);
        close(fd);
        done = done && put_in_place(ledger, temporary, path, sha256, err);
        if (!done)
            unlink(temporary);
    }
    nl_free(folder);
    nl_free(path);
    nl_free(temporary);
    return done;
}

bool nl_artefact_keep_bytes(struct nl_artefact *artefact, const char *ledger, const void *bytes,
                            size_t size, struct nl_job *job, struct nl_err *err)
{
    artefact->bytes = size;
    if (!nl_digest_bytes(artefact->sha256, bytes, size, err))
        return false;
    return nl_artefact_touch(ledger, artefact->sha256) ||
           store(ledger, artefact->sha256, bytes, size, job, err);
}

bool nl_artefact_keep_file(struct nl_artefact *artefact, const char *ledger, const char *path,
                           struct nl_job *job, struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, err))
        return false;
    bool done = nl_artefact_keep_bytes(artefact, ledger, map.bytes ? (const void *)map.bytes : "",
                                       map.size, job, err);
    nl_map_close(&map);
    return done;
}

/* Reads an artefact to its end, giving every piece to `take`, and checks what it was. */
static bool read_checked(const char *ledger, const char *sha256, struct nl_job *job,
                         bool (*take)(void *context, const char *bytes, size_t size,
                                      struct nl_err *err),
                         void *context, struct nl_err *err)
{
    char *path = nl_artefact_path(ledger, sha256), *part = nl_alloc(STEP);
    char got[NL_DIGEST_TEXT] = "";
    struct nl_stream *stream = nl_stream_open(path, NULL, err);
    struct nl_digest *digest = stream ? nl_digest_new(err) : NULL;
    bool done = digest != NULL;
    ssize_t size = 1;
    while (done && (size = nl_stream_read(stream, part, STEP, err)) > 0) {
        nl_digest_add(digest, part, (size_t)size);
        done = take(context, part, (size_t)size, err);
        nl_job_add(job, (uint64_t)size);
        if (done && nl_job_cancelled(job))
            done = nl_fail(err, NL_INTERRUPTED, "stopped on request");
    }
    if (digest)
        nl_digest_end(digest, got);
    if (done && (size < 0 || strcmp(got, sha256) != 0)) {
        nl_err_at(err, path, -1);
        done = nl_fail(err, NL_FORMAT,
                       "this artefact of the ledger is damaged; remove the run with "
                       "rm and gc, and add its profile again");
    }
    if (stream)
        nl_stream_close(stream);
    nl_free(part);
    nl_free(path);
    return done;
}

static bool to_stream(void *context, const char *bytes, size_t size, struct nl_err *err)
{
    return fwrite(bytes, 1, size, context) == size ||
           nl_fail(err, NL_WRITE, "cannot write: %s", strerror(errno));
}

bool nl_artefact_unpack(const char *ledger, const char *sha256, const char *path,
                        struct nl_job *job, struct nl_err *err)
{
    struct nl_out out;
    if (!nl_out_open(&out, path, err))
        return false;
    if (read_checked(ledger, sha256, job, to_stream, out.stream, err))
        return nl_out_commit(&out, err);
    nl_out_abort(&out);
    return false;
}

static bool to_buffer(void *context, const char *bytes, size_t size, struct nl_err *err)
{
    struct nl_buf *out = context;
    nl_buf_add(out, bytes, size);
    return !out->overflow || nl_fail(err, NL_LIMIT, "this artefact is over %zu bytes", out->max);
}

bool nl_artefact_read(const char *ledger, const char *sha256, struct nl_buf *out,
                      struct nl_err *err)
{
    return read_checked(ledger, sha256, NULL, to_buffer, out, err);
}
