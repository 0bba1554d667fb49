/*
 * grid — a result laid out for a screen of a given width: cells as text, column widths, which
 * columns do not fit.
 *
 * Columns without any value are left out. Then long text gives way: the widest text columns shrink
 * (their cells lose the middle) down to a readable least; when that is not enough, columns go from
 * the right, those last that a table is read for (names, times, shares), and the caller says which.
 */
#ifndef NL_GRID_H
#define NL_GRID_H

#include "tables/result.h"

struct nl_grid_column {
    size_t source; /* column of the result */
    size_t width;
    bool number; /* stands to the right */
    bool shown;
    struct nl_str *texts; /* one per row */
};

struct nl_grid {
    const struct nl_result *result; /* borrowed */
    struct nl_grid_column *columns;
    size_t column_count, rows, width;
    bool bars; /* room for a bar next to the column "share" */
    struct nl_arena arena;
};

#define NL_GRID_BAR 8 /* screen columns of a bar */

/* The first `rows` rows; `width` 0 = as wide as they are, and no column goes.
 * `keep_empty` keeps columns without a value. `skip`, when not NULL, is one flag per
 * column of the result: leave it out. */
void nl_grid_init(struct nl_grid *grid, const struct nl_result *result, size_t rows, size_t width,
                  bool keep_empty, const bool *skip);
void nl_grid_release(struct nl_grid *grid);

/* Adds the heading line, or one row's line, without a line break. */
void nl_grid_head(struct nl_buf *out, const struct nl_grid *grid);
void nl_grid_line(struct nl_buf *out, const struct nl_grid *grid, size_t row);

/* Adds a bar of `share` (0..1) of `width` screen columns in eighths of a block, padded with
 * spaces when `pad`. */
void nl_grid_bar(struct nl_buf *out, double share, size_t width, bool pad);

/* What a column is called for eyes. */
const char *nl_grid_heading(const struct nl_result_column *column);

#endif
