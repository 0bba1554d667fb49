/*
 * Reading b-tree pages. Terms are SQLite's: a table is a b-tree of pages; interior pages (0x05)
 * point to children, leaf pages (0x0d) hold cells; a cell is a payload size, a rowid and a record,
 * whose end may be on a chain of overflow pages; a record is a header of serial types and then the
 * values. The hot path is read_local → record_decode: one pass over the record's header, values
 * taken out only for wanted columns, nothing allocated.
 */
#define _GNU_SOURCE
#include "parse/sqlitepages.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "parse/sqlitepage.h"

#define CACHE_LINE     64
#define PREFETCH_BYTES 8192 /* of larger pages the rest comes along as it is read */

static uint64_t big64(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap64(value);
}

/* A variable-length integer of 1 to 9 bytes. Gives the byte after it; NULL when it passes `end`. */
static const unsigned char *varint(const unsigned char *at, const unsigned char *end,
                                   uint64_t *value)
{
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) {
        if (at >= end)
            return NULL;
        sum = sum << 7 | (*at & 0x7f);
        if (*at++ < 0x80) {
            *value = sum;
            return at;
        }
    }
    if (at >= end)
        return NULL;
    *value = sum << 8 | *at;
    return at + 1;
}

static inline const unsigned char *varint_fast(const unsigned char *at, const unsigned char *end,
                                               uint64_t *value)
{
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    return varint(at, end, value);
}

void sqlitepages_damage_merge(struct sqlitepages_damage *into,
                              const struct sqlitepages_damage *from)
{
    if (from->what && (!into->what || from->offset < into->offset)) {
        into->what = from->what;
        into->offset = from->offset;
    }
    into->pages += from->pages;
    into->rows += from->rows;
}

/* What in a file header keeps us from reading the pages; NULL = nothing. */
static const char *header_problem(const unsigned char *head, uint64_t size, uint32_t page_size)
{
    if (page_size < 512 || (page_size & (page_size - 1)) != 0 || page_size - head[20] < 480)
        return "page size in the header is impossible";
    if (big32(head + 56) > 1)
        return "text is not UTF-8";
    if (big32(head + 44) > 4 || head[21] != 64 || head[22] != 32 || head[23] != 32)
        return "not of file format 1 to 4";
    return size < page_size ? "the file ends within its first page" : NULL;
}

bool sqlitepages_open(struct sqlitepages *pages, const void *bytes, uint64_t size, const char **why)
{
    const unsigned char *head = bytes;
    *pages = (struct sqlitepages){.bytes = head, .size = size};
    *why = "not a SQLite 3 database";
    if (size < PAGE_1_GAP || memcmp(head, "SQLite format 3", 16) != 0)
        return false;
    uint32_t page_size = big16(head + 16);
    if (page_size == 1)
        page_size = 65536;
    *why = header_problem(head, size, page_size);
    if (*why)
        return false;
    pages->page_size = page_size;
    pages->usable = page_size - head[20];
    uint64_t whole = size / page_size;
    pages->count = whole > UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)whole;
    /* The page count in the header counts only when the last writer kept it. */
    pages->promised = big32(head + 92) == big32(head + 24) ? big32(head + 28) : 0;
    if (pages->promised == 0 && size % page_size != 0)
        pages->promised = pages->count + 1;
    return true;
}

uint64_t *sqlitepages_seen_new(const struct sqlitepages *pages)
{
    return nl_zalloc(((size_t)pages->count / 64 + 1) * sizeof(uint64_t));
}

static uint64_t offset_in(const struct sqlitepages *pages, const unsigned char *at)
{
    return (uint64_t)(at - pages->bytes);
}

bool sqlitepages_is_table(const struct sqlitepages *pages, uint32_t root)
{
    const unsigned char *start = page_bytes(pages, root);
    if (!start)
        return false;
    unsigned char type = start[header_gap(root)];
    return type == LEAF || type == INTERIOR;
}

uint32_t sqlitepages_leaf_rows(const struct sqlitepages *pages, uint32_t page)
{
    const unsigned char *start = page_bytes(pages, page);
    if (!start || start[header_gap(page)] != LEAF)
        return 0;
    uint32_t count = cell_count(pages, page, start, 8);
    return count == UINT32_MAX ? 0 : count;
}

/* ---- Records ---- */

/* Bytes that the value of a small serial type takes; 10 and 11 are reserved. */
#define SERIALS 12
static const uint8_t small_size[SERIALS] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

/* Bytes before any value that may be read: there are always that many, see
 * gather_overflow and PAGE_1_GAP. */
