/* The cache of imported profiles. */
#define _GNU_SOURCE
#include "ingest/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "store/tracefile.h"

#define WORTH_BYTES   ((uint64_t)256 << 10)
#define STALE_SECONDS 86400

/* Another build may read differently or class kernels by other rules, so its traces are its own. */
static uint64_t build_identity(void)
{
    struct stat info;
    if (stat("/proc/self/exe", &info) != 0)
        return 0;
    const int64_t facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
    return nl_hash(facts, sizeof facts);
}

/* What changes with any of the files. */
static bool add_files(struct nl_cache_key *key, const struct nl_inputs *inputs)
{
    if (inputs->spool >= 0)
        return false;
    for (size_t i = 0; i < inputs->count; i++) {
        struct nl_fingerprint print;
        const char *name = inputs->items[i].name;
        if (!nl_fingerprint_file(&print, inputs->items[i].path, NULL))
            return false;
        key->hash = key->hash * 0x9e3779b97f4a7c15u ^ nl_hash(&print, sizeof print) ^
                    nl_hash(name, strlen(name));
        key->bytes += print.size;
    }
    return true;
}

bool nl_cache_key(struct nl_cache_key *key, const struct nl_inputs *inputs,
                  const struct nl_inputs *join, int64_t rank)
{
    *key = (struct nl_cache_key){.hash = nl_schema_hash() ^ build_identity()};
    if (!add_files(key, inputs))
        return false;
    if (join) {
        key->hash =
            nl_hash(&key->hash, sizeof key->hash); /* no longer that of all as one profile */
        if (!add_files(key, join))
            return false;
    }
    key->hash ^= nl_hash(&rank, sizeof rank);
    return key->bytes >= WORTH_BYTES;
}

static char *path_of(const struct nl_cache_key *key, const char *folder)
{
    size_t room = strlen(folder) + 32;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/%016llx.nlt", folder, (unsigned long long)key->hash);
    return path;
}

struct nl_trace *nl_cache_find(const struct nl_cache_key *key, const char *folder, unsigned threads)
{
    char *path = path_of(key, folder);
    struct nl_trace *trace = NULL;
    if (access(path, R_OK) == 0) {
        trace = nl_trace_open(path, false, threads, NULL);
        if (trace)
            utimensat(AT_FDCWD, path, NULL, 0);
        else
            unlink(path);
    }
    nl_free(path);
    return trace;
}

void nl_cache_keep(const struct nl_cache_key *key, const char *folder, uint64_t max_bytes,
                   const struct nl_trace *trace)
{
    uint64_t bytes = nl_trace_bytes(trace);
    if (bytes > max_bytes || !nl_make_folders(folder, NULL))
        return;
    nl_cache_sweep(folder, max_bytes - bytes, false);
    char *path = path_of(key, folder);
    if (!nl_trace_save(trace, path, NULL))
        unlink(path);
    nl_free(path);
}

struct entry {
    char *path;
    uint64_t bytes;
    struct timespec used;
    bool temporary;
};

static int by_use(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Cached traces and temporaries of a folder; nothing else in it is ever touched. */
static struct entry *list(const char *folder, size_t *count)
{
    struct entry *entries = NULL;
    size_t cap = 0;
    *count = 0;
    DIR *dir = opendir(folder);
    struct dirent *item;
    while (dir && (item = readdir(dir))) {
        const char *dot = strstr(item->d_name, ".nlt");
        if (!dot || dot - item->d_name != 16)
            continue;
        size_t room = strlen(folder) + strlen(item->d_name) + 2;
        char *path = nl_alloc(room);
        snprintf(path, room, "%s/%s", folder, item->d_name);
        struct stat info;
        if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            nl_free(path);
            continue;
        }
        nl_grow(&entries, &cap, *count + 1);
        entries[(*count)++] =
            (struct entry){path, (uint64_t)info.st_size, info.st_mtim, dot[4] != '\0'};
    }
    if (dir)
        closedir(dir);
    return entries;
}

struct nl_cache_sweep nl_cache_sweep(const char *folder, uint64_t max_bytes, bool dry)
{
    struct nl_cache_sweep sweep = {0};
    size_t count;
    struct entry *entries = list(folder, &count);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += entries[i].bytes;
    if (count)
        qsort(entries, count, sizeof *entries, by_use);
    time_t now = time(NULL);
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        bool remove = e->temporary ? now - e->used.tv_sec > STALE_SECONDS : total > max_bytes;
        if (remove && (dry || unlink(e->path) == 0)) {
            sweep.removed++;
            sweep.removed_bytes += e->bytes;
            total -= e->bytes;
        } else {
            sweep.kept++;
            sweep.kept_bytes += e->bytes;
        }
        nl_free(e->path);
    }
    nl_free(entries);
    return sweep;
}
