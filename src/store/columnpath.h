/*
 * columnpath — how the value of an SQL column is reached from a row of its table: over up to three
 * references (kernel → slice → lane → process), then in an array.
 */
#ifndef NL_COLUMNPATH_H
#define NL_COLUMNPATH_H

#include "store/trace.h"

#define NL_MAX_HOPS 3

struct nl_column_path {
    const struct nl_column_def *def;
    const void *array; /* of the table that stores the values */
    const uint32_t *hops[NL_MAX_HOPS];
    unsigned hop_count;
};

/* The path of a column that shows in `table`. */
struct nl_column_path nl_column_path_of(const struct nl_trace *trace, enum nl_table_id table,
                                        const struct nl_column_def *def);

/* Row of the storage table; NL_NULL_ROW when a hop leads nowhere. */
static inline uint32_t nl_column_path_row(const struct nl_column_path *path, uint32_t row)
{
    for (unsigned i = 0; i < path->hop_count && row != NL_NULL_ROW; i++)
        row = path->hops[i][row];
    return row;
}

/* Whether a table shows its row number as column `id` (those that others refer to). */
bool nl_table_has_id(enum nl_table_id table);

#endif
