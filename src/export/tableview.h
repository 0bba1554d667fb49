/*
 * tableview — the rows of a table that an export writes, and their values column by column: tables
 * of schema.def as SQL shows them (names as text, times from the first event, unknown is NULL),
 * and results of analyses.
 *
 *     nl_table_view_make(&view, export, NL_T_kernel);
 *     for (i = 0; i < view.row_count; i++)
 *         if (nl_view_value(&view, &view.columns[c], i, &value)) ...        // false: NULL
 *
 * What `value` holds follows from the column's form. May be read from several threads.
 */
#ifndef NL_TABLEVIEW_H
#define NL_TABLEVIEW_H

#include "export/attributes.h"
#include "export/export.h"
#include "store/columnpath.h"

enum nl_form {
    NL_FORM_I64,
    NL_FORM_U64,
    NL_FORM_U32, /* in value.u64; so are the next two */
    NL_FORM_U16,
    NL_FORM_U8,
    NL_FORM_F64,
    NL_FORM_NAME, /* value.name: nl_trace_text gives the text */
    NL_FORM_WORD, /* value.text: one of few constant texts */
    NL_FORM_TEXT  /* value.str */
};

union nl_view_cell {
    int64_t i64;
    uint64_t u64;
    double f64;
    uint32_t name;
    const char *text;
    struct nl_str str;
};

struct nl_view_column {
    const char *name, *unit, *doc;
    enum nl_form form;
    bool nullable, ascending; /* ascending: mostly, so that differences are small */
    /* private */
    struct nl_column_path path; /* def NULL: the row's own number */
    const struct nl_result *result;
    size_t index;
    int64_t origin;
};

struct nl_table_view {
    const struct nl_export *export;
    const char *name, *doc;
    struct nl_view_column *columns;
    unsigned count;
    const uint32_t *rows; /* which rows, in order; NULL = first_row, first_row + 1, … */
    uint32_t first_row, row_count;
    int64_t partition;           /* of a table that is split by rank: this one; else NL_NULL_I64 */
    bool partitioned;            /* there is a column `rank` that is not written */
    struct nl_result *of_result; /* owned; NULL for tables of schema.def */
};

/* Columns of a table; all of its rows that the window has. `rows_room` is nl_free'd by the
 * caller when it is not NULL. */
void nl_table_view_make(struct nl_table_view *view, const struct nl_export *export,
                        enum nl_table_id table, uint32_t **rows_room);
/* How many rows of a table the window has. */
uint32_t nl_table_view_count(const struct nl_export *export, enum nl_table_id table);
/* Takes the result. */
void nl_table_view_of_result(struct nl_table_view *view, const struct nl_export *export,
                             struct nl_result *result);
void nl_table_view_release(struct nl_table_view *view);

static inline uint32_t nl_view_row(const struct nl_table_view *view, uint32_t i)
{
    return view->rows ? view->rows[i] : view->first_row + i;
}

/* False when unknown. */
bool nl_view_value(const struct nl_table_view *view, const struct nl_view_column *column,
                   uint32_t i, union nl_view_cell *value);

/* A format of tables. */
struct nl_table_format {
    const char *ending;
    bool (*write)(const struct nl_export *export, const struct nl_table_view *view, FILE *out,
                  struct nl_err *err);
};

#endif
