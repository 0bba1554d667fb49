/* partition — see partition.h. */
#include "view/partition.h"

#include "view/celltext.h"
#include "view/grid.h"
#include "view/notes.h"

#define LABEL_WIDTH   22
#define NUMBER_WIDTH  11
#define SHARE_WIDTH   8
#define MAX_BAR       40
#define HEADING_BYTES 4096

/* Column of the share that belongs to a length, or -1: "X_ns" → "X_share" right after it. */
static ptrdiff_t share_beside(const struct nl_result *result, size_t column)
{
    const char *name = result->columns[column].name;
    size_t stem = strlen(name);
    if (stem < 3 || strcmp(name + stem - 3, "_ns") != 0 || column + 1 >= result->column_count)
        return -1;
    const char *next = result->columns[column + 1].name;
    stem -= 3;
    if (strncmp(name, next, stem) != 0 || strcmp(next + stem, "_share") != 0)
        return -1;
    return (ptrdiff_t)column + 1;
}

bool nl_partition_is(const struct nl_result *result)
{
    size_t pairs = 0;
    for (size_t column = 0; column < result->column_count; column++)
        pairs += share_beside(result, column) >= 0;
    return pairs >= 3;
}

void nl_partition_skip(const struct nl_result *result, bool *skip)
{
    bool inside = false;
    for (size_t column = 0; column < result->column_count; column++) {
        bool pair = share_beside(result, column) >= 0;
        bool share = column && share_beside(result, column - 1) >= 0;
        inside |= pair;
        skip[column] = inside && !share;
    }
}

/* "rank 0 · device 0 · NVIDIA H100 · wall 435.6 ms · kernels 2,345": texts stand alone, unknown
 * cells and counts of 0 are left out. */
static void put_heading(struct nl_buf *page, const struct nl_result *result, size_t row,
                        size_t width)
{
    struct nl_buf line, *out = &line;
    const char *between = "";
    nl_buf_init(out, HEADING_BYTES);
    for (size_t column = 0; column < result->column_count; column++) {
        const struct nl_result_column *def = &result->columns[column];
        const struct nl_cell *cell = nl_result_cell(result, row, column);
        if (share_beside(result, column) >= 0) {
            column++;
            continue;
        }
        bool zero = def->meaning == NL_MEANS_COUNT && cell->type == NL_CELL_I64 && !cell->i64;
        if (cell->type == NL_CELL_NULL || zero)
            continue;
        nl_buf_text(out, between);
        between = " · ";
        if (def->meaning != NL_MEANS_TEXT)
            nl_buf_format(out, "%s ", nl_grid_heading(def));
        nl_celltext_eyes(out, def, cell);
    }
    nl_notes_wrap(page, (struct nl_str){line.ptr, line.len}, width, 2);
    nl_buf_release(out);
}

static void put_right(struct nl_buf *out, const struct nl_result_column *column,
                      const struct nl_cell *cell, size_t width)
{
    struct nl_buf text;
    nl_buf_init(&text, 256);
    nl_celltext_eyes(&text, column, cell);
    size_t wide = nl_celltext_width((struct nl_str){text.ptr, text.len});
    for (size_t i = wide; i < width; i++)
        nl_buf_char(out, ' ');
    nl_buf_add(out, text.ptr, text.len);
    nl_buf_release(&text);
}

void nl_partition_block(struct nl_buf *out, const struct nl_result *result, size_t row,
                        size_t width)
{
    size_t taken = 2 + LABEL_WIDTH + NUMBER_WIDTH + SHARE_WIDTH + 2;
    size_t bar = width > taken + 8 ? width - taken : 0;
    bar = bar > MAX_BAR ? MAX_BAR : bar;
    put_heading(out, result, row, width);
    for (size_t column = 0; column < result->column_count; column++) {
        ptrdiff_t beside = share_beside(result, column);
        if (beside < 0)
            continue;
        const struct nl_cell *share = nl_result_cell(result, row, (size_t)beside);
        nl_buf_format(out, "  %-*s", LABEL_WIDTH, nl_grid_heading(&result->columns[column]));
        put_right(out, &result->columns[column], nl_result_cell(result, row, column), NUMBER_WIDTH);
        put_right(out, &result->columns[beside], share, SHARE_WIDTH);
        if (bar && share->type == NL_CELL_F64 && share->f64 > 0) {
            nl_buf_text(out, "  ");
            nl_grid_bar(out, share->f64, bar, false);
        }
        nl_buf_char(out, '\n');
    }
}
