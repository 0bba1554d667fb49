/* Arrays in files: what they hold when they leave memory, what is given back, and no room. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pagepool.h"
#include "base/spill.h"
#include "check.h"

#define BYTES ((size_t)4 << 20)

static void fill(uint32_t *cells, uint32_t seed)
{
    for (size_t i = 0; i < BYTES / 4; i++)
        cells[i] = (uint32_t)i * 2654435761U + seed;
}

static bool is_filled(const uint32_t *cells, uint32_t seed)
{
    for (size_t i = 0; i < BYTES / 4; i++)
        if (cells[i] != (uint32_t)i * 2654435761U + seed)
            return false;
    return true;
}

static bool is_zero(const uint32_t *cells)
{
    for (size_t i = 0; i < BYTES / 4; i++)
        if (cells[i])
            return false;
    return true;
}

static void nothing_before_it_starts(void)
{
    char text[NL_SPILL_TEXT];
    struct nl_spill *spill = nl_spill_new();
    CHECK(!nl_spill_take(spill, BYTES));
    CHECK(!nl_spill_take(NULL, BYTES));
    CHECK(!nl_spill_start(NULL, 0));
    CHECK_TEXT(nl_spill_said(NULL, text), "");
    nl_spill_trim(NULL);
    nl_spill_release(NULL);
    nl_spill_release(spill);
}

static void no_folder_has_that_much(void)
{
    char text[NL_SPILL_TEXT];
    struct nl_spill *spill = nl_spill_new();
    CHECK(!nl_spill_start(spill, UINT64_MAX / 2));
    CHECK(!nl_spill_started(spill));
    CHECK(strstr(nl_spill_said(spill, text), "TMPDIR") != NULL);
    nl_spill_release(spill);
}

static void holds_what_leaves_memory(void)
{
    struct nl_spill *spill = nl_spill_new();
    uint64_t before, there, after;
    if (nl_spill_start(spill, 0)) { /* else no folder here is on a disk */
        uint32_t *one = nl_spill_take(spill, BYTES), *two = nl_spill_take(spill, BYTES - 100);
        CHECK(one && two && !nl_spill_full(spill));
        CHECK(is_zero(one));
        (void)nl_memory_resident(&before);
        fill(one, 1);
        memset(two, 7, BYTES - 100);
        (void)nl_memory_resident(&there);
        nl_spill_trim(spill);
        (void)nl_memory_resident(&after);
        CHECK(there >= before + BYTES / 2); /* `one` had its pages, `two` had none */
        CHECK(after + BYTES < there);
        CHECK(is_filled(one, 1));
        CHECK(((unsigned char *)two)[BYTES - 101] == 7);
        CHECK(!nl_spill_free(spill, one + 1024)); /* none begins there */
        CHECK(nl_spill_owns(spill, one) && !nl_spill_owns(spill, &before));
        CHECK(nl_spill_free(spill, one));
        CHECK(!nl_spill_free(spill, one));
        nl_spill_leave(spill, two);
        CHECK(!nl_spill_owns(spill, two));
        nl_pages_free(two, BYTES - 100);
        CHECK(!nl_spill_take(spill, 1000)); /* too small to be worth a file */
        CHECK(!nl_spill_full(spill));
    }
    nl_spill_release(spill);
}

/* Pages of no file never get among those of one: trimming would lose them. */
static void pool_begins_to_spill(void)
{
    struct nl_spill *spill = nl_spill_new();
    struct nl_pagepool pool;
    size_t done = 0;
    nl_pagepool_init(&pool, spill);
    uint32_t *early = nl_pagepool_take(&pool, BYTES), *kept = nl_pagepool_take(&pool, BYTES);
    fill(early, 2);
    fill(kept, 3);
    nl_pagepool_give(&pool, early, BYTES); /* the pool has these pages when spilling begins */
    bool spills = nl_spill_start(spill, 0);
    uint32_t *late = nl_pagepool_fresh(&pool, BYTES);
    nl_pagepool_put_under(&pool, late, &done, BYTES);
    CHECK(!spills || is_zero(late));
    fill(late, 4);
    nl_spill_trim(spill);
    CHECK(is_filled(late, 4));
    CHECK(is_filled(kept, 3));
    nl_pagepool_give(&pool, kept, BYTES);
    uint32_t *unknown = nl_pagepool_fresh(&pool, BYTES);
    if (nl_pagepool_repeat(&pool, unknown, BYTES, UINT64_MAX)) {
        unknown[5] = 9; /* a page of its own now */
        nl_spill_trim(spill);
        CHECK(unknown[5] == 9 && unknown[4] == UINT32_MAX);
    }
    nl_pagepool_free(&pool, unknown, BYTES);
    nl_pagepool_give(&pool, late, BYTES);
    nl_pagepool_release(&pool);
    nl_spill_release(spill);
}

