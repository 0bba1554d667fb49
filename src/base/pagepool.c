/* Moving pages instead of asking for new ones. */
#define _GNU_SOURCE
#include "base/pagepool.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* Under this, a fresh mapping is as cheap as the bookkeeping. */
#define MIN_POOLED_BYTES ((size_t)256 << 10)

/* Arrays up to MAX_SHARED share regions of huge pages, which cost a tenth of small ones to touch;
 * each larger array has separate huge pages. Up to MAX_SMALL_PAGE_BYTES bytes in all, small pages
 * take less memory. */
#define MAX_SMALL_PAGE_BYTES ((size_t)4 << 20)
#define MAX_SHARED           ((size_t)4 << 20)
#define REGION               ((size_t)32 << 20)

/* Pages of a pattern: enough that an array needs few mappings, but few compared with it.
 * MAX_CHUNKS limits the mappings of an array. */
#define MIN_CHUNK  ((size_t)128 << 10)
#define MAX_CHUNK  ((size_t)1 << 20)
#define FEW_CHUNKS 16
#define MAX_CHUNKS 2048
#define MIN_REPEAT ((size_t)1 << 20)

#ifndef MREMAP_DONTUNMAP /* headers before glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

/* Parts of an array that are folded, and arrays that are looked at for that. */
#define FOLDED    ((size_t)64 << 10)
#define MIN_FOLD  ((size_t)4 << 20)
#define MAX_FOLDS 16384

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) & ~(page - 1);
}

void nl_pagepool_init(struct nl_pagepool *pool, struct nl_spill *spill)
{
    *pool = (struct nl_pagepool){.spill = spill};
    pthread_mutex_init(&pool->lock, NULL);
}

void nl_pagepool_release(struct nl_pagepool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        nl_pages_free(pool->spans[i].at, pool->spans[i].bytes);
    for (size_t i = 0; i < pool->patterns; i++)
        close(pool->repeated[i].file);
    nl_free(pool->spans);
    nl_pages_free(pool->fresh, (size_t)(pool->fresh_end - pool->fresh));
    pthread_mutex_destroy(&pool->lock);
}

void nl_pagepool_give(struct nl_pagepool *pool, void *memory, size_t bytes)
{
    if (!memory || !bytes)
        return;
    if (bytes < MIN_POOLED_BYTES || nl_spill_started(pool->spill)) {
        nl_pagepool_free(pool, memory, bytes);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    nl_grow(&pool->spans, &pool->cap, pool->count + 1);
    pool->spans[pool->count++] = (struct nl_span){memory, whole_pages(bytes)};
    pthread_mutex_unlock(&pool->lock);
}

void nl_pagepool_empty(struct nl_pagepool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->count) {
        pool->count--;
        nl_pages_free(pool->spans[pool->count].at, pool->spans[pool->count].bytes);
    }
    pthread_mutex_unlock(&pool->lock);
}

void nl_pagepool_free(const struct nl_pagepool *pool, void *memory, size_t bytes)
{
    if (!nl_spill_free(pool->spill, memory))
        nl_pages_free(memory, bytes);
}

/* Cuts up to `want` bytes off the newest span. */
static struct nl_span cut(struct nl_pagepool *pool, size_t want)
{
    struct nl_span part = {0};
    pthread_mutex_lock(&pool->lock);
    if (pool->count) {
        struct nl_span *last = &pool->spans[pool->count - 1];
        part = *last;
        if (part.bytes > want)
            part.bytes = want;
        last->at += part.bytes;
        last->bytes -= part.bytes;
        if (!last->bytes)
            pool->count--;
    }
    pthread_mutex_unlock(&pool->lock);
    return part;
}

