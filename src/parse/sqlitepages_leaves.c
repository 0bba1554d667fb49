/*
 * The leaves of a table's tree. With several threads its interior pages alone are walked, and
 * all threads look whether what they name are leaves; without, and when that is not so, every
 * page is looked at in turn.
 */
#include <stdatomic.h>

#include "base/mem.h"
#include "base/pool.h"
#include "parse/sqlitepage.h"

#define MAX_DEPTH      64
#define PREFETCH_PAGES 8    /* children whose first bytes are fetched before they are looked at */
#define DONE_LEAVES    8192 /* leaves whose headers were read: the kernel may have them back */
#define LOOKED_AT      1024 /* leaves that a thread looks at, one task */

struct walk {
    const struct sqlitepages *pages;
    uint64_t *seen;
    struct sqlitepages_leaves *leaves;
    struct sqlitepages_damage *damage;
    struct {
        uint32_t page, next, cells; /* next child to visit; child number `cells` is the last */
    } level[MAX_DEPTH];
    int depth;         /* levels in use */
    int leaf_level;    /* children of that many levels are taken for leaves; 0 = none are */
    bool odd;          /* it is no such tree */
    uint32_t *entered; /* pages that were looked at while leaves are taken for such */
    size_t entered_count, entered_cap;
};

static void lost_page(struct walk *walk, uint32_t page, const char *what)
{
    uint64_t offset = (uint64_t)(page ? page - 1 : 0) * walk->pages->page_size;
    damaged(walk->damage, offset < walk->pages->size ? offset : walk->pages->size, what);
    walk->damage->pages++;
}

/* Visits a page: keeps a leaf, makes an interior page the current level. */
static void enter(struct walk *walk, uint32_t page)
{
    const unsigned char *start = page_bytes(walk->pages, page);
    if (!start) {
        lost_page(walk, page, page ? "a page lies beyond the end of the file" : "page number 0");
        return;
    }
    uint64_t bit = (uint64_t)1 << (page % 64);
    if (walk->seen[page / 64] & bit) {
        lost_page(walk, page, "a page is referred to twice");
        return;
    }
    walk->seen[page / 64] |= bit;
    if (walk->leaf_level) {
        nl_grow(&walk->entered, &walk->entered_cap, walk->entered_count + 1);
        walk->entered[walk->entered_count++] = page;
    }
    unsigned char type = start[header_gap(page)];
    if (type == LEAF) {
        struct sqlitepages_leaves *leaves = walk->leaves;
        walk->odd = walk->leaf_level > 0;
        if (leaves->count == leaves->cap)
            nl_grow(&leaves->page, &leaves->cap, leaves->count + 1);
        leaves->page[leaves->count++] = page;
        leaves->rows += sqlitepages_leaf_rows(walk->pages, page);
        if (leaves->count % DONE_LEAVES == 0)
            sqlitepages_done(walk->pages, leaves->page + leaves->count - DONE_LEAVES, DONE_LEAVES);
        return;
    }
    uint32_t cells = type == INTERIOR ? cell_count(walk->pages, page, start, 12) : UINT32_MAX;
    if (cells == UINT32_MAX || walk->depth == MAX_DEPTH) {
        lost_page(walk, page,
                  walk->depth == MAX_DEPTH ? "the tree is too deep" : "not a page of a table");
        return;
    }
    walk->level[walk->depth].page = page;
    walk->level[walk->depth].next = 0;
    walk->level[walk->depth++].cells = cells;
}

/* Keeps a leaf without a look at it. */
static void list_leaf(struct walk *walk, uint32_t page)
{
    struct sqlitepages_leaves *leaves = walk->leaves;
    uint64_t bit = (uint64_t)1 << (page % 64);
    walk->odd = !page_bytes(walk->pages, page) || walk->seen[page / 64] & bit;
    if (walk->odd)
        return;
    walk->seen[page / 64] |= bit;
    if (leaves->count == leaves->cap)
        nl_grow(&leaves->page, &leaves->cap, leaves->count + 1);
    leaves->page[leaves->count++] = page;
}

/* Page number of child `index` of an interior page; 0 if its cell is outside the page. */
static uint32_t child(const struct sqlitepages *pages, uint32_t page, uint32_t index,
                      uint32_t cells)
{
    const unsigned char *start = page_bytes(pages, page);
    const unsigned char *header = start + header_gap(page);
    if (index == cells)
        return big32(header + 8);
    uint32_t at = big16(header + 12 + (size_t)2 * index);
    if (at + 5 > pages->usable)
        return 0;
    return big32(start + at);
}

