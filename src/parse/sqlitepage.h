/*
 * sqlitepage — the layout of a page of a SQLite file, for its readers. Not for other rooms.
 */
#ifndef SQLITEPAGE_H
#define SQLITEPAGE_H

#include <string.h>

#include "parse/sqlitepages.h"

#define LEAF       0x0d
#define INTERIOR   0x05
#define PAGE_1_GAP 100 /* the file header is before the b-tree header of page 1 */

static inline uint32_t big16(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t big32(const unsigned char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap32(value);
}

static inline void damaged(struct sqlitepages_damage *damage, uint64_t offset, const char *what)
{
    if (damage->what)
        return;
    damage->offset = offset;
    damage->what = what;
}

static inline const unsigned char *page_bytes(const struct sqlitepages *pages, uint32_t page)
{
    if (page == 0 || page > pages->count)
        return NULL;
    return pages->bytes + (uint64_t)(page - 1) * pages->page_size;
}

static inline uint32_t header_gap(uint32_t page)
{
    return page == 1 ? PAGE_1_GAP : 0;
}

/* Number of cells of a page whose header takes `header` bytes; limited to what the page can hold.
 * A header that promises more is damage. */
static inline uint32_t cell_count(const struct sqlitepages *pages, uint32_t page,
                                  const unsigned char *start, uint32_t header)
{
    uint32_t gap = header_gap(page);
    uint32_t count = big16(start + gap + 3);
    uint32_t most = (pages->usable - gap - header) / 2;
    return count <= most ? count : UINT32_MAX;
}

#endif