void nl_pagepool_put_under(struct nl_pagepool *pool, void *memory, size_t *done, size_t to)
{
    size_t whole = whole_pages(to);
    if (nl_spill_owns(pool->spill, memory)) /* pages of no file must not get among its own */
        *done = whole;
    while (*done < whole) {
        struct nl_span part = cut(pool, whole - *done);
        if (!part.bytes)
            break;
        if (mremap(part.at, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                   (char *)memory + *done) == MAP_FAILED) {
            nl_pages_free(part.at, part.bytes);
            break; /* the rest stays fresh memory, which is only slower */
        }
        *done += part.bytes;
    }
    *done = whole > *done ? whole : *done;
}

/* The next huge pages to give from; what is left of the last ones is too little and goes back. */
static void new_region(struct nl_pagepool *pool)
{
    nl_pages_free(pool->fresh, (size_t)(pool->fresh_end - pool->fresh));
    pool->fresh = nl_pages(REGION);
    pool->fresh_end = pool->fresh + REGION;
}

void *nl_pagepool_fresh(struct nl_pagepool *pool, size_t bytes)
{
    size_t whole = whole_pages(bytes);
    char *memory = nl_spill_take(pool->spill, bytes);
    if (memory)
        return memory;
    pthread_mutex_lock(&pool->lock);
    pool->fresh_bytes += whole;
    if (bytes >= NL_MIN_PAGES_BYTES && pool->fresh_bytes > MAX_SMALL_PAGE_BYTES &&
        whole <= MAX_SHARED) {
        if ((size_t)(pool->fresh_end - pool->fresh) < whole)
            new_region(pool);
        memory = pool->fresh;
        pool->fresh += whole;
    }
    pthread_mutex_unlock(&pool->lock);
    return memory ? memory : nl_pages(bytes);
}

void *nl_pagepool_take(struct nl_pagepool *pool, size_t bytes)
{
    char *memory = nl_pagepool_fresh(pool, bytes);
    size_t done = 0;
    if (bytes >= MIN_POOLED_BYTES)
        nl_pagepool_put_under(pool, memory, &done, bytes);
    return memory;
}

static size_t chunk_for(size_t bytes)
{
    size_t chunk = MIN_CHUNK;
    while (chunk < MAX_CHUNK && chunk * FEW_CHUNKS < bytes)
        chunk *= 2;
    return chunk;
}

/* Lets a pattern's file hold `bytes` of it. */
static bool fill_file(struct nl_repeated *repeated, size_t bytes)
{
    uint64_t part[2048];
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        part[i] = repeated->pattern;
    while (repeated->bytes < bytes) {
        ssize_t done = pwrite(repeated->file, part, sizeof part, (off_t)repeated->bytes);
        if (done != (ssize_t)sizeof part)
            return false;
        repeated->bytes += sizeof part;
    }
    return true;
}

/* A file in memory that begins with `bytes` of the pattern; -1 when there is none. */
static int find_pattern(struct nl_pagepool *pool, uint64_t pattern, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    size_t i = 0;
    while (i < pool->patterns && pool->repeated[i].pattern != pattern)
        i++;
    if (i == pool->patterns && i < NL_MAX_PATTERNS) {
        int file = memfd_create("pattern", MFD_CLOEXEC);
        if (file >= 0)
            pool->repeated[pool->patterns++] = (struct nl_repeated){pattern, 0, file};
    }
    bool there = i < pool->patterns && fill_file(&pool->repeated[i], bytes);
    int file = there ? pool->repeated[i].file : -1;
    pthread_mutex_unlock(&pool->lock);
    return file;
}

/* Puts the pattern's pages under an array, a chunk after the other. */
static bool map_pattern(int file, char *memory, size_t bytes, size_t chunk)
{
    for (size_t at = 0; at < bytes; at += chunk) {
        size_t part = bytes - at < chunk ? bytes - at : chunk;
        if (mmap(memory + at, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) ==
            MAP_FAILED)
            return false;
    }
    return true;
}

