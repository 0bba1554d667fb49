/*
 * crashshim — for LD_PRELOAD: writes down what a command does to the files below a folder, in
 * order. tests/crash.py makes of it every state that a loss of power could leave.
 *
 *   CRASH_ROOT  the folder (absolute, without links)
 *   CRASH_LOG   the file that records are added to
 *
 * A record: kind (u32), length of the first and the second text (u32 each), inode (u64),
 * place (i64), then the texts.
 *   C create  path              W write     inode, place, bytes      T truncate  inode, size
 *   S sync    inode             R rename    from, to                 U unlink    path
 *   M folder  path, inode       D rmdir     path                     A all of a file, of which stdio wrote parts: inode, bytes
 *
 * Failed calls are not written down. Maps are not seen: only SQLite's -shm is written so, which no
 * crash keeps in any case.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* open and open64 are two functions here */
#undef _TIME_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SEEN    __attribute__((visibility("default")))
#define MAX_ALL ((size_t)64 << 20)

static int recorder = -1;
static char root[PATH_MAX];
static size_t root_len;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CRASH_LOG"), *below = getenv("CRASH_ROOT");
    if (path && below) {
        snprintf(root, sizeof root, "%s", below);
        root_len = strlen(root);
        recorder = (int)syscall(SYS_openat, AT_FDCWD, path,
                                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
    unsetenv("LD_PRELOAD");
    unsetenv("CRASH_LOG");
}

struct record {
    uint32_t kind, first, second, unused;
    uint64_t inode;
    int64_t place;
};

static void put(char kind, uint64_t inode, int64_t place, const void *first, size_t first_len,
                const void *second, size_t second_len)
{
    struct record head = {(uint32_t)kind, (uint32_t)first_len, (uint32_t)second_len, 0, inode,
                          place};
    struct iovec parts[] = {{&head, sizeof head},
                            {(void *)(uintptr_t)first, first_len},
                            {(void *)(uintptr_t)second, second_len}};
    int kept = errno;
    pthread_mutex_lock(&lock);
    if (syscall(SYS_writev, recorder, parts, 3L) < 0)
        abort();
    pthread_mutex_unlock(&lock);
    errno = kept;
}

/* An absolute path of a name below a folder's descriptor; false when it is not below the root. */
static bool place_of(char full[PATH_MAX], int folder, const char *path)
{
    char link[40];
    if (recorder < 0)
        return false;
    if (path[0] == '/') {
        snprintf(full, PATH_MAX, "%s", path);
    } else {
        ssize_t got = folder == AT_FDCWD ? -1 : 0;
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        if (folder == AT_FDCWD)
            got = getcwd(full, PATH_MAX) ? (ssize_t)strlen(full) : -1;
        else
            got = readlink(link, full, PATH_MAX - 1);
        if (got < 0)
            return false;
        snprintf(full + got, PATH_MAX - (size_t)got, "/%s", path);
    }
    return strncmp(full, root, root_len) == 0 && (full[root_len] == '/' || !full[root_len]);
}

/* Is it a file or folder below the root? Unlinked ones are not. */
static bool inode_of(int fd, uint64_t *inode, bool *folder)
{
    char link[40], full[PATH_MAX];
    struct stat info;
    if (recorder < 0 || fd < 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, full, sizeof full - 1);
    if (got < (ssize_t)root_len || strncmp(full, root, root_len) != 0 || fstat(fd, &info) != 0)
        return false;
    *inode = info.st_ino;
    *folder = S_ISDIR(info.st_mode);
    return *folder || (S_ISREG(info.st_mode) && info.st_nlink > 0);
}

#define BEHIND(result, name, ...)                                                                  \
    static result (*behind)(__VA_ARGS__);                                                          \
    if (!behind) {                                                                                 \
        void *symbol = dlsym(RTLD_NEXT, #name);                                                    \
        memcpy(&behind, &symbol, sizeof behind);                                                   \
    }

/* ---- opening ---- */

static void opened(int fd, const char *full, int flags, bool existed)
{
    uint64_t inode;
    bool folder;
    if (fd < 0 || !inode_of(fd, &inode, &folder) || folder)
        return;
    if (!existed)
        put('C', inode, 0, full, strlen(full), NULL, 0);
    else if (flags & O_TRUNC)
        put('T', inode, 0, NULL, 0, NULL, 0);
}

static int open_seen(int folder, const char *path, int flags, mode_t mode)
{
    char full[PATH_MAX];
    struct stat info;
    bool below = (flags & (O_CREAT | O_TRUNC)) && place_of(full, folder, path);
    bool existed = below && lstat(full, &info) == 0;
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (below)
        opened(fd, full, flags, existed);
    return fd;
}

#define OPENS(name)                                                                                \
    SEEN int name(const char *path, int flags, ...)                                                \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                    \
        va_end(more);                                                                              \
        return open_seen(AT_FDCWD, path, flags, mode);                                             \
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
        return open_seen(folder, path, flags, mode);                                               \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define MAKES(name)                                                                                \
    SEEN int name(char *path, int flags)                                                           \
    {                                                                                              \
        BEHIND(int, name, char *, int)                                                             \
        char full[PATH_MAX];                                                                       \
        int fd = behind(path, flags);                                                              \
        if (place_of(full, AT_FDCWD, path))                                                        \
            opened(fd, full, flags, false);                                                        \
        return fd;                                                                                 \
    }
MAKES(mkostemp)
MAKES(mkostemp64)

#define OPENS_STREAM(name)                                                                         \
    SEEN FILE *name(const char *path, const char *mode)                                            \
    {                                                                                              \
        BEHIND(FILE *, name, const char *, const char *)                                           \
        char full[PATH_MAX];                                                                       \
        struct stat info;                                                                          \
        bool below = mode[0] != 'r' && place_of(full, AT_FDCWD, path);                             \
        bool existed = below && lstat(full, &info) == 0;                                           \
        FILE *stream = behind(path, mode);                                                         \
        if (stream && below)                                                                       \
            opened(fileno(stream), full, mode[0] == 'w' ? O_TRUNC : 0, existed);                   \
        return stream;                                                                             \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

/* ---- content ---- */

static void wrote(int fd, const void *bytes, ssize_t size, int64_t place)
{
    uint64_t inode;
    bool folder;
    if (size > 0 && inode_of(fd, &inode, &folder))
        put('W', inode, place, bytes, (size_t)size, NULL, 0);
}

SEEN ssize_t write(int fd, const void *from, size_t size)
{
    int64_t place = recorder >= 0 && fd > 2 ? lseek(fd, 0, SEEK_CUR) : -1;
    ssize_t done = syscall(SYS_write, fd, from, size);
    if (place >= 0)
        wrote(fd, from, done, place);
    return done;
}

#define WRITES_AT(name)                                                                            \
    SEEN ssize_t name(int fd, const void *from, size_t size, off_t at)                             \
    {                                                                                              \
        ssize_t done = syscall(SYS_pwrite64, fd, from, size, at);                                  \
        wrote(fd, from, done, at);                                                                 \
        return done;                                                                               \
    }
WRITES_AT(pwrite)
WRITES_AT(pwrite64)

#define CUTS(name)                                                                                 \
    SEEN int name(int fd, off_t size)                                                              \
    {                                                                                              \
        uint64_t inode;                                                                            \
        bool folder;                                                                               \
        int done = (int)syscall(SYS_ftruncate, fd, size);                                          \
        if (done == 0 && inode_of(fd, &inode, &folder))                                            \
            put('T', inode, size, NULL, 0, NULL, 0);                                               \
        return done;                                                                               \
    }
CUTS(ftruncate)
CUTS(ftruncate64)

/* What stdio wrote of a file, when its buffer is empty. */
static void all_of(FILE *stream)
{
    uint64_t inode;
    bool folder;
    struct stat info;
    int fd = fileno(stream);
    if (!inode_of(fd, &inode, &folder) || folder || fstat(fd, &info) != 0 ||
        (size_t)info.st_size > MAX_ALL || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
        return;
    char link[40], *bytes = malloc((size_t)info.st_size + 1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int again = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
    ssize_t got = bytes && again >= 0 ? pread(again, bytes, (size_t)info.st_size, 0) : -1;
    if (got >= 0)
        put('A', inode, 0, bytes, (size_t)got, NULL, 0);
    if (again >= 0)
        syscall(SYS_close, again);
    free(bytes);
}

SEEN int fflush(FILE *stream)
{
    BEHIND(int, fflush, FILE *)
    int done = behind(stream);
    if (stream && done == 0)
        all_of(stream);
    return done;
}

SEEN int fclose(FILE *stream)
{
    BEHIND(int, fclose, FILE *)
    if (recorder >= 0)
        (void)fflush(stream);
    return behind(stream);
}

#define SYNCS(name)                                                                                \
    SEEN int name(int fd)                                                                          \
    {                                                                                              \
        uint64_t inode;                                                                            \
        bool folder;                                                                               \
        if (inode_of(fd, &inode, &folder))                                                         \
            put('S', inode, 0, NULL, 0, NULL, 0);                                                  \
        return 0; /* the disk of the machine that runs the test is not waited for */               \
    }
SYNCS(fsync)
SYNCS(fdatasync)

/* ---- names ---- */

static int rename_seen(int from_folder, const char *from, int to_folder, const char *to)
{
    char first[PATH_MAX], second[PATH_MAX];
    bool one = place_of(first, from_folder, from), two = place_of(second, to_folder, to);
    int done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0U);
    if (done == 0 && (one || two))
        put('R', 0, 0, first, strlen(first), second, strlen(second));
    return done;
}

SEEN int rename(const char *from, const char *to)
{
    return rename_seen(AT_FDCWD, from, AT_FDCWD, to);
}

SEEN int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return rename_seen(from_folder, from, to_folder, to);
}

static int remove_seen(int folder, const char *path, int flags)
{
    char full[PATH_MAX];
    bool below = place_of(full, folder, path);
    int done = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (done == 0 && below)
        put(flags & AT_REMOVEDIR ? 'D' : 'U', 0, 0, full, strlen(full), NULL, 0);
    return done;
}

SEEN int unlink(const char *path)
{
    return remove_seen(AT_FDCWD, path, 0);
}

SEEN int unlinkat(int folder, const char *path, int flags)
{
    return remove_seen(folder, path, flags);
}

SEEN int rmdir(const char *path)
{
    return remove_seen(AT_FDCWD, path, AT_REMOVEDIR);
}

static int make_seen(int folder, const char *path, mode_t mode)
{
    char full[PATH_MAX];
    struct stat info;
    int done = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (done == 0 && place_of(full, folder, path) && lstat(full, &info) == 0)
        put('M', info.st_ino, 0, full, strlen(full), NULL, 0);
    return done;
}

SEEN int mkdir(const char *path, mode_t mode)
{
    return make_seen(AT_FDCWD, path, mode);
}

SEEN int mkdirat(int folder, const char *path, mode_t mode)
{
    return make_seen(folder, path, mode);
}