/* Stretches of one value, of zeros, and of different values, in cells of every size. */
static void folds_what_is_equal(void)
{
    enum { STRETCH = 192 << 10 };
    size_t bytes = 2 * BYTES + 12345;
    struct nl_pagepool pool;
    nl_pagepool_init(&pool, NULL);
    for (unsigned size = 1; size <= 8; size *= 2) {
        unsigned char *cells = nl_pagepool_take(&pool, bytes), *want = nl_alloc(bytes);
        for (size_t i = 0; i < bytes; i++) {
            size_t stretch = i / STRETCH;
            unsigned char odd = (unsigned char)(i / size * 37),
                          even = (unsigned char)(i % size + 1);
            want[i] = stretch % 3 == 0 ? odd : stretch % 3 == 1 ? even : 0;
        }
        memcpy(cells, want, bytes);
        size_t had = pool.count;
        nl_pagepool_fold(&pool, cells, bytes, size);
        CHECK(memcmp(cells, want, bytes) == 0);
        CHECK(pool.count >= had); /* more, where the system can move pages so */
        size_t spare = pool.count ? pool.spans[pool.count - 1].bytes : 0;
        CHECK(!spare || spare >= bytes / 2);
        for (size_t i = 0; i < bytes; i += 4097)
            cells[i] = want[i] = (unsigned char)i; /* of the one cell alone */
        CHECK(memcmp(cells, want, bytes) == 0);
        unsigned char *next = nl_pagepool_take(&pool, bytes); /* on the pages that were spared */
        memset(next, 0xa5, bytes);
        CHECK(memcmp(cells, want, bytes) == 0);
        nl_pagepool_free(&pool, next, bytes);
        nl_pagepool_free(&pool, cells, bytes);
        nl_free(want);
    }
    nl_pagepool_empty(&pool);
    CHECK_INT(pool.count, 0);
    nl_pagepool_release(&pool);
}

static struct nl_spill *of_process;

struct nl_spill *nl_process_spill(void)
{
    return of_process;
}

/* An array that lies in memory, then in files of growing size, then in memory again. */
static void arrays_of_the_process(void)
{
    struct nl_spill *spill = of_process = nl_spill_new();
    uint32_t *early = nl_alloc(BYTES), *small = nl_alloc(1000);
    fill(early, 5);
    if (nl_spill_start(spill, 0)) {
        CHECK(!nl_spill_owns(spill, early));
        early = nl_realloc(early, 2 * BYTES);
        CHECK_INT((int64_t)nl_spill_bytes(spill, early), (int64_t)(2 * BYTES));
        nl_spill_trim(spill);
        CHECK(is_filled(early, 5));
        early = nl_realloc(early, 3 * BYTES);
        CHECK_INT((int64_t)nl_spill_bytes(spill, early), (int64_t)(3 * BYTES));
        CHECK(is_filled(early, 5));
        uint32_t *zero = nl_zalloc(BYTES);
        CHECK(nl_spill_owns(spill, zero) && is_zero(zero));
        early = nl_realloc(early, 4000);
        CHECK(!nl_spill_owns(spill, early) && early[999] == 999 * 2654435761U + 5);
        small = nl_realloc(small, 2000);
        CHECK(!nl_spill_owns(spill, small));
        nl_spill_in_child(spill); /* what is spilled stays, more does not come */
        uint32_t *later = nl_alloc(BYTES);
        CHECK(!nl_spill_owns(spill, later) && nl_spill_owns(spill, zero));
        nl_free(later);
        nl_free(zero);
        CHECK(!nl_spill_full(spill));
    }
    for (size_t bytes = 16; bytes < 40000; bytes += 16) /* some are page-aligned */
        nl_free(nl_alloc(bytes));
    void *aligned = NULL;
    CHECK(posix_memalign(&aligned, 4096, 64) == 0);
    nl_free(aligned);
    nl_free(early);
    nl_free(small);
    of_process = NULL;
    nl_spill_release(spill);
}

static void no_room(void)
{
    struct rlimit limit, small;
    char text[NL_SPILL_TEXT];
    struct nl_spill *spill = nl_spill_new();
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = BYTES / 2;
    if (nl_spill_start(spill, 0)) {
        setrlimit(RLIMIT_FSIZE, &small);
        CHECK(!nl_spill_take(spill, BYTES));
        setrlimit(RLIMIT_FSIZE, &limit);
        CHECK(nl_spill_full(spill));
        CHECK(strstr(nl_spill_said(spill, text), "a limit of file sizes (ulimit -f)") != NULL);
    }
    nl_spill_release(spill);
}

CHECK_MAIN("spill", {"nothing before it starts", nothing_before_it_starts},
           {"no folder has that much", no_folder_has_that_much},
           {"holds what leaves memory", holds_what_leaves_memory},
           {"pool begins to spill", pool_begins_to_spill},
           {"folds what is equal", folds_what_is_equal},
           {"arrays of the process", arrays_of_the_process}, {"no room", no_room})