static void walk_on(struct walk *walk)
{
    const struct sqlitepages *pages = walk->pages;
    while (walk->depth > 0 && !walk->odd) {
        uint32_t page = walk->level[walk->depth - 1].page;
        uint32_t next = walk->level[walk->depth - 1].next++;
        uint32_t cells = walk->level[walk->depth - 1].cells;
        if (next > cells) {
            walk->depth--;
            continue;
        }
        if (walk->depth == walk->leaf_level) {
            list_leaf(walk, child(pages, page, next, cells));
            continue;
        }
        const unsigned char *soon =
            next + PREFETCH_PAGES < cells
                ? page_bytes(pages, child(pages, page, next + PREFETCH_PAGES, cells))
                : NULL;
        if (soon)
            __builtin_prefetch(soon);
        enter(walk, child(pages, page, next, cells));
    }
}

/* Levels above the first leaf; 0 when it is not found. */
static int levels_of(const struct sqlitepages *pages, uint32_t root)
{
    uint32_t page = root;
    for (int level = 0; level < MAX_DEPTH; level++) {
        const unsigned char *start = page_bytes(pages, page);
        uint32_t cells = start ? cell_count(pages, page, start, 12) : UINT32_MAX;
        if (start && start[header_gap(page)] == LEAF)
            return level;
        if (cells == UINT32_MAX || start[header_gap(page)] != INTERIOR)
            return 0;
        page = child(pages, page, 0, cells);
    }
    return 0;
}

struct look {
    const struct sqlitepages *pages;
    const uint32_t *page;
    size_t count;
    atomic_uint_fast64_t rows;
    atomic_bool odd;
};

static void look_at_leaves(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct look *look = context;
    const struct sqlitepages *pages = look->pages;
    size_t from = index * LOOKED_AT, to = from + LOOKED_AT;
    uint64_t rows = 0;
    to = to < look->count ? to : look->count;
    for (size_t i = from; i < to; i++) {
        if (i + PREFETCH_PAGES < to)
            __builtin_prefetch(page_bytes(pages, look->page[i + PREFETCH_PAGES]));
        if (page_bytes(pages, look->page[i])[header_gap(look->page[i])] != LEAF)
            atomic_store(&look->odd, true);
        rows += sqlitepages_leaf_rows(pages, look->page[i]);
    }
    atomic_fetch_add(&look->rows, rows);
    if (to - from == LOOKED_AT)
        sqlitepages_done(pages, look->page + from, LOOKED_AT);
}

static void forget(uint64_t *seen, const uint32_t *page, size_t count)
{
    for (size_t i = 0; i < count; i++)
        seen[page[i] / 64] &= ~((uint64_t)1 << (page[i] % 64));
}

/* All leaves of a sound tree are on one level, so its interior pages list them, and threads check
 * that they are leaves. False, with nothing changed, when they are not: the tree is damaged, and is
 * walked page by page. */
static bool list_at_once(struct walk *walk, uint32_t root)
{
    const struct sqlitepages *pages = walk->pages;
    struct sqlitepages_leaves *leaves = walk->leaves;
    const struct sqlitepages_leaves before = *leaves;
    walk->leaf_level = pages->threads > 1 ? levels_of(pages, root) : 0;
    if (walk->leaf_level == 0)
        return false;
    struct sqlitepages_damage damage = {0}, *others = walk->damage;
    walk->damage = &damage;
    enter(walk, root);
    walk_on(walk);
    struct look look = {
        .pages = pages, .page = leaves->page + before.count, .count = leaves->count - before.count};
    walk->odd = walk->odd || damage.what;
    if (!walk->odd)
        nl_parallel(pages->threads, (look.count + LOOKED_AT - 1) / LOOKED_AT, look_at_leaves,
                    &look);
    bool done = !walk->odd && !atomic_load(&look.odd);
    if (done) {
        leaves->rows += atomic_load(&look.rows);
    } else {
        forget(walk->seen, walk->entered, walk->entered_count);
        forget(walk->seen, leaves->page + before.count, leaves->count - before.count);
        leaves->count = before.count;
        leaves->rows = before.rows;
    }
    nl_free(walk->entered);
    *walk = (struct walk){.pages = pages, .seen = walk->seen, .leaves = leaves, .damage = others};
    return done;
}

void sqlitepages_leaves(const struct sqlitepages *pages, uint32_t root, uint64_t *seen,
                        struct sqlitepages_leaves *leaves, struct sqlitepages_damage *damage)
{
    struct walk walk = {.pages = pages, .seen = seen, .leaves = leaves, .damage = damage};
    if (list_at_once(&walk, root))
        return;
    enter(&walk, root);
    walk_on(&walk);
}

void sqlitepages_leaves_release(struct sqlitepages_leaves *leaves)
{
    nl_free(leaves->page);
    *leaves = (struct sqlitepages_leaves){0};
}
