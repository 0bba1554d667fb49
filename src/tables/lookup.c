/* lookup — see lookup.h. */
#include "tables/lookup.h"
#include "base/sum.h"

#include <math.h>

ptrdiff_t nl_lookup_column(const struct nl_result *result, const char *name)
{
    for (size_t i = 0; i < result->column_count; i++)
        if (!strcmp(result->columns[i].name, name))
            return (ptrdiff_t)i;
    return -1;
}

static struct nl_cell cell_of(const struct nl_result *result, size_t row, const char *column)
{
    ptrdiff_t at = result && row < result->rows ? nl_lookup_column(result, column) : -1;
    return at < 0 ? (struct nl_cell){.type = NL_CELL_NULL}
                  : *nl_result_cell(result, row, (size_t)at);
}

int64_t nl_lookup_i64(const struct nl_result *result, size_t row, const char *column)
{
    struct nl_cell cell = cell_of(result, row, column);
    if (cell.type == NL_CELL_F64)
        return isnan(cell.f64) ? INT64_MIN : nl_whole_i64(cell.f64);
    return cell.type == NL_CELL_I64 ? cell.i64 : INT64_MIN;
}

double nl_lookup_f64(const struct nl_result *result, size_t row, const char *column)
{
    struct nl_cell cell = cell_of(result, row, column);
    if (cell.type == NL_CELL_I64)
        return (double)cell.i64;
    return cell.type == NL_CELL_F64 ? cell.f64 : (double)NAN;
}

struct nl_str nl_lookup_text(const struct nl_result *result, size_t row, const char *column)
{
    struct nl_cell cell = cell_of(result, row, column);
    return cell.type == NL_CELL_TEXT ? cell.text : nl_str("");
}

int64_t nl_lookup_sum(const struct nl_result *result, const char *column)
{
    int64_t sum = 0;
    for (size_t row = 0; result && row < result->rows; row++) {
        int64_t value = nl_lookup_i64(result, row, column);
        nl_sum_add(&sum, value == INT64_MIN ? 0 : value);
    }
    return sum;
}

const char *nl_exposed_copy_word(const struct nl_result *breakdown)
{
    bool fills = nl_lookup_sum(breakdown, "memsets") > 0;
    if (fills && nl_lookup_sum(breakdown, "copies") > 0)
        return "exposed copies and memsets";
    return fills ? "exposed memsets" : "exposed copies";
}
