/* A file per array, and the list of arrays by address. */
#define _GNU_SOURCE
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/units.h"

#define MIN_ARRAY ((size_t)512 << 10)

struct array {
    char *at;
    size_t bytes;
};

struct nl_spill {
    pthread_mutex_t lock;
    struct array *arrays; /* by address */
    size_t count, cap;
    const char *folder; /* NULL: none is fit */
    atomic_bool started, full, closed;
    atomic_int failure; /* errno of the first array that no file could be made for */
};

__attribute__((weak)) struct nl_spill *nl_process_spill(void)
{
    return NULL;
}

static bool is_on_disk(const char *folder)
{
    struct statfs info;
    return access(folder, W_OK | X_OK) == 0 && statfs(folder, &info) == 0 &&
           info.f_type != TMPFS_MAGIC && info.f_type != RAMFS_MAGIC;
}

static const char *find_folder(void)
{
    const char *named = getenv("TMPDIR");
    const char *folders[] = {named && *named ? named : "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_on_disk(folders[i]))
            return folders[i];
    return NULL;
}

struct nl_spill *nl_spill_new(void)
{
    struct nl_spill *spill = nl_zalloc(sizeof *spill);
    pthread_mutex_init(&spill->lock, NULL);
    return spill;
}

void nl_spill_release(struct nl_spill *spill)
{
    if (!spill)
        return;
    pthread_mutex_destroy(&spill->lock);
    nl_pages_free(spill->arrays, spill->cap * sizeof *spill->arrays);
    nl_free(spill);
}

const char *nl_spill_folder(struct nl_spill *spill, uint64_t *free_bytes)
{
    struct statvfs info;
    pthread_mutex_lock(&spill->lock);
    if (!spill->folder)
        spill->folder = find_folder();
    const char *folder = spill->folder;
    pthread_mutex_unlock(&spill->lock);
    *free_bytes =
        folder && statvfs(folder, &info) == 0 ? (uint64_t)info.f_bavail * info.f_frsize : 0;
    return folder;
}

bool nl_spill_started(const struct nl_spill *spill)
{
    return spill && atomic_load_explicit(&spill->started, memory_order_acquire);
}

bool nl_spill_full(const struct nl_spill *spill)
{
    return spill && atomic_load(&spill->full);
}

bool nl_spill_start(struct nl_spill *spill, uint64_t bytes)
{
    uint64_t room;
    if (nl_spill_started(spill))
        return true;
    if (!spill || !nl_spill_folder(spill, &room) || room / 11 * 10 < bytes)
        return false;
    atomic_store_explicit(&spill->started, true, memory_order_release);
    return true;
}

const char *nl_spill_said(struct nl_spill *spill, char text[NL_SPILL_TEXT])
{
    uint64_t room;
    char amount[NL_UNIT_TEXT];
    text[0] = '\0';
    if (!spill || (nl_spill_started(spill) && !nl_spill_full(spill)))
        return text;
    const char *folder = nl_spill_folder(spill, &room);
    int failure = atomic_load(&spill->failure);
    if (failure == EFBIG)
        (void)snprintf(
            text, NL_SPILL_TEXT,
            ", and a limit of file sizes (ulimit -f) forbids temporary files for the rest");
    else if (folder && failure && failure != ENOSPC && failure != EDQUOT)
        (void)snprintf(
            text, NL_SPILL_TEXT,
            ", and no temporary file for the rest could be made in %.300s: %s (set TMPDIR)", folder,
            strerror(failure));
    else if (folder)
        (void)snprintf(text, NL_SPILL_TEXT,
                       ", and the rest does not fit in %.300s, which has %s free (set TMPDIR)",
                       folder, nl_format_bytes(amount, room));
    else
        (void)snprintf(text, NL_SPILL_TEXT,
                       ", and no folder for temporary files is on a disk (set TMPDIR)");
    return text;
}

static int named_file(const char *folder)
{
    size_t room = strlen(folder) + sizeof "/neurolens-XXXXXX";
    char *path = nl_alloc(room);
    (void)snprintf(path, room, "%s/neurolens-XXXXXX", folder);
    int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path);
    nl_free(path);
    return file;
}

/* Growing over a limit of file sizes would send SIGXFSZ, which ends programs. */
static bool may_have(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= bytes;
}

/* A file without a name and of this size, with room for it on the disk; -1 and
 * errno when there is none. */
