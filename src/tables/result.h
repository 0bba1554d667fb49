/*
 * result — a table of answers: what SQL, analyses and coverage hand to whoever shows them.
 *
 * A result owns its cells and texts (one arena); nl_result_free releases all. Columns say what
 * their numbers mean, so that one renderer can print "1.23 ms" for eyes and 1230000 for machines.
 */
#ifndef NL_RESULT_H
#define NL_RESULT_H

#include "base/mem.h"
#include "base/str.h"

enum nl_meaning {
    NL_MEANS_TEXT,
    NL_MEANS_INTEGER,     /* an id or other whole number, printed plainly */
    NL_MEANS_COUNT,       /* how many: thousands separators for eyes */
    NL_MEANS_NS,          /* int64 ns */
    NL_MEANS_BYTES,       /* uint64 bytes */
    NL_MEANS_SHARE,       /* double 0..1 */
    NL_MEANS_NUMBER,      /* double */
    NL_MEANS_RATE,        /* double, bytes per second */
    NL_MEANS_HERTZ,       /* per second */
    NL_MEANS_FLOPS,       /* double, floating-point operations per second */
    NL_MEANS_WEIGHT,      /* int64 in the unit that the row's column `unit` names */
    NL_MEANS_UNIT,        /* that column: text */
    NL_MEANS_ANY,         /* SQL expressions: each cell has its own type */
    NL_MEANS_CHANGE_NS,   /* int64 ns, one side less another: eyes see + and - */
    NL_MEANS_CHANGE_SHARE /* double, the same of a share */
};

enum nl_cell_type { NL_CELL_NULL, NL_CELL_I64, NL_CELL_F64, NL_CELL_TEXT };

struct nl_cell {
    enum nl_cell_type type;
    union {
        int64_t i64;
        double f64;
        struct nl_str text; /* in the result's arena, or static */
    };
};

struct nl_result_column {
    const char *name; /* machine name with unit suffix: "total_ns", "bytes", "share" */
    const char *head; /* heading for eyes; NULL = name */
    enum nl_meaning meaning;
};

struct nl_result {
    const char *name;  /* machine name: "kernels" */
    const char *title; /* "Top kernels" */
    const char *note;  /* a sentence below the table, or NULL */
    struct nl_result_column *columns;
    size_t column_count;
    struct nl_cell *cells; /* row-major, rows × column_count */
    size_t rows, cell_cap;
    bool truncated; /* a limit cut it; `note` says so */
    struct nl_arena arena;
};

/* Columns are copied; their strings must be static or live in the result's arena. */
struct nl_result *nl_result_new(const char *name, const char *title,
                                const struct nl_result_column *columns, size_t count);
void nl_result_free(struct nl_result *result);

/* Starts a row of NULL cells and returns it; the pointer is valid until the next row. */
struct nl_cell *nl_result_row(struct nl_result *result);

static inline struct nl_cell nl_cell_i64(int64_t value) /* NL_NULL_I64 (INT64_MIN) → NULL */
{
    if (value == INT64_MIN)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return (struct nl_cell){.type = NL_CELL_I64, .i64 = value};
}
static inline struct nl_cell nl_cell_f64(double value) /* NaN → NULL */
{
    if (value != value)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return (struct nl_cell){.type = NL_CELL_F64, .f64 = value};
}
/* Text is copied into the result's arena. A NULL pointer gives a NULL cell. */
struct nl_cell nl_cell_text(struct nl_result *result, struct nl_str text);

static inline const struct nl_cell *nl_result_cell(const struct nl_result *result, size_t row,
                                                   size_t column)
{
    return &result->cells[row * result->column_count + column];
}

#endif
