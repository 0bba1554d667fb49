/*
 * vtab — the tables of schema.def as SQLite virtual tables. One module serves all of them.
 *
 *   vtab_column.c   how a value is reached (hops), shown, and put in order
 *   vtab_filter.c   a WHERE constraint as a test on stored values
 *   vtab_scan.c     tests on blocks of 1,024 rows
 *   vtab_plan.c     xBestIndex: which constraints and which order are ours
 *   vtab_lookup.c   sorted indexes (made when a lookup repeats) and native ORDER BY / GROUP BY
 *   vtab.c          the module: cursors that put these together
 *
 * Stored values are compared as unsigned 64-bit *keys* that keep the column's order, so a
 * comparison of any integer column is one range test. Private to sql/.
 */
#ifndef NL_VTAB_H
#define NL_VTAB_H

#include "base/sort.h"
#include "timeline/bigarray.h"
#include "sql/dbstate.h"
#include "store/columnpath.h"

#define NL_BLOCK_ROWS 1024
#define NL_MAX_TERMS  24 /* constraints taken over per scan; SQLite checks the others */
#define NL_MAX_ORDER  8

enum nl_shown {
    NL_SHOWN_INTEGER,
    NL_SHOWN_REAL,
    NL_SHOWN_NAME,
    NL_SHOWN_ENUM,
    NL_SHOWN_TEXT /* some are filled patterns: SQLite compares the texts itself */
};

/* A column of an SQL table. The value of row r is array[row reached from r over `hops`]. */
struct nl_vcolumn {
    const struct nl_column_def *def; /* NULL for the row's own number (`id`, rowid) */
    const void *array;
    const uint32_t *hops[NL_MAX_HOPS];
    unsigned hop_count;
    enum nl_shown shown;
    int64_t origin;        /* what is subtracted when shown */
    uint64_t null_key;     /* key of unknown */
    bool nullable;         /* some value of the type means unknown */
    signed char ascending; /* -1 not yet checked, 1 stored values never decrease, 0 no */
    unsigned lookups;      /* lookups by value so far */
    struct nl_index *index;
};

struct nl_vtab {
    sqlite3_vtab base;
    struct nl_db *db;
    enum nl_table_id table;
    uint32_t rows;
    unsigned column_count;      /* as SQL sees them */
    struct nl_vcolumn *columns; /* one more than column_count: the last is the row's number */
};

/* ---- vtab_column.c ---- */

/* Fills vtab->columns; the array is nl_free'd by the caller. */
void nl_vcolumns_resolve(struct nl_vtab *vtab);
/* "INTEGER NS": affinity and meaning of a column as declared to SQLite. */
const char *nl_column_sql_type(const struct nl_column_def *def);

/* Stored value as key; false when a hop leads nowhere. Unknown values have the null key. */
bool nl_vcolumn_key(const struct nl_vcolumn *column, uint32_t row, uint64_t *key);
double nl_vcolumn_real(const struct nl_vcolumn *column, uint32_t row);
void nl_vcolumn_show(const struct nl_vtab *vtab, const struct nl_vcolumn *column, uint32_t row,
                     sqlite3_context *context);
/* Asks the processor for what nl_vcolumn_show will read of a row. */
__attribute__((always_inline)) static inline void
nl_vcolumn_prefetch(const struct nl_vcolumn *column, uint32_t row)
{
    if (column->hop_count)
        __builtin_prefetch(&column->hops[0][row]);
    else if (column->def)
        __builtin_prefetch((const char *)column->array + (size_t)row * column->def->size);
}
/* Row of the storage table; NL_NULL_ROW when a hop leads nowhere. */
static inline uint32_t nl_vcolumn_storage_row(const struct nl_vcolumn *column, uint32_t row)
{
    for (unsigned i = 0; i < column->hop_count && row != NL_NULL_ROW; i++)
        row = column->hops[i][row];
    return row;
}
/* Whether the stored values of a column without hops never decrease (checked once). */
bool nl_vcolumn_ascending(struct nl_vtab *vtab, struct nl_vcolumn *column);

/* ---- vtab_filter.c ---- */

/* One letter per operator in plans. */
enum nl_op {
    NL_OP_EQ = '=',
    NL_OP_LT = '<',
    NL_OP_LE = '[',
    NL_OP_GT = '>',
    NL_OP_GE = ']',
    NL_OP_IS = '~',
    NL_OP_NULL = '0',
    NL_OP_NOT_NULL = '1',
    NL_OP_GLOB = 'g',
    NL_OP_LIKE = 'l',
    NL_OP_IN = 'i'
};

enum nl_test { NL_TEST_RANGE, NL_TEST_REAL, NL_TEST_BITS, NL_TEST_LIST, NL_TEST_NEVER };

struct nl_filter {
    struct nl_vcolumn *column;
    enum nl_test test;
    bool null_hop_passes;
    uint64_t low, high;         /* RANGE: keys, both ends included */
    double real_low, real_high; /* REAL */
    bool real_null;             /* REAL: unknown passes and nothing else */
    uint64_t *bits;             /* BITS: one per dictionary id */
    size_t bit_cap;             /* words of `bits` */
    uint64_t bit_count;
    uint64_t *list; /* LIST: ascending keys */
    size_t list_count, list_cap;
    /* What `bits` was made from, so that inner loops of a join do not make it again. */
    char *pattern;
    size_t pattern_len, pattern_cap;
    char pattern_op;
};

/* Makes the test for `column op value`. A false return means every row passes (SQLite checks).
 * *code is an SQLite result code, SQLITE_OK unless the search must stop. */
bool nl_filter_set(struct nl_vtab *vtab, struct nl_filter *filter, struct nl_vcolumn *column,
                   enum nl_op op, sqlite3_value *value, int *code);
void nl_filter_release(struct nl_filter *filter);

/* ---- vtab_scan.c ---- */

/* Keeps of rows[0..count) (count <= NL_BLOCK_ROWS) those that pass; returns how many. */
size_t nl_filter_rows(const struct nl_filter *filter, uint32_t *rows, size_t count);

/* ---- vtab_plan.c ---- */

/* idxStr: per argument an operator letter and the column as two letters; then '|' and per ORDER BY
 * term a letter 'a' (ascending), 'd' (descending) or 'g' (grouping is enough) and the column; then
 * '@' and the column whose sorted index is to be used, if any. */
struct nl_plan {
    unsigned term_count, order_count;
    struct {
        enum nl_op op;
        unsigned column;
    } terms[NL_MAX_TERMS];
    struct {
        char direction;
        unsigned column;
    } order[NL_MAX_ORDER];
    int lookup; /* column, -1 = scan */
};
int nl_plan_best(struct nl_vtab *vtab, sqlite3_index_info *info);
void nl_plan_read(struct nl_plan *plan, const char *text);

/* ---- vtab_lookup.c ---- */

/* Rows that have a value, sorted by its key. */
struct nl_index {
    struct nl_keyed *items;
    size_t count;
    struct nl_bigarray memory;
};
/* NULL while a scan is the better choice (small table, or the first few lookups). */
const struct nl_index *nl_index_for(struct nl_vtab *vtab, struct nl_vcolumn *column);
void nl_index_free(struct nl_index *index);
/* Items with low <= key <= high. */
size_t nl_index_range(const struct nl_index *index, uint64_t low, uint64_t high,
                      const struct nl_keyed **first);

/* Puts rows in the plan's order. */
void nl_order_rows(struct nl_vtab *vtab, const struct nl_plan *plan, uint32_t *rows, size_t count);

#endif
