/*
 * faultshim — for LD_PRELOAD: the n-th call of a kind fails, as a full disk or a lack of memory
 * would make it. tests/faults.py runs commands with it.
 *
 *   FAULT_KIND   malloc open read write mmap fsync rename thread folder remove stat codec; all: calls are counted only
 *   FAULT_AT     n: this call fails; 0 or unset: none
 *   FAULT_STICKY 1: all calls of the kind from the n-th on fail
 *   FAULT_ERRNO  number of the error (EIO); memory is always ENOMEM, threads EAGAIN
 *   FAULT_COUNT  file of 8 bytes a kind that holds the numbers of calls, also when the process is killed
 *   FAULT_STACKS file of 8 bytes a call of FAULT_KIND: a number for the functions that it was called from
 *
 * glibc's regular expressions and look-up of users are left alone: without memory regcomp frees
 * twice, regexec says that nothing matches, and getpwuid_r follows a null pointer or aborts (2.36),
 * which is not ours to mend. Children are left alone. Calls that libc makes of itself (the open in
 * fopen) are not seen; fopen is.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* open and open64 are two functions here */
#undef _TIME_BITS
#undef _FORTIFY_SOURCE /* its inline functions are the ones that this file defines */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN          __attribute__((visibility("default")))
#define STREAM_FAILED 0x20 /* glibc's _IO_ERR_SEEN, which ferror reads */
#define ZSTD_NO_MEMORY                                                                             \
    ((size_t)-64) /* its errors are negative; this one is among those that stay */

enum kind {
    MALLOC,
    OPEN,
    READ,
    WRITE,
    MMAP,
    FSYNC,
    RENAME,
    THREAD,
    FOLDER,
    REMOVE,
    STAT,
    CODEC,
    KINDS
};
static const char *const names[KINDS + 1] = {"malloc", "open",   "read",   "write",  "mmap",
                                             "fsync",  "rename", "thread", "folder", "remove",
                                             "stat",   "codec",  "all"};