bool nl_pagepool_repeat(struct nl_pagepool *pool, void *memory, size_t bytes, uint64_t pattern)
{
    size_t whole = whole_pages(bytes), chunk = chunk_for(whole);
    if (whole < MIN_REPEAT || whole / chunk > MAX_CHUNKS)
        return false;
    int file = find_pattern(pool, pattern, chunk);
    if (file >= 0)
        nl_spill_leave(pool->spill, memory);
    return file >= 0 && map_pattern(file, memory, whole, chunk);
}

/* The first eight bytes, when all are as these and these are equal cells. */
static bool all_equal(const char *part, size_t bytes, unsigned size, uint64_t *pattern)
{
    memcpy(pattern, part, sizeof *pattern);
    return memcmp(part, part + size, bytes - size) == 0;
}

/* Whether so many mappings more are few enough: the system allows a process 65,530. */
static bool may_map(struct nl_pagepool *pool, size_t mappings)
{
    pthread_mutex_lock(&pool->lock);
    bool may = pool->folds + mappings <= MAX_FOLDS;
    if (may)
        pool->folds += mappings;
    pthread_mutex_unlock(&pool->lock);
    return may;
}

bool nl_pagepool_repeat_part(struct nl_pagepool *pool, void *memory, size_t *from, size_t *to,
                             uint64_t pattern, size_t *done)
{
    size_t first = whole_pages(*from), last = *to - *to % whole_pages(1);
    size_t bytes = first < last ? last - first : 0, chunk = chunk_for(bytes);
    if (bytes < MIN_REPEAT || bytes / chunk > MAX_CHUNKS || nl_spill_owns(pool->spill, memory))
        return false;
    int file = pattern ? find_pattern(pool, pattern, chunk) : -1;
    if (pattern && (file < 0 || !may_map(pool, bytes / chunk + 2) ||
                    !map_pattern(file, (char *)memory + first, bytes, chunk)))
        return false;
    *done = whole_pages(*to);
    *from = first;
    *to = last;
    return true;
}

/* What is at `from` is at `to` then, without being copied; `from` stays mapped and reads as zeros,
 * so that no other thread is given its addresses. */
static bool move_pages(char *from, char *to, size_t bytes)
{
    int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP; /* Linux 5.7 and later */
    return mremap(from, bytes, bytes, how, to) != MAP_FAILED;
}

/* Moves the pages of a part to `room`, and puts the pattern's there. */
static bool fold_part(struct nl_pagepool *pool, char *part, size_t bytes, uint64_t pattern,
                      char *room)
{
    size_t chunk = chunk_for(bytes);
    int file = pattern ? find_pattern(pool, pattern, chunk) : -1;
    if ((pattern && file < 0) || !may_map(pool, 3 + bytes / chunk) ||
        !move_pages(part, room, bytes))
        return false;
    if (!pattern || map_pattern(file, part, bytes, chunk))
        return true;
    if (!move_pages(room, part, bytes))
        nl_memory_exhausted(bytes); /* of mappings */
    return false;
}

void nl_pagepool_fold(struct nl_pagepool *pool, void *memory, size_t bytes, unsigned size)
{
    char *cells = memory;
    size_t whole = bytes / FOLDED * FOLDED, at = 0, moved = 0;
    if (bytes < MIN_FOLD || bytes / MAX_CHUNK > MAX_CHUNKS || nl_spill_owns(pool->spill, memory))
        return;
    char *room = nl_pages(whole);
    while (at < whole) {
        uint64_t pattern = 0, next;
        size_t to = at;
        while (to < whole && all_equal(cells + to, FOLDED, size, &next) &&
               (to == at || next == pattern)) {
            pattern = next;
            to += FOLDED;
        }
        if (to > at && fold_part(pool, cells + at, to - at, pattern, room + moved))
            moved += to - at;
        at = to > at ? to : at + FOLDED;
    }
    nl_pages_free(room + moved, whole - moved);
    nl_pagepool_give(pool, room, moved);
}
