/*
 * pagepool — memory that was touched before, for arrays that come after.
 *
 * The first touch of fresh memory costs 0.3-1.2 s per GB on virtual machines, more than
 * most work on it. A pool keeps regions that one phase has done with and moves their
 * pages (mremap, no copying) under the arrays of the next phase. Thread-safe. Contents of
 * what is taken are undefined.
 */
#ifndef NL_PAGEPOOL_H
#define NL_PAGEPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spill.h"

#define NL_MAX_PATTERNS 32

struct nl_pagepool {
    struct nl_span {
        char *at;
        size_t bytes;
    } * spans;
    size_t count, cap;
    struct nl_repeated {
        uint64_t pattern;
        size_t bytes; /* of it, so far */
        int file;     /* in memory */
    } repeated[NL_MAX_PATTERNS];
    size_t patterns;
    size_t folds;            /* mappings that nl_pagepool_fold made */
    char *fresh, *fresh_end; /* huge pages that were not given yet */
    size_t fresh_bytes;      /* given so far */
    struct nl_spill *spill; /* or NULL; where arrays go once it has started. Nothing is kept then */
    pthread_mutex_t lock;
};

void nl_pagepool_init(struct nl_pagepool *pool, struct nl_spill *spill);
void nl_pagepool_release(struct nl_pagepool *pool);

/* Takes over memory that nl_pages(bytes) or nl_pagepool_take(bytes) gave. */
void nl_pagepool_give(struct nl_pagepool *pool, void *memory, size_t bytes);

/* Gives what the pool has to the system: little more will be taken. */
void nl_pagepool_empty(struct nl_pagepool *pool);

/* Frees memory of this pool instead of taking it over. */
void nl_pagepool_free(const struct nl_pagepool *pool, void *memory, size_t bytes);

/* `bytes` of page-aligned memory, zeroed, to be freed with nl_pagepool_free; not of the pool, but
 * next to what was asked for before, so that huge pages are under all of it once there is much.
 * NULL only when bytes is 0. */
void *nl_pagepool_fresh(struct nl_pagepool *pool, size_t bytes);

/* `bytes` of page-aligned memory, to be freed with nl_pagepool_free. NULL only when bytes is 0. */
void *nl_pagepool_take(struct nl_pagepool *pool, size_t bytes);

/* The same for an array that is filled bit by bit while other memory is given: puts pages
 * of the pool under bytes *done .. to of `memory`, which nl_pages gave and which was not
 * touched there yet. *done, 0 at first, becomes what need not be looked at again: a
 * page's end at or after `to`. */
void nl_pagepool_put_under(struct nl_pagepool *pool, void *memory, size_t *done, size_t to);

/* Lets `memory`, which nl_pages(bytes) gave, read as the pattern again and again: the same few
 * pages many times, which cost nothing until they are written (then, a page at a time, what fresh
 * ones cost). False when that is not worth it or not possible; the contents are undefined then. */
bool nl_pagepool_repeat(struct nl_pagepool *pool, void *memory, size_t bytes, uint64_t pattern);

/* The same for the whole pages of bytes *from .. *to of an array that nl_pagepool_fresh gave, which
 * were not touched: those become *from .. *to, and *done is as nl_pagepool_put_under leaves it.
 * False, with all as they were, also where there are few. */
bool nl_pagepool_repeat_part(struct nl_pagepool *pool, void *memory, size_t *from, size_t *to,
                             uint64_t pattern, size_t *done);

/* The same for the parts of an array that nl_pagepool_take(bytes) gave in which all cells of
 * `size` bytes (1, 2, 4 or 8) are equal: the cells keep their values, and the pages of those parts
 * serve what is taken next. */
void nl_pagepool_fold(struct nl_pagepool *pool, void *memory, size_t bytes, unsigned size);

#endif
