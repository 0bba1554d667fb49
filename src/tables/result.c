/* Answers as tables: cells in one growing array, texts in the result's arena. */
#include "tables/result.h"

#include <string.h>

struct nl_result *nl_result_new(const char *name, const char *title,
                                const struct nl_result_column *columns, size_t count)
{
    struct nl_result *result = nl_zalloc(sizeof *result);
    nl_arena_init(&result->arena);
    result->name = name;
    result->title = title;
    result->column_count = count;
    result->columns = nl_alloc((count ? count : 1) * sizeof *columns);
    if (count)
        memcpy(result->columns, columns, count * sizeof *columns);
    return result;
}

void nl_result_free(struct nl_result *result)
{
    if (!result)
        return;
    nl_arena_free(&result->arena);
    nl_free(result->columns);
    nl_free(result->cells);
    nl_free(result);
}

struct nl_cell *nl_result_row(struct nl_result *result)
{
    size_t used = result->rows * result->column_count;
    nl_grow(&result->cells, &result->cell_cap, used + result->column_count + 1);
    struct nl_cell *row = result->cells + used;
    for (size_t i = 0; i < result->column_count; i++)
        row[i] = (struct nl_cell){.type = NL_CELL_NULL};
    result->rows++;
    return row;
}

struct nl_cell nl_cell_text(struct nl_result *result, struct nl_str text)
{
    if (!text.ptr)
        return (struct nl_cell){.type = NL_CELL_NULL};
    struct nl_cell cell = {.type = NL_CELL_TEXT};
    cell.text = (struct nl_str){nl_arena_text(&result->arena, text.ptr, text.len), text.len};
    return cell;
}
