/* See rowgroups.h. */
#include "view/rowgroups.h"

#include <string.h>

#include "base/mem.h"

#define MIN_ROWS_PER_GROUP 3

/* The tables that have groups, and the column that names them. */
static const struct {
    const char *result, *column;
} grouped[] = {{"cpu_samples", "event"}};

static size_t find_column(const struct nl_result *result)
{
    const char *name = NULL;
    for (size_t i = 0; i < sizeof grouped / sizeof grouped[0]; i++)
        if (strcmp(result->name, grouped[i].result) == 0)
            name = grouped[i].column;
    for (size_t i = 0; name && i < result->column_count; i++)
        if (strcmp(result->columns[i].name, name) == 0)
            return i;
    return result->column_count;
}

static bool same(const struct nl_cell *a, const struct nl_cell *b)
{
    if (a->type != b->type)
        return false;
    return a->type != NL_CELL_TEXT || nl_str_eq(a->text, b->text);
}

static bool begins(const struct nl_result *result, size_t column, size_t row)
{
    return !row ||
           !same(nl_result_cell(result, row - 1, column), nl_result_cell(result, row, column));
}

static void keep_first_rows(struct nl_rowgroups *groups, const struct nl_result *result,
                            size_t each)
{
    size_t width = result->column_count, left = 0;
    groups->shown.cells = nl_alloc((result->rows * width + 1) * sizeof *groups->shown.cells);
    groups->shown.rows = 0;
    for (size_t row = 0; row < result->rows; row++) {
        left = begins(result, groups->column, row) ? each : left;
        if (!left)
            continue;
        left--;
        memcpy(groups->shown.cells + groups->shown.rows++ * width, result->cells + row * width,
               width * sizeof *result->cells);
    }
}

void nl_rowgroups_init(struct nl_rowgroups *groups, const struct nl_result *result, size_t rows)
{
    *groups = (struct nl_rowgroups){.shown = *result, .column = find_column(result)};
    for (size_t row = 0; groups->column < result->column_count && row < result->rows; row++)
        groups->count += begins(result, groups->column, row);
    if (groups->count < 2)
        return;
    size_t each = rows / groups->count;
    keep_first_rows(groups, result, each > MIN_ROWS_PER_GROUP ? each : MIN_ROWS_PER_GROUP);
}

void nl_rowgroups_release(struct nl_rowgroups *groups)
{
    if (groups->count > 1)
        nl_free(groups->shown.cells);
}

bool nl_rowgroups_begins(const struct nl_rowgroups *groups, size_t row)
{
    return groups->count > 1 && begins(&groups->shown, groups->column, row);
}
