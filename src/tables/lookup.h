/*
 * lookup — reading a result by the names of its columns.
 */
#ifndef NL_LOOKUP_H
#define NL_LOOKUP_H

#include "tables/result.h"

/* Index of a column, or -1. */
ptrdiff_t nl_lookup_column(const struct nl_result *result, const char *name);

/* Value of a cell; unknown (INT64_MIN, NaN, empty text) when there is no such column or row, or it
 * holds another type. Whole and broken numbers convert into each other. */
int64_t nl_lookup_i64(const struct nl_result *result, size_t row, const char *column);
double nl_lookup_f64(const struct nl_result *result, size_t row, const char *column);
struct nl_str nl_lookup_text(const struct nl_result *result, size_t row, const char *column);

/* Sum of a column of whole numbers, unknown ones left out. */
int64_t nl_lookup_sum(const struct nl_result *result, const char *column);

/* What the exposed_copy_ns of a time_breakdown are: "exposed copies", "exposed
 * memsets", or both of them. */
const char *nl_exposed_copy_word(const struct nl_result *breakdown);

#endif
