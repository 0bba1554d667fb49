/*
 * Traces that are written to the cache later, by whoever comes to it. KEY.nlt.part is both the
 * unfinished file and the lock: its writer holds flock(2), which the kernel takes from it however
 * it ends. So a part without a lock is that of a writer that died, and the next one takes it over.
 */
#define _GNU_SOURCE
#include "ingest/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/tracefile.h"

#define LOOK_NS       ((long)1000 * 1000)
#define STALLED_LOOKS 500   /* at a part that does not grow: its writer has not begun, or waits */
#define MAX_LOOKS     20000 /* looks at all */
#define MAX_TRY       8

static char *part_of(const char *path)
{
    size_t room = strlen(path) + sizeof ".part";
    char *part = nl_alloc(room);
    snprintf(part, room, "%s.part", path);
    return part;
}

/* Whether the descriptor is still the file of that name: it may have become the
 * trace since it was opened. */
static bool is_named(int file, const char *path)
{
    struct stat open, named;
    return fstat(file, &open) == 0 && stat(path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

/* The part, locked and empty; -1 when another writer has it, or none can be made. */
static int lock_part(const char *part)
{
    for (int tries = 0; tries < MAX_TRY; tries++) {
        int file = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0)
            return -1;
        bool ours = flock(file, LOCK_EX | LOCK_NB) == 0;
        if (ours && is_named(file, part) && ftruncate(file, 0) == 0)
            return file;
        close(file);
        if (!ours)
            return -1;
    }
    return -1;
}

bool nl_cache_later(struct nl_cache_later *later, const struct nl_cache_key *key,
                    const char *folder, uint64_t max_bytes, uint64_t bytes)
{
    if (bytes > max_bytes || !nl_make_folders(folder, NULL))
        return false;
    nl_cache_sweep(folder, max_bytes - bytes, false);
    char *place = realpath(folder, NULL); /* the writer leaves this folder */
    if (!place)
        return false;
    later->path = nl_cache_path(key, place);
    nl_free(place);
    later->part = part_of(later->path);
    later->file = lock_part(later->part);
    if (later->file >= 0) {
        nl_cache_share(folder, later->part);
        return true;
    }
    nl_cache_later_leave(later);
    return false;
}

bool nl_cache_later_write(struct nl_cache_later *later, const struct nl_trace *trace)
{
    FILE *stream = later->path ? fdopen(later->file, "w") : NULL;
    bool written = stream && nl_trace_write(trace, stream) && fflush(stream) == 0 &&
                   rename(later->part, later->path) == 0;
    if (later->path && !written)
        (void)unlink(later->part);
    if (stream) {
        (void)fclose(stream); /* and with it the lock */
        later->file = -1;
    }
    nl_cache_later_leave(later);
    return written;
}

void nl_cache_later_leave(struct nl_cache_later *later)
{
    if (later->path && later->file >= 0)
        close(later->file);
    nl_free(later->path);
    nl_free(later->part);
    *later = (struct nl_cache_later){.least = later->least};
}

void nl_cache_later_drop(struct nl_cache_later *later)
{
    if (later->path)
        (void)unlink(later->part);
    nl_cache_later_leave(later);
}

/* Until the writer of the part has ended. Not when its part stands still, and not for long. */
static void wait_for(int file, struct nl_job *job)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    struct stat info = {0};
    off_t size = -1;
    int still = 0;
    for (int looks = 0; looks < MAX_LOOKS && still < STALLED_LOOKS && !nl_job_cancelled(job);
         looks++) {
        if (flock(file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return;
        if (fstat(file, &info) != 0)
            return;
        still = info.st_size == size ? still + 1 : 0;
        size = info.st_size;
        (void)nanosleep(&pause, NULL);
    }
}

struct nl_trace *nl_cache_await(const struct nl_cache_key *key, const char *folder,
                                unsigned threads, struct nl_job *job)
{
    char *path = nl_cache_path(key, folder), *part = part_of(path);
    struct nl_trace *trace = NULL;
    int file = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0) {
        wait_for(file, job);
        close(file);
    }
    /* Without a part, too: it may just have become the trace. */
    if (!nl_job_cancelled(job))
        trace = nl_cache_find(key, folder, false, threads);
    nl_free(path);
    nl_free(part);
    return trace;
}
