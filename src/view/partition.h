/*
 * partition — results whose rows are split into parts: pairs of columns X_ns and X_share. Shown as
 * one block of bars per row instead of a wide table.
 */
#ifndef NL_PARTITION_H
#define NL_PARTITION_H

#include "tables/result.h"

#define NL_PARTITION_ROWS 8 /* more rows than this read better as a table of shares */

/* Whether it has at least three such pairs. */
bool nl_partition_is(const struct nl_result *result);

/* One row as a heading line and a line with a bar per part. */
void nl_partition_block(struct nl_buf *out, const struct nl_result *result, size_t row,
                        size_t width);

/* Sets skip[column] for everything but the shares and the columns before the first pair, for the
 * table form; `skip` has room for all columns. */
void nl_partition_skip(const struct nl_result *result, bool *skip);

#endif
