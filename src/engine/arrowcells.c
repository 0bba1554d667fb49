/* A column that grows. Before the first value of a kind there may be any number of NULLs, which
 * have a place in every kind. */
#include "engine/arrowcells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortest.h"
#include "base/utf8.h"

#define EXACT_IN_DOUBLE ((int64_t)1 << 53)

static void room_for_row(struct arrow_cells *cells)
{
    size_t bytes = cells->rows / 8 + 1;
    if (bytes > cells->known_cap) {
        size_t had = cells->known_cap;
        nl_grow(&cells->known, &cells->known_cap, bytes);
        memset(cells->known + had, 0, cells->known_cap - had);
    }
    if (cells->kind == ARROW_NULL)
        return;
    int64_t *values = cells->values;
    nl_grow(&values, &cells->value_cap, cells->rows + 2);
    cells->values = values;
}

static void mark_known(struct arrow_cells *cells)
{
    cells->known[cells->rows / 8] |= (uint8_t)(1u << (cells->rows % 8));
}

static bool is_known(const struct arrow_cells *cells, uint64_t row)
{
    return cells->known[row / 8] >> (row % 8) & 1;
}

static void add_bytes(struct arrow_cells *cells, const char *bytes, size_t len)
{
    memcpy(cells->texts + cells->text_len, bytes, len);
    cells->text_len += len;
}

static void add_text(struct arrow_cells *cells, struct nl_str text)
{
    static const char replacement[] =
        "\xef\xbf\xbd"; /* U+FFFD for what is no UTF-8, as in all our outputs */
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t from = 0;
    nl_grow(&cells->texts, &cells->text_cap, cells->text_len + 3 * text.len + 1);
    for (size_t i = 0; i < text.len;) {
        size_t len = p[i] < 0x80 ? 1 : nl_utf8_length(p + i, text.len - i);
        if (!len) {
            add_bytes(cells, text.ptr + from, i - from);
            add_bytes(cells, replacement, sizeof replacement - 1);
            from = i + 1;
        }
        i += len ? len : 1;
    }
    if (from < text.len)
        add_bytes(cells, text.ptr + from, text.len - from);
}

static void add_number_text(struct arrow_cells *cells, bool whole, int64_t i64, double f64)
{
    char text[NL_UNIT_TEXT];
    if (!whole && fabs(f64) <= (double)EXACT_IN_DOUBLE && f64 == (double)(int64_t)f64) {
        whole = true; /* 3.0 was perhaps 3 before the column became real */
        i64 = (int64_t)f64;
    }
    if (whole)
        snprintf(text, sizeof text, "%" PRId64, i64);
    else
        nl_format_shortest(text, f64);
    add_text(cells, nl_str(text));
}

static void to_reals(struct arrow_cells *cells)
{
    int64_t *from = cells->values;
    double *to = cells->values; /* the same bytes: each is read before it is written */
    for (uint64_t row = 0; row < cells->rows; row++) {
        int64_t whole;
        double real;
        memcpy(&whole, &from[row], sizeof whole);
        real = (double)whole;
        memcpy(&to[row], &real, sizeof real);
    }
}

static void to_texts(struct arrow_cells *cells, enum arrow_kind from)
{
    int64_t *ends = cells->values, end = 0;
    for (uint64_t row = 0; row < cells->rows; row++) {
        int64_t whole;
        double real;
        memcpy(&whole, &ends[row], sizeof whole);
        memcpy(&real, &ends[row], sizeof real);
        ends[row] = end;
        if (from != ARROW_NULL && is_known(cells, row))
            add_number_text(cells, from == ARROW_INT64, whole, real);
        end = (int64_t)cells->text_len;
    }
    ends[cells->rows] = end;
}

static void widen(struct arrow_cells *cells, enum arrow_kind kind)
{
    enum arrow_kind from = cells->kind;
    cells->kind = kind;
    room_for_row(cells);
    if (from == ARROW_NULL)
        memset(cells->values, 0, (cells->rows + 1) * sizeof(int64_t));
    if (kind == ARROW_TEXT)
        to_texts(cells, from);
    else if (from == ARROW_INT64)
        to_reals(cells);
}

/* The kind that holds the cell and all before it. */
static enum arrow_kind kind_with(const struct arrow_cells *cells, struct nl_cell cell)
{
    enum arrow_kind kind = cells->kind;
    switch (cell.type) {
    case NL_CELL_NULL: return kind;
    case NL_CELL_TEXT: return ARROW_TEXT;
    case NL_CELL_I64:
        if (kind == ARROW_NULL)
            return ARROW_INT64;
        if (kind == ARROW_FLOAT64 && (cell.i64 > EXACT_IN_DOUBLE || cell.i64 < -EXACT_IN_DOUBLE))
            return ARROW_TEXT;
        return kind;
    case NL_CELL_F64: break;
    }
    if (kind == ARROW_TEXT || (kind == ARROW_INT64 && cells->inexact))
        return ARROW_TEXT;
    return ARROW_FLOAT64;
}

static void put_value(struct arrow_cells *cells, struct nl_cell cell)
{
    int64_t *values = cells->values;
    double real = cell.type == NL_CELL_I64 ? (double)cell.i64 : cell.f64;
    switch (cells->kind) {
    case ARROW_NULL: break;
    case ARROW_INT64: values[cells->rows] = cell.i64; break;
    case ARROW_FLOAT64: memcpy(&values[cells->rows], &real, sizeof real); break;
    case ARROW_TEXT:
        if (cell.type == NL_CELL_TEXT)
            add_text(cells, cell.text);
        else
            add_number_text(cells, cell.type == NL_CELL_I64, cell.i64, cell.f64);
        break;
    }
}

void arrow_cells_add(struct arrow_cells *cells, struct nl_cell cell)
{
    enum arrow_kind kind = kind_with(cells, cell);
    if (kind != cells->kind)
        widen(cells, kind);
    room_for_row(cells);
    int64_t *values = cells->values;
    if (cell.type == NL_CELL_NULL) {
        cells->nulls++;
        if (cells->kind != ARROW_NULL && cells->kind != ARROW_TEXT)
            values[cells->rows] = 0;
    } else {
        mark_known(cells);
        put_value(cells, cell);
        if (cell.type == NL_CELL_I64 && (cell.i64 > EXACT_IN_DOUBLE || cell.i64 < -EXACT_IN_DOUBLE))
            cells->inexact = true;
    }
    cells->rows++;
    if (cells->kind == ARROW_TEXT)
        ((int64_t *)cells->values)[cells->rows] = (int64_t)cells->text_len;
}

uint64_t arrow_cells_bytes(const struct arrow_cells *cells)
{
    return cells->known_cap + cells->value_cap * sizeof(int64_t) + cells->text_cap;
}

void arrow_cells_release(struct arrow_cells *cells)
{
    nl_free(cells->known);
    nl_free(cells->values);
    nl_free(cells->texts);
    *cells = (struct arrow_cells){0};
}
