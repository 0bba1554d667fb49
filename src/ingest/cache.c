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

/* Another build may read differently or judge by other rules, so its traces and answers
 * are its own. 0 = not known. */
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
    if (inputs->spool_count > 0)
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
    uint64_t build = build_identity();
    *key = (struct nl_cache_key){.hash = nl_schema_hash() ^ build};
    if (!build || !add_files(key, inputs))
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

char *nl_cache_path(const struct nl_cache_key *key, const char *folder)
{
    size_t room = strlen(folder) + 32;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/%016llx.nlt", folder, (unsigned long long)key->hash);
    return path;
}

char *nl_cache_beside(uint64_t trace, const char *folder, uint64_t question)
{
    size_t room = strlen(folder) + 48;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/%016llx-%016llx.nla", folder, (unsigned long long)trace,
             (unsigned long long)question);
    return path;
}

void nl_cache_used(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0);
}

struct nl_trace *nl_cache_find(const struct nl_cache_key *key, const char *folder, bool unchecked,
                               unsigned threads)
{
    char *path = nl_cache_path(key, folder);
    struct nl_trace *trace = NULL;
    if (access(path, R_OK) == 0) {
        trace = unchecked ? nl_trace_open_unchecked(path, NULL)
                          : nl_trace_open(path, false, threads, NULL);
        if (trace)
            nl_cache_used(path);
        else
            unlink(path);
    }
    nl_free(path);
    return trace;
}

/* In a folder that a group shares (setgid, writable by it: ledger/ledgershare.h)
 * files are the group's, too. */
void nl_cache_share(const char *folder, const char *path)
{
    const mode_t shared = S_ISGID | S_IRGRP | S_IWGRP | S_IXGRP;
    struct stat info;
    if (stat(folder, &info) == 0 && (info.st_mode & shared) == shared)
        (void)chmod(path, 0660);
}

bool nl_cache_keep(const struct nl_cache_key *key, const char *folder, uint64_t max_bytes,
                   const struct nl_trace *trace)
{
    uint64_t bytes = nl_trace_bytes(trace);
    if (bytes > max_bytes || !nl_make_folders(folder, NULL))
        return false;
    nl_cache_sweep(folder, max_bytes - bytes, false);
    char *path = nl_cache_path(key, folder);
    bool kept = nl_trace_save(trace, path, NULL);
    if (kept)
        nl_cache_share(folder, path);
    else
        unlink(path);
    nl_free(path);
    return kept;
}

#define KEY_DIGITS 16

struct entry {
    char *path;
    char key[KEY_DIGITS]; /* of the trace */
    uint64_t bytes;
    struct timespec used;
    bool answer, temporary;
    bool orphan; /* an answer without its trace */
};

static int by_time(const struct timespec *a, const struct timespec *b)
{
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Of files used at the same time answers first. */
static int by_use(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int order = by_time(&a->used, &b->used);
    return order ? order : b->answer - a->answer;
}

/* Each trace before its answers, temporaries last. */
static int by_trace(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->temporary != b->temporary)
        return a->temporary - b->temporary;
    int order = memcmp(a->key, b->key, KEY_DIGITS);
    return order ? order : a->answer - b->answer;
}

/* KEY.nlt, KEY-QUESTION.nla, and either with the suffix of a temporary. */
static bool is_ours(const char *name, struct entry *entry)
{
    size_t digits = strspn(name, "0123456789abcdef");
    const char *rest = name + digits;
    entry->answer = *rest == '-' && strspn(rest + 1, "0123456789abcdef") == KEY_DIGITS;
    if (entry->answer)
        rest += 1 + KEY_DIGITS;
    if (digits != KEY_DIGITS || strncmp(rest, entry->answer ? ".nla" : ".nlt", 4) != 0)
        return false;
    memcpy(entry->key, name, KEY_DIGITS);
    entry->temporary = rest[4] != '\0';
    return true;
}

/* Cached traces, answers and temporaries of a folder; nothing else in it is ever touched. */
static struct entry *list(const char *folder, size_t *count)
{
    struct entry *entries = NULL;
    size_t cap = 0;
    *count = 0;
    DIR *dir = opendir(folder);
    struct dirent *item;
    while (dir && (item = readdir(dir))) {
        struct entry entry = {0};
        if (!is_ours(item->d_name, &entry))
            continue;
        size_t room = strlen(folder) + strlen(item->d_name) + 2;
        entry.path = nl_alloc(room);
        snprintf(entry.path, room, "%s/%s", folder, item->d_name);
        struct stat info;
        if (lstat(entry.path, &info) != 0 || !S_ISREG(info.st_mode)) {
            nl_free(entry.path);
            continue;
        }
        entry.bytes = (uint64_t)info.st_size;
        entry.used = info.st_mtim;
        nl_grow(&entries, &cap, *count + 1);
        entries[(*count)++] = entry;
    }
    if (dir)
        closedir(dir);
    return entries;
}

/* Whether somebody writes the trace of that key; temporaries are last. */
static bool is_coming(const struct entry *entries, size_t count, const char *key)
{
    for (size_t i = count; i-- > 0 && entries[i].temporary;)
        if (!entries[i].answer && memcmp(entries[i].key, key, KEY_DIGITS) == 0)
            return true;
    return false;
}

/* No answer is younger than its trace, so that it goes first. */
static void order_entries(struct entry *entries, size_t count)
{
    const struct entry *trace = NULL;
    if (!count)
        return;
    qsort(entries, count, sizeof *entries, by_trace);
    for (size_t i = 0; i < count && !entries[i].temporary; i++) {
        struct entry *entry = &entries[i];
        if (!entry->answer)
            trace = entry;
        else if (!trace || memcmp(trace->key, entry->key, KEY_DIGITS) != 0)
            entry->orphan = !is_coming(entries, count, entry->key);
        else if (by_time(&trace->used, &entry->used) < 0)
            entry->used = trace->used;
    }
    qsort(entries, count, sizeof *entries, by_use);
}

struct nl_cache_sweep nl_cache_sweep(const char *folder, uint64_t max_bytes, bool dry)
{
    struct nl_cache_sweep sweep = {0};
    size_t count;
    struct entry *entries = list(folder, &count);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += entries[i].bytes;
    order_entries(entries, count);
    time_t now = time(NULL);
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        bool remove =
            e->temporary ? now - e->used.tv_sec > STALE_SECONDS : e->orphan || total > max_bytes;
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