static bool active;
static enum kind chosen; /* KINDS: all are counted */
static uint64_t fails_at;
static bool sticky;
static int error_number = EIO;
static _Atomic uint64_t own_count[KINDS];
static _Atomic uint64_t *count = own_count;
static uint64_t *stacks; /* a number for each call's stack */
static uint64_t stacks_most;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* The whole file in memory that other processes see; NULL when there is none. */
static void *shared_file(const char *path, uint64_t *bytes)
{
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return NULL;
    *bytes = (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_END);
    void *at = (void *)syscall(SYS_mmap, NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    return at == MAP_FAILED ? NULL : at;
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
    const char *error = getenv("FAULT_ERRNO");
    uint64_t bytes = 0;
    void *frames[2], *counts = shared_file(getenv("FAULT_COUNT"), &bytes);
    if (counts && bytes >= sizeof own_count)
        count = counts;
    stacks = shared_file(getenv("FAULT_STACKS"), &bytes);
    stacks_most = bytes / sizeof *stacks;
    if (stacks)
        (void)backtrace(frames, 2); /* its library is loaded now, not within a call */
    fails_at = at ? strtoull(at, NULL, 10) : 0;
    sticky = getenv("FAULT_STICKY") != NULL;
    error_number = error ? (int)strtol(error, NULL, 10) : EIO;
    for (int i = 0; kind && i <= KINDS; i++)
        if (strcmp(names[i], kind) == 0) {
            chosen = (enum kind)i;
            active = true;
        }
    unsetenv("FAULT_KIND");
    unsetenv("LD_PRELOAD");
}

static _Thread_local bool spared;

static void keep_stack(uint64_t number)
{
    void *frames[64];
    spared = true;
    int depth = backtrace(frames, 64);
    uint64_t sum = 1469598103934665603u;
    for (int i = 2; i < depth; i++)
        sum = (sum ^ (uintptr_t)frames[i]) * 1099511628211u;
    stacks[number] = sum;
    spared = false;
}

/* Counts a call; true when it is one that fails. */
static bool hit(enum kind kind, int error)
{
    if (!active || spared || (chosen != KINDS && chosen != kind))
        return false;
    uint64_t number = atomic_fetch_add(&count[kind], 1);
    if (stacks && number < stacks_most)
        keep_stack(number);
    if (!fails_at || (sticky ? number + 1 < fails_at : number + 1 != fails_at))
        return false;
    errno = error;
    return true;
}

/* The function that stands behind ours. */
#define BEHIND(result, name, ...)                                                                  \
    static result (*behind)(__VA_ARGS__);                                                          \
    if (!behind) {                                                                                 \
        void *symbol = dlsym(RTLD_NEXT, #name);                                                    \
        memcpy(&behind, &symbol, sizeof behind);                                                   \
    }

SEEN void *malloc(size_t size)
{
    return hit(MALLOC, ENOMEM) ? NULL : __libc_malloc(size);
}

SEEN void *calloc(size_t number, size_t size)
{
    return hit(MALLOC, ENOMEM) ? NULL : __libc_calloc(number, size);
}

SEEN void *realloc(void *old, size_t size)
{
    return hit(MALLOC, ENOMEM) ? NULL : __libc_realloc(old, size);
}

#define OPENS(name)                                                                                \
    SEEN int name(const char *path, int flags, ...)                                                \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                    \
        va_end(more);                                                                              \
        BEHIND(int, name, const char *, int, ...)                                                  \
        return hit(OPEN, error_number) ? -1 : behind(path, flags, mode);                           \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                             \
    SEEN int name(int folder, const char *path, int flags, ...)                                    \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                    \
        va_end(more);                                                                              \
        BEHIND(int, name, int, const char *, int, ...)                                             \
        return hit(OPEN, error_number) ? -1 : behind(folder, path, flags, mode);                   \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define PASSES(result, name, kind, failed, parameters, arguments, types)                           \
    SEEN result name parameters                                                                    \
    {                                                                                              \
        BEHIND(result, name, types)                                                                \
        return hit(kind, error_number) ? failed : behind arguments;                                \
    }
#define LIST(...) __VA_ARGS__

PASSES(int, mkostemp, OPEN, -1, (char *path, int flags), (path, flags), LIST(char *, int))
PASSES(int, mkostemp64, OPEN, -1, (char *path, int flags), (path, flags), LIST(char *, int))
PASSES(char *, mkdtemp, OPEN, NULL, (char *path), (path), LIST(char *))
PASSES(FILE *, fopen, OPEN, NULL, (const char *path, const char *mode), (path, mode),
       LIST(const char *, const char *))
PASSES(FILE *, fopen64, OPEN, NULL, (const char *path, const char *mode), (path, mode),
       LIST(const char *, const char *))
PASSES(FILE *, fdopen, OPEN, NULL, (int fd, const char *mode), (fd, mode), LIST(int, const char *))
PASSES(ssize_t, read, READ, -1, (int fd, void *to, size_t size), (fd, to, size),
       LIST(int, void *, size_t))
PASSES(ssize_t, pread, READ, -1, (int fd, void *to, size_t size, off_t at), (fd, to, size, at),
       LIST(int, void *, size_t, off_t))
PASSES(ssize_t, pread64, READ, -1, (int fd, void *to, size_t size, off_t at), (fd, to, size, at),
       LIST(int, void *, size_t, off_t))
PASSES(ssize_t, pwrite, WRITE, -1, (int fd, const void *from, size_t size, off_t at),
       (fd, from, size, at), LIST(int, const void *, size_t, off_t))
PASSES(ssize_t, pwrite64, WRITE, -1, (int fd, const void *from, size_t size, off_t at),
       (fd, from, size, at), LIST(int, const void *, size_t, off_t))
PASSES(int, ftruncate, WRITE, -1, (int fd, off_t size), (fd, size), LIST(int, off_t))
PASSES(int, ftruncate64, WRITE, -1, (int fd, off_t size), (fd, size), LIST(int, off_t))
PASSES(void *, mmap, MMAP, MAP_FAILED,
       (void *at, size_t size, int may, int how, int fd, off_t from),
       (at, size, may, how, fd, from), LIST(void *, size_t, int, int, int, off_t))
PASSES(void *, mmap64, MMAP, MAP_FAILED,
       (void *at, size_t size, int may, int how, int fd, off_t from),
       (at, size, may, how, fd, from), LIST(void *, size_t, int, int, int, off_t))
PASSES(int, fsync, FSYNC, -1, (int fd), (fd), LIST(int))
PASSES(int, fdatasync, FSYNC, -1, (int fd), (fd), LIST(int))
PASSES(int, rename, RENAME, -1, (const char *from, const char *to), (from, to),
       LIST(const char *, const char *))
PASSES(int, renameat, RENAME, -1, (int below, const char *from, int folder, const char *to),
       (below, from, folder, to), LIST(int, const char *, int, const char *))

#define FOLDERS(name, parameters, arguments, types)                                                \
    SEEN int name parameters;                                                                      \
    PASSES(int, name, FOLDER, -1, parameters, arguments, LIST types)
#define REMOVES(name, parameters, arguments, types)                                                \
    SEEN int name parameters;                                                                      \
    PASSES(int, name, REMOVE, -1, parameters, arguments, LIST types)
#define STATS(name, parameters, arguments, types)                                                  \
    SEEN int name parameters;                                                                      \
    PASSES(int, name, STAT, -1, parameters, arguments, LIST types)

FOLDERS(mkdir, (const char *path, mode_t mode), (path, mode), (const char *, mode_t))
FOLDERS(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode),
        (int, const char *, mode_t))
REMOVES(unlink, (const char *path), (path), (const char *))
REMOVES(unlinkat, (int folder, const char *path, int how), (folder, path, how),
        (int, const char *, int))
REMOVES(rmdir, (const char *path), (path), (const char *))
REMOVES(remove, (const char *path), (path), (const char *))
STATS(stat, (const char *path, void *to), (path, to), (const char *, void *))
STATS(stat64, (const char *path, void *to), (path, to), (const char *, void *))
STATS(lstat, (const char *path, void *to), (path, to), (const char *, void *))
STATS(lstat64, (const char *path, void *to), (path, to), (const char *, void *))
STATS(fstat, (int fd, void *to), (fd, to), (int, void *))
STATS(fstat64, (int fd, void *to), (fd, to), (int, void *))
STATS(fstatat, (int folder, const char *path, void *to, int how), (folder, path, to, how),
      (int, const char *, void *, int))
STATS(fstatat64, (int folder, const char *path, void *to, int how), (folder, path, to, how),
      (int, const char *, void *, int))

/* zstd without memory, of which a call of malloc here and there would be a rare case. */
SEEN void *ZSTD_createDStream(void);
SEEN void *ZSTD_createCCtx(void);
SEEN size_t ZSTD_decompressStream(void *stream, void *to, void *from);
SEEN size_t ZSTD_compressStream2(void *stream, void *to, void *from, int how);
SEEN size_t ZSTD_compress(void *to, size_t room, const void *from, size_t size, int level);
SEEN size_t ZSTD_decompress(void *to, size_t room, const void *from, size_t size);
PASSES(void *, ZSTD_createDStream, CODEC, NULL, (void), (), void)
PASSES(void *, ZSTD_createCCtx, CODEC, NULL, (void), (), void)
PASSES(size_t, ZSTD_decompressStream, CODEC, ZSTD_NO_MEMORY, (void *stream, void *to, void *from),
       (stream, to, from), LIST(void *, void *, void *))
PASSES(size_t, ZSTD_compressStream2, CODEC, ZSTD_NO_MEMORY,
       (void *stream, void *to, void *from, int how), (stream, to, from, how),
       LIST(void *, void *, void *, int))
PASSES(size_t, ZSTD_compress, CODEC, ZSTD_NO_MEMORY,
       (void *to, size_t room, const void *from, size_t size, int level),
       (to, room, from, size, level), LIST(void *, size_t, const void *, size_t, int))
PASSES(size_t, ZSTD_decompress, CODEC, ZSTD_NO_MEMORY,
       (void *to, size_t room, const void *from, size_t size), (to, room, from, size),
       LIST(void *, size_t, const void *, size_t))

/* As in regex.h, which declares an array of variable length. */
SEEN int regcomp(void *made, const char *pattern, int flags);
SEEN int regexec(const void *made, const char *text, size_t places, void *where, int flags);

SEEN int regcomp(void *made, const char *pattern, int flags)
{
    BEHIND(int, regcomp, void *, const char *, int)
    spared = true;
    int result = behind(made, pattern, flags);
    spared = false;
    return result;
}

SEEN int regexec(const void *made, const char *text, size_t places, void *where, int flags)
{
    BEHIND(int, regexec, const void *, const char *, size_t, void *, int)
    spared = true;
    int result = behind(made, text, places, where, flags);
    spared = false;
    return result;
}

SEEN int getpwuid_r(uid_t user, void *entry, char *room, size_t size, void *found);

SEEN int getpwuid_r(uid_t user, void *entry, char *room, size_t size, void *found)
{
    BEHIND(int, getpwuid_r, uid_t, void *, char *, size_t, void *)
    spared = true;
    int result = behind(user, entry, room, size, found);
    spared = false;
    return result;
}

/* What is said on the terminal gets through. */
SEEN ssize_t write(int fd, const void *from, size_t size)
{
    BEHIND(ssize_t, write, int, const void *, size_t)
    return fd > STDERR_FILENO && hit(WRITE, error_number) ? -1 : behind(fd, from, size);
}

SEEN size_t fwrite(const void *from, size_t size, size_t number, FILE *stream)
{
    BEHIND(size_t, fwrite, const void *, size_t, size_t, FILE *)
    if (stream != stderr && stream != stdout && hit(WRITE, error_number)) {
        stream->_flags |= STREAM_FAILED;
        return 0;
    }
    return behind(from, size, number, stream);
}

SEEN int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                        void *context)
{
    BEHIND(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
    return hit(THREAD, EAGAIN) ? EAGAIN : behind(thread, attributes, run, context);
}
