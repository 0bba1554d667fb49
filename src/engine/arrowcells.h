/*
 * arrowcells — one column of an answer while it grows: cells in, Arrow's buffers out.
 * The type widens when a value asks for it, which rewrites what is there: whole
 * numbers → real numbers → texts.
 */
#ifndef NL_ARROWCELLS_H
#define NL_ARROWCELLS_H

#include "tables/result.h"

enum arrow_kind { ARROW_NULL, ARROW_INT64, ARROW_FLOAT64, ARROW_TEXT };

struct arrow_cells {
    enum arrow_kind kind;
    bool inexact; /* a whole number beyond 2^53 is among them */
    uint64_t rows, nulls;
    uint8_t *known; /* a bit per row, the lowest first */
    void *values;   /* int64_t or double per row; of texts, rows + 1 ends (int64_t) */
    char *texts;
    size_t known_cap, value_cap, text_len, text_cap;
};

void arrow_cells_add(struct arrow_cells *cells, struct nl_cell cell);
void arrow_cells_release(struct arrow_cells *cells);

/* Bytes of memory. */
uint64_t arrow_cells_bytes(const struct arrow_cells *cells);

#endif
