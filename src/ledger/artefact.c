/* Artefacts: write, sync, rename; read and check. All files are opened below the descriptor of a
 * folder, without following links: a ledger may have come with somebody else's files. */
#define _GNU_SOURCE
#include "ledger/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stream.h"
#include "ledger/ledgershare.h"

#define STEP  ((size_t)1 << 20)
#define LEVEL 3

#define TEMPORARY_LETTERS 12
#define TEMPORARY_TEXT    (TEMPORARY_LETTERS + 5) /* "new." and the NUL */

/* The folder of artefacts, opened without following a link; "made" on request. -1 with errno. */
static int open_top(const char *ledger, bool make)
{
    int above = open(ledger, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return -1;
    if (make && mkdirat(above, "artefacts", 0700) == 0) {
        int folder = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0) {
            (void)fsync(folder); /* the rows that name its contents will last */
            close(folder);
        }
    }
    int fd = openat(above, "artefacts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int failure = errno;
    close(above);
    errno = failure;
    return fd;
}

/* The folder of two digits that contains the artefact. -1 with errno. */
static int open_two(int top, const char *sha256)
{
    const char two[3] = {sha256[0], sha256[1], '\0'};
    return openat(top, two, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void artefact_file_name(char name[NL_DIGEST_TEXT + 4], const char *sha256)
{
    snprintf(name, NL_DIGEST_TEXT + 4, "%.64s.zst", sha256);
}

/* For messages, and for who asks; no file is opened by it. */
char *nl_artefact_path(const char *ledger, const char *sha256)
{
    size_t room = strlen(ledger) + NL_DIGEST_TEXT + 32;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/artefacts/%.2s/%.64s.zst", ledger, sha256, sha256);
    return path;
}

/* Whatever says that something is a digest may be a database that somebody else wrote. */
static bool is_digest(const char *sha256, struct nl_err *err)
{
    return nl_digest_is_text(sha256) || nl_fail(err, NL_FORMAT,
                                                "this ledger is damaged: the name of an artefact "
                                                "is not a SHA-256; remove the run with "
                                                "rm and gc, and add its profile again");
}

bool nl_artefact_touch(const char *ledger, const char *sha256)
{
    char name[NL_DIGEST_TEXT + 4];
    struct stat info;
    if (!nl_digest_is_text(sha256))
        return false;
    artefact_file_name(name, sha256);
    int top = open_top(ledger, false), two = top >= 0 ? open_two(top, sha256) : -1;
    bool there =
        two >= 0 && fstatat(two, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    /* A ledger that is read only cannot be marked, and is not swept either. */
    if (there)
        (void)utimensat(two, name, NULL, AT_SYMLINK_NOFOLLOW);
    if (two >= 0)
        close(two);
    if (top >= 0)
        close(top);
    return there;
}

bool nl_artefact_stored(const char *ledger, const char *sha256, uint64_t *bytes)
{
    char name[NL_DIGEST_TEXT + 4];
    struct stat info;
    if (!nl_digest_is_text(sha256))
        return false;
    artefact_file_name(name, sha256);
    int top = open_top(ledger, false), two = top >= 0 ? open_two(top, sha256) : -1;
    bool there = two >= 0 && fstatat(two, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there)
        *bytes = (uint64_t)info.st_size;
    if (two >= 0)
        close(two);
    if (top >= 0)
        close(top);
    return there;
}

static bool cannot_write(const char *path, int failure, struct nl_err *err)
{
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_WRITE, "cannot write: %s; nothing was left behind", strerror(failure));
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
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
            nl_memory_exhausted(size);
        if (ZSTD_isError(left))
            return nl_fail(err, NL_INTERNAL, "zstd: %s", ZSTD_getErrorName(left));
        if (!nl_write_all(packer->fd, packer->out, output.pos))
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

/* A new file with an unused name, in the folder of artefacts. -1 with errno. */
static int new_file(int top, char name[TEMPORARY_TEXT])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[TEMPORARY_LETTERS];
    int fd = -1;
    for (int i = 0; i < 100; i++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        for (size_t j = 0; j < sizeof random; j++)
            random[j] = (unsigned char)letters[random[j] % 32];
        snprintf(name, TEMPORARY_TEXT, "new.%.*s", TEMPORARY_LETTERS, (const char *)random);
        fd = openat(top, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* In a ledger that a group shares, what is made is the group's (ledgershare.h). */
static void share(int top, int fd, mode_t mode)
{
    struct stat info;
    if (fstat(top, &info) == 0 && nl_ledger_mode_shared(info.st_mode))
        (void)!fchmod(fd, mode);
}

/* Gives the finished temporary its name, and makes the name last; that of its
 * folder: nl_artefact_last. */
static bool put_in_place(int top, const char *temporary, const char *sha256)
{
    const char two[3] = {sha256[0], sha256[1], '\0'};
    char name[NL_DIGEST_TEXT + 4];
    bool fresh = mkdirat(top, two, 0700) == 0;
    int folder = fresh || errno == EEXIST ? open_two(top, sha256) : -1;
    if (folder < 0)
        return false;
    if (fresh)
        share(top, folder, NL_SHARED_FOLDER);
    artefact_file_name(name, sha256);
    bool done = renameat(top, temporary, folder, name) == 0 && fsync(folder) == 0;
    int failure = errno;
    close(folder);
    errno = failure;
    return done;
}

static bool store_below(int top, const char *path, struct nl_artefact *artefact, const void *bytes,
                        size_t size, struct nl_job *job, struct nl_err *err)
{
    char temporary[TEMPORARY_TEXT];
    int fd = new_file(top, temporary);
    if (fd < 0)
        return cannot_write(path, errno, err);
    bool done = compress_to(fd, path, bytes, size, job, err);
    if (done && fsync(fd) != 0)
        done = cannot_write(path, errno, err);
    share(top, fd, NL_SHARED_FILE);
    close(fd);
    if (done && !put_in_place(top, temporary, artefact->sha256))
        done = cannot_write(path, errno, err);
    if (!done)
        unlinkat(top, temporary, 0);
    artefact->stored = done;
    return done;
}

static bool store(const char *ledger, struct nl_artefact *artefact, const void *bytes, size_t size,
                  struct nl_job *job, struct nl_err *err)
{
    if (!nl_make_folders_lasting(ledger, err))
        return false;
    char *path = nl_artefact_path(ledger, artefact->sha256);
    int top = open_top(ledger, true);
    bool done = top >= 0 ? store_below(top, path, artefact, bytes, size, job, err)
                         : cannot_write(path, errno, err);
    if (top >= 0)
        close(top);
    nl_free(path);
    return done;
}

bool nl_artefact_keep_bytes(struct nl_artefact *artefact, const char *ledger, const void *bytes,
                            size_t size, struct nl_job *job, struct nl_err *err)
{
    artefact->bytes = size;
    artefact->stored = false;
    if (!nl_digest_bytes(artefact->sha256, bytes, size, err))
        return false;
    return nl_artefact_touch(ledger, artefact->sha256) ||
           store(ledger, artefact, bytes, size, job, err);
}

bool nl_artefact_last(const char *ledger, struct nl_err *err)
{
    int top = open_top(ledger, false);
    bool done = (top >= 0 && fsync(top) == 0) || cannot_write(ledger, errno, err);
    if (top >= 0)
        close(top);
    return done;
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

FILE *nl_artefact_scratch(const char *ledger, struct nl_err *err)
{
    char name[TEMPORARY_TEXT];
    FILE *stream = NULL;
    if (!nl_make_folders(ledger, err))
        return NULL;
    int top = open_top(ledger, true), fd = top >= 0 ? new_file(top, name) : -1;
    int failure = errno;
    if (fd >= 0 && unlinkat(top, name, 0) == 0)
        stream = fdopen(fd, "w+");
    if (!stream && fd >= 0) {
        failure = errno;
        close(fd);
    }
    if (top >= 0)
        close(top);
    if (!stream)
        (void)cannot_write(ledger, failure, err);
    return stream;
}

bool nl_artefact_keep_stream(struct nl_artefact *artefact, const char *ledger, FILE *stream,
                             struct nl_job *job, struct nl_err *err)
{
    struct stat info;
    if (fflush(stream) != 0 || fstat(fileno(stream), &info) != 0)
        return cannot_write(ledger, errno, err);
    size_t size = (size_t)info.st_size;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fileno(stream), 0) : NULL;
    if (bytes == MAP_FAILED)
        return nl_fail(err, NL_MEMORY, "cannot map what is to be kept: %s", strerror(errno));
    bool done = nl_artefact_keep_bytes(artefact, ledger, bytes ? bytes : "", size, job, err);
    if (bytes)
        munmap(bytes, size);
    return done;
}

/* A stream of a regular file below the ledger; links are not followed on the way. */
static struct nl_stream *open_artefact(const char *ledger, const char *sha256, const char *path,
                                       struct nl_err *err)
{
    char name[NL_DIGEST_TEXT + 4];
    struct stat info;
    artefact_file_name(name, sha256);
    int top = open_top(ledger, false), two = top >= 0 ? open_two(top, sha256) : -1;
    int fd = two >= 0 ? openat(two, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    int failure = errno;
    if (two >= 0)
        close(two);
    if (top >= 0)
        close(top);
    bool regular = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (regular)
        return nl_stream_open_file(fd, path, NULL, err);
    nl_err_at(err, path, -1);
    (void)nl_fail(err, NL_IO, "cannot open: %s", fd < 0 ? strerror(failure) : "not a regular file");
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* Reads an artefact to its end, giving every piece to `take`, and checks what it was. */
static bool read_checked(const char *ledger, const char *sha256, struct nl_job *job,
                         bool (*take)(void *context, const char *bytes, size_t size,
                                      struct nl_err *err),
                         void *context, struct nl_err *err)
{
    if (!is_digest(sha256, err))
        return false;
    char *path = nl_artefact_path(ledger, sha256), *part = nl_alloc(STEP);
    char got[NL_DIGEST_TEXT] = "";
    struct nl_stream *stream = open_artefact(ledger, sha256, path, err);
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

static bool to_nowhere(void *context, const char *bytes, size_t size, struct nl_err *err)
{
    (void)context;
    (void)bytes;
    (void)size;
    (void)err;
    return true;
}

bool nl_artefact_verify(const char *ledger, const char *sha256, struct nl_job *job,
                        struct nl_err *err)
{
    return read_checked(ledger, sha256, job, to_nowhere, NULL, err);
}
