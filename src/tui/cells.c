/* Screens as arrays. */
#include "tui/cells.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "view/celltext.h"
#include "view/plot.h"

void cells_init(struct cells *cells, unsigned rows, unsigned columns, bool ascii)
{
    *cells = (struct cells){.rows = rows, .columns = columns, .ascii = ascii};
    cells->cell = nl_alloc(((size_t)rows * columns + 1) * sizeof *cells->cell);
    cells_clear(cells);
}

void cells_release(struct cells *cells)
{
    nl_free(cells->cell);
}

void cells_clear(struct cells *cells)
{
    for (size_t i = 0; i < (size_t)cells->rows * cells->columns; i++)
        cells->cell[i] = (struct cell){" ", STYLE_PLAIN};
}

static void put_cell(struct cells *cells, unsigned row, unsigned column, enum cell_style style,
                     const char *text, size_t len)
{
    if (row >= cells->rows || column >= cells->columns)
        return;
    struct cell *cell = &cells->cell[(size_t)row * cells->columns + column];
    *cell = (struct cell){.style = (unsigned char)style};
    memcpy(cell->text, text, len);
}

/* Bytes of the next character; *plain: it may be shown as it is. */
static size_t next_character(const struct cells *cells, const char *text, bool *plain)
{
    unsigned char first = (unsigned char)*text;
    *plain = first >= 0x20 && first < 0x7f;
    if (first < 0x80)
        return 1;
    size_t len = nl_utf8_length((const unsigned char *)text, strlen(text));
    *plain = len && len < 5 && !cells->ascii &&
             nl_celltext_width((struct nl_str){text, len}) == 1 && first != 0xc2;
    return len ? len : 1;
}

unsigned cells_text(struct cells *cells, unsigned row, unsigned column, unsigned width,
                    enum cell_style style, const char *text)
{
    unsigned used = 0;
    for (; *text && used < width; used++) {
        bool plain;
        size_t len = next_character(cells, text, &plain);
        put_cell(cells, row, column + used, style, plain ? text : "?", plain ? len : 1);
        text += len;
    }
    return used;
}

void cells_right(struct cells *cells, unsigned row, unsigned column, unsigned width,
                 enum cell_style style, const char *text)
{
    unsigned len = (unsigned)nl_celltext_width(nl_str(text));
    unsigned blank = len < width ? width - len : 0;
    (void)cells_text(cells, row, column + blank, width - blank, style, text);
}

void cells_bar(struct cells *cells, unsigned row, enum cell_style style)
{
    for (unsigned i = 0; i < cells->columns; i++)
        put_cell(cells, row, i, style, " ", 1);
}

void cells_plot(struct cells *cells, unsigned row, unsigned column, unsigned width,
                enum cell_style style, const float *ring, unsigned room, uint64_t next)
{
    for (unsigned i = 0; i < width; i++) {
        uint64_t back = width - i; /* 1 = the newest */
        if (back > next || back > room)
            continue;
        float value = ring[(next - back) % room];
        if (value < 0)
            continue;
        const char *height = nl_plot_height((double)value, cells->ascii);
        put_cell(cells, row, column + i, style, height, strlen(height));
    }
}

void cells_row_text(const struct cells *cells, unsigned row, struct nl_buf *out)
{
    const struct cell *cell = &cells->cell[(size_t)row * cells->columns];
    unsigned used = cells->columns;
    while (used && strcmp(cell[used - 1].text, " ") == 0)
        used--;
    for (unsigned i = 0; i < used; i++)
        nl_buf_text(out, cell[i].text);
}
