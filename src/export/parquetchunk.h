/*
 * parquetchunk — one column of one row group as bytes: dictionary page, data pages, statistics.
 */
#ifndef NL_PARQUETCHUNK_H
#define NL_PARQUETCHUNK_H

#include "export/parquetpage.h"
#include "export/tableview.h"

enum parquet_type { PARQUET_INT32 = 1, PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_BYTES = 6 };

struct parquet_chunk {
    struct bytes out;
    bool has_dictionary;
    uint64_t data_at;     /* in `out`, of the first data page */
    uint64_t plain_bytes; /* of all pages with headers, decompressed */
    uint64_t nulls;
    enum parquet_encoding encoding;
    bool has_range; /* least and most are known: little-endian numbers, or texts */
    struct bytes least, most;
};

enum parquet_type parquet_type_of(enum nl_form form);

/* Rows first .. first + count - 1 of the view. Clears what `chunk` holds. */
void parquet_chunk_make(struct parquet_chunk *chunk, const struct nl_table_view *view,
                        const struct nl_view_column *column, uint32_t first, uint32_t count);
void parquet_chunk_release(struct parquet_chunk *chunk);

#endif
