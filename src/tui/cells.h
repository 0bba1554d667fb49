/*
 * cells — a screen as an array of characters with a style each. Screens draw into it without a
 * terminal, so that a test can read what they drew; terminal.h shows it.
 *
 * What does not fit is cut, never wrapped; writing outside does nothing. Styles say what something
 * means, and nothing is reported by a style alone.
 */
#ifndef NL_CELLS_H
#define NL_CELLS_H

#include <stdbool.h>

#include "base/str.h"

enum cell_style {
    STYLE_PLAIN,
    STYLE_TITLE, /* a bar */
    STYLE_HEAD,  /* of a table */
    STYLE_FAINT, /* units, what is not there */
    STYLE_GOOD,
    STYLE_BUSY,
    STYLE_ALERT,
    CELL_STYLES
};

struct cell {
    char text[5]; /* one character of one column in UTF-8 */
    unsigned char style;
};

struct cells {
    unsigned rows, columns;
    bool ascii; /* the terminal shows no more than that */
    struct cell *cell;
};

void cells_init(struct cells *cells, unsigned rows, unsigned columns, bool ascii);
void cells_release(struct cells *cells);
void cells_clear(struct cells *cells);

/* Writes at most `width` columns of UTF-8; what is no printable character of one column becomes
 * '?'. Returns the columns written. */
unsigned cells_text(struct cells *cells, unsigned row, unsigned column, unsigned width,
                    enum cell_style style, const char *text);
/* The same, ending at the right of `width` columns. */
void cells_right(struct cells *cells, unsigned row, unsigned column, unsigned width,
                 enum cell_style style, const char *text);
/* One style for a whole row. */
void cells_bar(struct cells *cells, unsigned row, enum cell_style style);

/* A plot one row high of the newest `width` values of a ring, the newest (number `next` − 1) at the
 * right: eight steps from 0 to 1, a blank for what is unknown (below 0) or older than the ring. */
void cells_plot(struct cells *cells, unsigned row, unsigned column, unsigned width,
                enum cell_style style, const float *ring, unsigned room, uint64_t next);

/* The text of a row without the blanks at its end. */
void cells_row_text(const struct cells *cells, unsigned row, struct nl_buf *out);

#endif