#define MAX_NUMBER_BYTES 8

/* A big-endian integer of 1 to 8 bytes that ends at `end`. It is taken out of the eight bytes
 * there, so that its size, which changes from row to row, needs no branch. */
static inline int64_t integer_before(const unsigned char *end, unsigned size)
{
    unsigned shift = 64 - 8 * size;
    return (int64_t)(big64(end - MAX_NUMBER_BYTES) << shift) >> shift;
}

/* The value that ends at `end`, of any type. */
static inline void cell_of(struct sqlitepages_cell *cell, const unsigned char *end, uint64_t type,
                           uint64_t size, bool real)
{
    if (type - 1 < 6) {
        *cell = (struct sqlitepages_cell){.integer = integer_before(end, (unsigned)size),
                                          .type = SQLITEPAGES_INTEGER};
    } else if (type == 8 || type == 9) {
        *cell =
            (struct sqlitepages_cell){.integer = (int64_t)type - 8, .type = SQLITEPAGES_INTEGER};
    } else if (type >= SERIALS) {
        *cell = (struct sqlitepages_cell){.bytes = end - size,
                                          .len = (uint32_t)size,
                                          .type = type & 1 ? SQLITEPAGES_TEXT : SQLITEPAGES_BLOB};
        return;
    } else if (type == 7) {
        uint64_t bits = big64(end - size);
        memcpy(&cell->real, &bits, sizeof cell->real);
        cell->len = 0;
        cell->type = isnan(cell->real) ? SQLITEPAGES_NULL : SQLITEPAGES_REAL;
        return;
    } else {
        *cell = (struct sqlitepages_cell){.type = SQLITEPAGES_NULL};
        return;
    }
    if (real) {
        cell->real = (double)cell->integer;
        cell->type = SQLITEPAGES_REAL;
    }
}

/* Columns that a row does not have: it was written before they were added. */
static void clear_cells(const struct sqlitepages_plan *plan, unsigned column,
                        struct sqlitepages_cell *cells)
{
    for (; column < plan->columns; column++)
        if (plan->cell[column] != SQLITEPAGES_SKIP)
            cells[plan->cell[column]] = (struct sqlitepages_cell){.type = SQLITEPAGES_NULL};
}

/* Fills the cells of one record in [at, end). False when it does not fit in there. */
static bool record_decode(const unsigned char *at, const unsigned char *end,
                          const struct sqlitepages_plan *plan, struct sqlitepages_cell *cells)
{
    uint64_t header_size;
    const unsigned char *header = varint_fast(at, end, &header_size);
    if (!header || header_size > (uint64_t)(end - at) || header_size < (uint64_t)(header - at))
        return false;
    const unsigned char *body = at + header_size, *header_end = body;
    unsigned column = 0;
    for (; column < plan->columns && header < header_end; column++) {
        uint64_t type = *header++;
        if (type == 0) { /* NULL, as half of the columns of most tables */
            if (plan->cell[column] != SQLITEPAGES_SKIP)
                cells[plan->cell[column]] = (struct sqlitepages_cell){.type = SQLITEPAGES_NULL};
            continue;
        }
        if (type >= 0x80 && !(header = varint(header - 1, header_end, &type)))
            return false;
        uint64_t size = type < SERIALS ? small_size[type] : (type - 12) >> 1;
        if (size > (uint64_t)(end - body))
            return false;
        body += size;
        if (plan->cell[column] != SQLITEPAGES_SKIP)
            cell_of(&cells[plan->cell[column]], body, type, size, plan->real[column]);
    }
    clear_cells(plan, column, cells);
    return true;
}

/* Bytes of a payload of `size` that are on the leaf page itself (fileformat2, section 1.6). */
static uint64_t local_size(const struct sqlitepages *pages, uint64_t size)
{
    uint64_t most = pages->usable - 35;
    if (size <= most)
        return size;
    uint64_t least = ((uint64_t)pages->usable - 12) * 32 / 255 - 23;
    uint64_t fitting = least + (size - least) % (pages->usable - 4);
    return fitting <= most ? fitting : least;
}

