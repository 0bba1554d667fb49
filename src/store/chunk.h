/*
 * chunk — staged rows while they wait: a few hundred rows of one table from one unit, column by
 * column, each cell in as few bytes as the values of its column need there.
 *
 * Neighbouring rows resemble each other: times are close together, ids count up, most columns say
 * nothing. So a column is kept as what its values are above the least of them, in 0 (all are the
 * same), 1, 2, 4 or 8 bytes. An operator of a PyTorch trace and its slice take 26 bytes instead of
 * 104. It costs about 15 ns a row, less than touching the memory that it saves, and what reads a
 * column later reads its bytes alone.
 *
 * A chunk begins with a struct nl_chunk_column per column of the table.
 *
 *     size_t bytes = nl_chunk_pack(room, def, rows, count); // room: nl_chunk_room(def, count) bytes
 *     nl_chunk_read(room, def, c, count, cells);            // a column, as values of its own type
 *
 * Not for other rooms.
 */
#ifndef NL_CHUNK_H
#define NL_CHUNK_H

#include "store/schema.h"

/* Whether a column is of its table, not looked up in another one by SQL. */
static inline bool nl_is_stored(const struct nl_column_def *column)
{
    return column->hop == NL_HOP_NONE;
}

/* Eight bytes of cells of a type that say nothing, whatever the size of a cell. */
uint64_t nl_unknown_cells(enum nl_type type);

/* `value`, as many of its bytes as a cell has, into each of `count` cells. */
void nl_fill_cells(void *cells, unsigned size, size_t count, uint64_t value);

/* Values are ranked so that unknown is 0: a cell is 0, or the rank above `low`. */
struct nl_chunk_column {
    uint64_t low;   /* without cells: the rank of all values */
    uint32_t at;    /* of the cells in the chunk */
    uint32_t bytes; /* of a cell; 0 = there are none */
};

#define NL_CHUNK_ROWS 1024 /* in a chunk at most */

/* Bytes that a chunk of so many rows may take. */
size_t nl_chunk_room(const struct nl_table_def *def, uint32_t count);

/* Packs `rows` (struct nl_T_row, one after the other) into `chunk`, which has that much room;
 * returns the bytes of the chunk, a multiple of 8. */
size_t nl_chunk_pack(char *chunk, const struct nl_table_def *def, const void *rows, uint32_t count);

/* Bytes that a chunk of `count` rows will take as columns; what is unknown
 * in all of them takes none. */
size_t nl_chunk_values(const struct nl_table_def *def, const char *chunk, uint32_t count);

/* Column `c` of the table, as values of the column's type. */
void nl_chunk_read(const char *chunk, const struct nl_table_def *def, unsigned c, uint32_t count,
                   void *cells);

/* Are all values of column `c` the same? */
static inline bool nl_chunk_same(const char *chunk, unsigned c)
{
    const struct nl_chunk_column *column = (const struct nl_chunk_column *)(const void *)chunk + c;
    return column->bytes == 0;
}

/* Is nothing known in column `c`? */
static inline bool nl_chunk_unknown(const char *chunk, unsigned c)
{
    const struct nl_chunk_column *column = (const struct nl_chunk_column *)(const void *)chunk + c;
    return column->bytes == 0 && column->low == 0;
}

#endif
