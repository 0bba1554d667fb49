/*
 * sqlitepages — rows of a SQLite table read straight from its b-tree pages in memory.
 *
 * SQLite's own step interface gives 6 M rows/s; this gives several times that, and leaf pages can
 * be handed to several threads. It reads the documented file format (sqlite.org/fileformat2.html):
 * rowid tables in UTF-8 databases whose content is all in the main file. Whoever opens a database
 * with it checks that there is no journal or write-ahead log with content, and goes through SQLite
 * for anything that sqlitepages_open refuses.
 *
 * The bytes are foreign: every read is bounds-checked against the page, the payload and the file,
 * no page is visited twice, and what cannot be read is counted in a struct sqlitepages_damage with
 * the place of the first one, while the rest is still delivered.
 *
 *     struct sqlitepages pages;
 *     if (!sqlitepages_open(&pages, map.bytes, map.size, &why)) ...go through SQLite
 *     sqlitepages_leaves(&pages, root, seen, &leaves, &damage);
 *     for each leaf: sqlitepages_read(&pages, leaf, &plan, &scratch, on_row, context, &damage);
 */
#ifndef SQLITEPAGES_H
#define SQLITEPAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A database file in memory (borrowed). Immutable: any number of threads may read through it. */
struct sqlitepages {
    const unsigned char *bytes;
    uint64_t size;
    uint32_t page_size, usable; /* usable = page size without the reserved tail */
    uint32_t count;             /* whole pages that are there */
    uint32_t promised;          /* pages the header says there are; more than count: cut file */
    unsigned threads;           /* that may look at pages when leaves are listed; 0 as 1 */
};

/* False, with a static text in *why, when these bytes are no database that can be read here. */
bool sqlitepages_open(struct sqlitepages *pages, const void *bytes, uint64_t size,
                      const char **why);

/* What could not be read. `offset` and `what` are of the first damage met. */
struct sqlitepages_damage {
    uint64_t pages, rows; /* lost */
    uint64_t offset;      /* byte in the file */
    const char *what;     /* static text, NULL = no damage */
};
void sqlitepages_damage_merge(struct sqlitepages_damage *into,
                              const struct sqlitepages_damage *from);

/* One bit per page, so that a circle in a damaged tree ends; share one over all trees of a file. */
uint64_t *sqlitepages_seen_new(const struct sqlitepages *pages); /* nl_free it */

/* Page numbers of the leaves of the table b-tree at `root`, in key order, and the rows
 * that their headers state. */
struct sqlitepages_leaves {
    uint32_t *page;
    size_t count, cap;
    uint64_t rows;
};
void sqlitepages_leaves(const struct sqlitepages *pages, uint32_t root, uint64_t *seen,
                        struct sqlitepages_leaves *leaves, struct sqlitepages_damage *damage);
void sqlitepages_leaves_release(struct sqlitepages_leaves *leaves);

/* True when page `root` begins a table b-tree (not an index, as WITHOUT ROWID tables are). */
bool sqlitepages_is_table(const struct sqlitepages *pages, uint32_t root);

/* Rows on a leaf page as its header states them; 0 for a damaged page. */
uint32_t sqlitepages_leaf_rows(const struct sqlitepages *pages, uint32_t page);

enum sqlitepages_type {
    SQLITEPAGES_NULL,
    SQLITEPAGES_INTEGER,
    SQLITEPAGES_REAL,
    SQLITEPAGES_TEXT,
    SQLITEPAGES_BLOB
};

/* One value. Bytes of texts and blobs are not terminated; they are in the file's memory, or, for
 * rows that spill over several pages, in the scratch: copy what must outlive the row. */
struct sqlitepages_cell {
    union {
        int64_t integer;
        double real;
        const unsigned char *bytes;
    };
    uint32_t len;
    uint8_t type; /* enum sqlitepages_type */
};

/* Which columns of a table go into which cells. */
#define SQLITEPAGES_COLUMNS 250
#define SQLITEPAGES_SKIP    255
struct sqlitepages_plan {
    unsigned columns;                  /* stored columns up to the last wanted one */
    unsigned cells;                    /* cells per row */
    int rowid_cell;                    /* cell that shows the rowid, or -1 */
    uint8_t cell[SQLITEPAGES_COLUMNS]; /* cell of a stored column, or SQLITEPAGES_SKIP */
    bool real[SQLITEPAGES_COLUMNS];    /* stored column has REAL affinity: whole numbers too */
};

/* Room for one row; one per thread. Zero it before first use. */
struct sqlitepages_scratch {
    struct sqlitepages_cell cells[SQLITEPAGES_COLUMNS + 1];
    unsigned char *payload;
    size_t payload_cap;
    uint64_t gathered; /* bytes put together from overflow pages so far */
};
void sqlitepages_scratch_release(struct sqlitepages_scratch *scratch);

typedef void sqlitepages_row_fn(void *context, const struct sqlitepages_cell *cells);

/* Brings a page near the processor, which does not see by itself which page follows a page. */
void sqlitepages_prefetch(const struct sqlitepages *pages, uint32_t page);

/* Calls `row` for every readable row of a leaf page, in key order. Cells of columns that a row does
 * not have (it was written before the column was added) are NULL. */
void sqlitepages_read(const struct sqlitepages *pages, uint32_t page,
                      const struct sqlitepages_plan *plan, struct sqlitepages_scratch *scratch,
                      sqlitepages_row_fn *row, void *context, struct sqlitepages_damage *damage);

/* Tells the kernel that these leaves will not be needed soon (resident size stays low). */
void sqlitepages_done(const struct sqlitepages *pages, const uint32_t *leaves, size_t count);

#endif