/* Puts together a payload that goes on over overflow pages. NULL when the chain is broken. */
static const unsigned char *gather_overflow(const struct sqlitepages *pages,
                                            const unsigned char *local, uint64_t local_bytes,
                                            uint64_t size, struct sqlitepages_scratch *scratch)
{
    /* All rows together cannot hold more than the file, however often it is read through; this
     * keeps rows that share one long chain from taking for ever. */
    scratch->gathered += size;
    if (size > pages->size || scratch->gathered / 8 > pages->size)
        return NULL;
    if (scratch->payload_cap < size + MAX_NUMBER_BYTES)
        nl_grow(&scratch->payload, &scratch->payload_cap, (size_t)size + MAX_NUMBER_BYTES);
    unsigned char *payload = scratch->payload + MAX_NUMBER_BYTES;
    memset(scratch->payload, 0, MAX_NUMBER_BYTES);
    memcpy(payload, local, (size_t)local_bytes);
    uint64_t done = local_bytes;
    uint32_t next = big32(local + local_bytes);
    /* Every page adds bytes, and size is bounded by the file: a circle ends. */
    while (done < size) {
        const unsigned char *start = page_bytes(pages, next);
        if (!start)
            return NULL;
        uint64_t part = pages->usable - 4;
        if (part > size - done)
            part = size - done;
        memcpy(payload + done, start + 4, (size_t)part);
        done += part;
        next = big32(start);
    }
    return payload;
}

/* Reads the cell at `at`. NULL = done; else what is wrong. */
static const char *read_cell(const struct sqlitepages *pages, const unsigned char *at,
                             const unsigned char *end, const struct sqlitepages_plan *plan,
                             struct sqlitepages_scratch *scratch)
{
    uint64_t size, rowid;
    at = varint_fast(at, end, &size);
    if (at)
        at = varint_fast(at, end, &rowid);
    if (!at)
        return "a cell passes the end of its page";
    uint64_t local = local_size(pages, size);
    uint64_t there = local < size ? local + 4 : local;
    if (there > (uint64_t)(end - at))
        return "a row passes the end of its page";
    if (local < size) {
        at = gather_overflow(pages, at, local, size, scratch);
        if (!at)
            return "the overflow pages of a row are not all there";
    }
    if (!record_decode(at, at + size, plan, scratch->cells))
        return "a row's header does not fit its content";
    if (plan->rowid_cell >= 0) {
        struct sqlitepages_cell *cell = &scratch->cells[plan->rowid_cell];
        cell->type = SQLITEPAGES_INTEGER;
        cell->integer = (int64_t)rowid;
        cell->len = 0;
    }
    return NULL;
}

void sqlitepages_prefetch(const struct sqlitepages *pages, uint32_t page)
{
    const unsigned char *start = page_bytes(pages, page);
    for (uint32_t at = 0; start && at < pages->page_size && at < PREFETCH_BYTES; at += CACHE_LINE)
        __builtin_prefetch(start + at);
}

void sqlitepages_read(const struct sqlitepages *pages, uint32_t page,
                      const struct sqlitepages_plan *plan, struct sqlitepages_scratch *scratch,
                      sqlitepages_row_fn *row, void *context, struct sqlitepages_damage *damage)
{
    const unsigned char *start = page_bytes(pages, page);
    uint32_t count = start ? cell_count(pages, page, start, 8) : UINT32_MAX;
    if (count == UINT32_MAX || start[header_gap(page)] != LEAF) {
        damaged(damage, start ? offset_in(pages, start) : pages->size, "not a leaf page");
        damage->pages++;
        return;
    }
    const unsigned char *pointer = start + header_gap(page) + 8;
    const unsigned char *end = start + pages->usable;
    uint32_t lowest = (uint32_t)(pointer - start) + 2 * count;
    for (uint32_t i = 0; i < count; i++, pointer += 2) {
        uint32_t at = big16(pointer);
        const char *what = "a cell lies outside its page";
        if (at >= lowest && at < pages->usable)
            what = read_cell(pages, start + at, end, plan, scratch);
        if (what) {
            damaged(damage, offset_in(pages, start) + at, what);
            damage->rows++;
            continue;
        }
        row(context, scratch->cells);
    }
}

void sqlitepages_scratch_release(struct sqlitepages_scratch *scratch)
{
    nl_free(scratch->payload);
    scratch->payload = NULL;
    scratch->payload_cap = 0;
}

void sqlitepages_done(const struct sqlitepages *pages, const uint32_t *leaves, size_t count)
{
    if (count == 0)
        return;
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = leaves[i] < low ? leaves[i] : low;
        high = leaves[i] > high ? leaves[i] : high;
    }
    if ((uint64_t)high - low > 4 * (uint64_t)count)
        return; /* spread over the file: other units need the pages between */
    uintptr_t system_page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)pages->bytes + (uintptr_t)(low - 1) * pages->page_size;
    uintptr_t to = (uintptr_t)pages->bytes + (uintptr_t)high * pages->page_size;
    from = (from + system_page - 1) & ~(system_page - 1);
    to &= ~(system_page - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}