static int make_file(const char *folder, size_t bytes)
{
    if (!may_have(bytes)) {
        errno = EFBIG;
        return -1;
    }
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (file < 0)
        file = named_file(folder);
    if (file < 0)
        return -1;
    int failure = 0;
    do
        failure = fallocate(file, 0, 0, (off_t)bytes) == 0 ? 0 : errno;
    while (failure == EINTR);
    if (failure == EOPNOTSUPP) /* it cannot be reserved there: a full disk is met later */
        failure = ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
    if (failure) {
        close(file);
        errno = failure;
        return -1;
    }
    return file;
}

/* Number of the first array that does not begin before `at`. */
static size_t find_array(const struct nl_spill *spill, const char *at)
{
    return NL_FIRST(i, (size_t)0, spill->count, (uintptr_t)spill->arrays[i].at >= (uintptr_t)at);
}

/* The list is no nl_alloc, which may ask here. */
void nl_spill_watch(struct nl_spill *spill, void *map, size_t bytes)
{
    if (!spill)
        return;
    pthread_mutex_lock(&spill->lock);
    if (spill->count == spill->cap) {
        size_t more = spill->cap ? spill->cap * 2 : 256;
        spill->arrays = nl_pages_grow(spill->arrays, spill->cap * sizeof *spill->arrays,
                                      more * sizeof *spill->arrays);
        spill->cap = more;
    }
    size_t place = find_array(spill, map);
    memmove(spill->arrays + place + 1, spill->arrays + place,
            (spill->count - place) * sizeof *spill->arrays);
    spill->arrays[place] = (struct array){map, bytes};
    spill->count++;
    pthread_mutex_unlock(&spill->lock);
}

void *nl_spill_take(struct nl_spill *spill, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1);
    if (!nl_spill_started(spill) || bytes < MIN_ARRAY || bytes > SIZE_MAX / 2 ||
        atomic_load_explicit(&spill->closed, memory_order_relaxed))
        return NULL;
    int file = make_file(spill->folder, whole);
    char *at = MAP_FAILED;
    if (file >= 0)
        at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int failure = errno, none = 0;
    if (file >= 0)
        close(file);
    if (at == MAP_FAILED) {
        (void)atomic_compare_exchange_strong(&spill->failure, &none, failure);
        atomic_store(&spill->full, true);
        return NULL;
    }
    nl_spill_watch(spill, at, whole);
    return at;
}

/* Takes an array off the list and unmaps it while no thread trims; false if it is not a spilled
 * array. */
static bool drop(struct nl_spill *spill, void *memory, bool unmap)
{
    if (!spill || !memory)
        return false;
    pthread_mutex_lock(&spill->lock);
    size_t place = find_array(spill, memory);
    bool found = place < spill->count && spill->arrays[place].at == memory;
    if (found) {
        if (unmap)
            munmap(memory, spill->arrays[place].bytes);
        spill->count--;
        memmove(spill->arrays + place, spill->arrays + place + 1,
                (spill->count - place) * sizeof *spill->arrays);
    }
    pthread_mutex_unlock(&spill->lock);
    return found;
}

bool nl_spill_free(struct nl_spill *spill, void *memory)
{
    return nl_spill_started(spill) && drop(spill, memory, true);
}

void nl_spill_leave(struct nl_spill *spill, void *memory)
{
    (void)drop(spill, memory, false);
}

bool nl_spill_owns(struct nl_spill *spill, const void *memory)
{
    return nl_spill_bytes(spill, memory) > 0;
}

size_t nl_spill_bytes(struct nl_spill *spill, const void *memory)
{
    if (!nl_spill_started(spill) || !memory)
        return 0;
    pthread_mutex_lock(&spill->lock);
    size_t place = find_array(spill, memory);
    bool found = place < spill->count && spill->arrays[place].at == memory;
    size_t bytes = found ? spill->arrays[place].bytes : 0;
    pthread_mutex_unlock(&spill->lock);
    return bytes;
}

void nl_spill_in_child(struct nl_spill *spill)
{
    if (!spill)
        return;
    pthread_mutex_init(&spill->lock, NULL);
    atomic_store(&spill->closed, true);
}

void nl_spill_trim(struct nl_spill *spill)
{
    if (!nl_spill_started(spill))
        return;
    pthread_mutex_lock(&spill->lock);
    for (size_t i = 0; i < spill->count;
         i++) /* shared pages of a file: what they hold stays there */
        (void)madvise(spill->arrays[i].at, spill->arrays[i].bytes, MADV_DONTNEED);
    pthread_mutex_unlock(&spill->lock);
}
