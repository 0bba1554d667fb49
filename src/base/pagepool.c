/* Moving pages instead of asking for new ones. */
#define _GNU_SOURCE
#include "base/pagepool.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* Under this, a fresh mapping is as cheap as the bookkeeping. */
#define SMALL ((size_t)256 << 10)

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) & ~(page - 1);
}

void nl_pagepool_init(struct nl_pagepool *pool)
{
    *pool = (struct nl_pagepool){0};
    pthread_mutex_init(&pool->lock, NULL);
}

void nl_pagepool_release(struct nl_pagepool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        nl_pages_free(pool->spans[i].at, pool->spans[i].bytes);
    nl_free(pool->spans);
    pthread_mutex_destroy(&pool->lock);
}

void nl_pagepool_give(struct nl_pagepool *pool, void *memory, size_t bytes)
{
    if (!memory || !bytes)
        return;
    if (bytes < SMALL) {
        nl_pages_free(memory, bytes);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    nl_grow(&pool->spans, &pool->cap, pool->count + 1);
    pool->spans[pool->count++] = (struct nl_span){memory, whole_pages(bytes)};
    pthread_mutex_unlock(&pool->lock);
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

void *nl_pagepool_take(struct nl_pagepool *pool, size_t bytes)
{
    char *memory = nl_pages(bytes);
    size_t done = 0;
    if (bytes >= SMALL)
        nl_pagepool_put_under(pool, memory, &done, bytes);
    return memory;
}
