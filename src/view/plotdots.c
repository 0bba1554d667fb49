/*
 * plot: curves and marked points on a canvas of Braille dots (2 × 4 to a character) or, in ASCII,
 * of characters. A character has one colour: that of the last series that put a dot there.
 */
#include <math.h>

#include "base/mem.h"
#include "base/sum.h"
#include "view/celltext.h"
#include "view/plot.h"

#define DEFAULT_WIDTH  80
#define DEFAULT_HEIGHT 8
#define MAX_HEIGHT     100
#define MAX_WIDTH      1000

struct canvas {
    size_t columns, lines;      /* characters */
    size_t across, down;        /* dots of a character */
    unsigned char *dots, *inks; /* per character: Braille bits; enum nl_ink */
    char *marks;                /* ASCII: what stands there */
    char *letters;              /* what stands there whatever the style; 0: dots */
};

/* The range of an axis, in the numbers that are drawn (logarithms on logarithmic axes). */
struct range {
    double least, most;
    bool log;
};

static double scaled(const struct range *range, double value)
{
    if (!isfinite(value) || (range->log && value <= 0))
        return NAN;
    return range->log ? log10(value) : value;
}

static double unscaled(const struct range *range, double place)
{
    return range->log ? pow(10, place) : place;
}

static double value_at(const double *values, size_t index)
{
    return values ? values[index] : (double)index;
}

static struct range range_of(const struct nl_plot_series *series, size_t count,
                             const struct nl_plot_axis *axis, bool vertical)
{
    struct range range = {INFINITY, -INFINITY, axis->log};
    if (axis->least < axis->most) {
        range.least = scaled(&range, axis->least);
        range.most = scaled(&range, axis->most);
        if (isfinite(range.least) && isfinite(range.most))
            return range;
        range = (struct range){INFINITY, -INFINITY, axis->log};
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < series[i].count; j++) {
            double place = scaled(&range, value_at(vertical ? series[i].y : series[i].x, j));
            range.least = fmin(range.least, place);
            range.most = fmax(range.most, place);
        }
    if (vertical && !axis->log && range.least > 0 && range.least < range.most * 0.9)
        range.least = 0; /* heights are compared with nothing else than their foot */
    if (!(range.least <= range.most))
        range = (struct range){0, 1, axis->log};
    if (range.least == range.most) {
        double room = range.log ? 0.5 : fmax(fabs(range.most) * 0.1, 1e-9);
        range.least -= room;
        range.most += room;
    }
    return range;
}

static void put_dot(struct canvas *canvas, ptrdiff_t x, ptrdiff_t y, enum nl_ink ink, char mark)
{
    static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    size_t wide = canvas->columns * canvas->across, high = canvas->lines * canvas->down;
    if (x < 0 || y < 0 || (size_t)x >= wide || (size_t)y >= high)
        return;
    size_t row = high - 1 - (size_t)y;
    size_t at = row / canvas->down * canvas->columns + (size_t)x / canvas->across;
    canvas->dots[at] |= bits[(size_t)x % canvas->across][row % canvas->down];
    canvas->inks[at] = (unsigned char)ink;
    canvas->marks[at] = mark;
}

/* All dots between two, both included (Bresenham would do; steps of the longer
 * side are as exact here). */
static void put_stroke(struct canvas *canvas, double x0, double y0, double x1, double y1,
                       enum nl_ink ink, char mark)
{
    double steps = ceil(fmax(fabs(x1 - x0), fabs(y1 - y0)));
    for (double i = 0; i <= steps; i++) {
        double part = steps > 0 ? i / steps : 0;
        put_dot(canvas, (ptrdiff_t)nl_whole_i64(x0 + (x1 - x0) * part),
                (ptrdiff_t)nl_whole_i64(y0 + (y1 - y0) * part), ink, mark);
    }
}

static void draw(struct canvas *canvas, const struct nl_plot_series *series, char mark,
                 const struct range *x, const struct range *y)
{
    double wide = (double)(canvas->columns * canvas->across - 1);
    double high = (double)(canvas->lines * canvas->down - 1), last_x = NAN, last_y = NAN;
    for (size_t i = 0; i < series->count; i++) {
        double at_x = (scaled(x, value_at(series->x, i)) - x->least) / (x->most - x->least) * wide;
        double at_y = (scaled(y, value_at(series->y, i)) - y->least) / (y->most - y->least) * high;
        bool known = isfinite(at_x) && isfinite(at_y);
        /* Points outside a requested range are cut; far outside it would be endless. */
        bool inside = known && at_x >= -1 && at_x <= wide + 1 && at_y >= -1 && at_y <= high + 1;
        if (inside && isfinite(last_x))
            put_stroke(canvas, last_x, last_y, at_x, at_y, series->ink, mark);
        else if (inside)
            put_dot(canvas, (ptrdiff_t)nl_whole_i64(at_x), (ptrdiff_t)nl_whole_i64(at_y),
                    series->ink, mark);
        last_x = inside ? at_x : NAN;
        last_y = inside ? at_y : NAN;
    }
}

static void put_line(struct nl_buf *out, const struct canvas *canvas, size_t line,
                     const struct nl_plot_style *style)
{
    for (size_t column = 0; column < canvas->columns; column++) {
        size_t at = line * canvas->columns + column;
        enum nl_ink ink = (enum nl_ink)canvas->inks[at];
        unsigned char dots = canvas->dots[at];
        if (!dots) {
            nl_buf_char(out, ' ');
            continue;
        }
        nl_plot_ink(out, ink, style);
        if (canvas->letters[at]) {
            nl_buf_char(out, canvas->letters[at]);
        } else if (style->ascii) {
            nl_buf_char(out, canvas->marks[at]);
        } else { /* U+2800 + dots */
            nl_buf_char(out, '\xE2');
            nl_buf_char(out, (char)(0xA0 | dots >> 6));
            nl_buf_char(out, (char)(0x80 | (dots & 0x3F)));
        }
        nl_plot_plain(out, ink, style);
    }
}

/* A name without anything that steers a terminal; in ASCII without what is none. */
static void put_name(struct nl_buf *out, const char *name, const struct nl_plot_style *style)
{
    struct nl_buf safe;
    nl_buf_init(&safe, 4096);
    nl_celltext_safe(&safe, nl_str(name));
    for (size_t i = 0; i < safe.len; i++) {
        unsigned char byte = (unsigned char)safe.ptr[i];
        if (!style->ascii || byte < 0x80)
            nl_buf_char(out, safe.ptr[i]);
        else if (byte >= 0xC0)
            nl_buf_char(out, '?');
    }
    nl_buf_release(&safe);
}

static size_t number_width(double value, enum nl_meaning meaning)
{
    struct nl_buf text;
    nl_buf_init(&text, 256);
    nl_plot_number(&text, value, meaning, &(struct nl_plot_style){0});
    size_t wide = nl_celltext_width((struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
    return wide;
}

/* The number, with blanks before it up to `width`. */
static void put_tick(struct nl_buf *out, double value, enum nl_meaning meaning, size_t width,
                     const struct nl_plot_style *style)
{
    for (size_t i = number_width(value, meaning); i < width; i++)
        nl_buf_char(out, ' ');
    nl_plot_number(out, value, meaning, style);
}

/* Below the drawing: least, label, most. */
static void put_foot(struct nl_buf *out, const struct nl_plot_axis *axis, const struct range *range,
                     size_t margin, size_t columns, const struct nl_plot_style *style)
{
    double least = unscaled(range, range->least), most = unscaled(range, range->most);
    size_t left = number_width(least, axis->meaning), right = number_width(most, axis->meaning);
    size_t label = axis->label ? nl_celltext_width(nl_str(axis->label)) : 0;
    for (size_t i = 0; i < margin + 2; i++)
        nl_buf_char(out, ' ');
    if (left + 1 + right > columns) { /* no room for both ends */
        if (left <= columns)
            put_tick(out, least, axis->meaning, 0, style);
        nl_buf_char(out, '\n');
        return;
    }
    put_tick(out, least, axis->meaning, 0, style);
    size_t room = columns - left - right;
    size_t before = room > label + 2 ? (room - label) / 2 : room;
    for (size_t i = 0; i < before; i++)
        nl_buf_char(out, ' ');
    if (room > label + 2) {
        nl_buf_text(out, axis->label ? axis->label : "");
        for (size_t i = before + label; i < room; i++)
            nl_buf_char(out, ' ');
    }
    put_tick(out, most, axis->meaning, 0, style);
    nl_buf_char(out, '\n');
}

static void put_names(struct nl_buf *out, const struct nl_plot_series *series, size_t count,
                      const char *marks, const struct nl_plot_style *style)
{
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        if (!series[i].name)
            continue;
        nl_buf_text(out, named++ ? "   " : "  ");
        nl_plot_ink(out, series[i].ink, style);
        if (style->ascii)
            nl_buf_char(out, marks[i % strlen(marks)]);
        else
            nl_buf_text(out, "●");
        nl_plot_plain(out, series[i].ink, style);
        nl_buf_char(out, ' ');
        put_name(out, series[i].name, style);
    }
    if (named)
        nl_buf_char(out, '\n');
}

/* What a line of the drawing stands for, counted from the top. */
static double value_on(const struct range *y, size_t line, size_t lines)
{
    double part = 1 - (double)line / (double)(lines > 1 ? lines - 1 : 1);
    return unscaled(y, y->least + (y->most - y->least) * part);
}

static void put_canvas(struct nl_buf *out, const struct canvas *canvas,
                       const struct nl_plot_axis *axis, const struct range *y, size_t margin,
                       const struct nl_plot_style *style)
{
    for (size_t line = 0; line < canvas->lines; line++) {
        bool top = line == 0, bottom = line + 1 == canvas->lines;
        bool tick = top || bottom || (canvas->lines >= 7 && line == canvas->lines / 2);
        if (tick)
            put_tick(out, value_on(y, line, canvas->lines), axis->meaning, margin, style);
        for (size_t i = 0; !tick && i < margin; i++)
            nl_buf_char(out, ' ');
        nl_buf_text(out, style->ascii ? " |" : tick ? " ┤" : " │");
        put_line(out, canvas, line, style);
        nl_buf_char(out, '\n');
    }
}

/* Points that stand as letters: the first of those in one place is seen. */
struct marked {
    const struct nl_plot_series *points;
    const char *letters;
};

static void put_letters(struct canvas *canvas, const struct marked *marked, const struct range *x,
                        const struct range *y)
{
    const struct nl_plot_series *points = marked->points;
    for (size_t i = 0; i < points->count; i++) {
        double across = (scaled(x, value_at(points->x, i)) - x->least) / (x->most - x->least);
        double up = (scaled(y, value_at(points->y, i)) - y->least) / (y->most - y->least);
        if (!(across >= 0 && across <= 1 && up >= 0 && up <= 1))
            continue;
        size_t column = (size_t)nl_whole_i64(across * (double)(canvas->columns - 1));
        size_t line = (size_t)nl_whole_i64((1 - up) * (double)(canvas->lines - 1));
        size_t at = line * canvas->columns + column;
        if (canvas->letters[at])
            continue;
        canvas->letters[at] = marked->letters[i];
        canvas->dots[at] = 1;
        canvas->inks[at] = (unsigned char)points->ink;
    }
}

static void plot(struct nl_buf *out, const struct nl_plot_series *series, size_t count,
                 const struct marked *marked, const struct nl_plot_axis *x,
                 const struct nl_plot_axis *y, const struct nl_plot_style *style)
{
    static const char marks[] = "*o+x#@%&";
    struct range rx = range_of(series, count, x, false), ry = range_of(series, count, y, true);
    size_t width = style->width ? style->width : DEFAULT_WIDTH;
    size_t margin = 0, lines = style->height ? style->height : DEFAULT_HEIGHT;
    width = width > MAX_WIDTH ? MAX_WIDTH : width;
    lines = lines > MAX_HEIGHT ? MAX_HEIGHT : lines;
    for (int i = 0; i < 4; i++) {
        double value = i == 3 && lines >= 7
                           ? value_on(&ry, lines / 2, lines)
                           : unscaled(&ry, ry.least + (ry.most - ry.least) * (i % 3) / 2.0);
        size_t wide = number_width(value, y->meaning);
        margin = wide > margin ? wide : margin;
    }
    size_t columns = width > margin + 2 + 8 ? width - margin - 2 : 8;
    struct canvas canvas = {.columns = columns,
                            .lines = lines,
                            .across = style->ascii ? 1 : 2,
                            .down = style->ascii ? 1 : 4,
                            .dots = nl_zalloc(columns * lines),
                            .inks = nl_zalloc(columns * lines),
                            .marks = nl_zalloc(columns * lines),
                            .letters = nl_zalloc(columns * lines)};
    for (size_t i = 0; i < count; i++)
        draw(&canvas, &series[i], marks[i % strlen(marks)], &rx, &ry);
    if (marked)
        put_letters(&canvas, marked, &rx, &ry);
    if (y->label) {
        nl_buf_text(out, y->label);
        nl_buf_char(out, '\n');
    }
    put_canvas(out, &canvas, y, &ry, margin, style);
    put_foot(out, x, &rx, margin, columns, style);
    put_names(out, series, count, marks, style);
    nl_free(canvas.dots);
    nl_free(canvas.inks);
    nl_free(canvas.marks);
    nl_free(canvas.letters);
}

void nl_plot_lines(struct nl_buf *out, const struct nl_plot_series *series, size_t count,
                   const struct nl_plot_axis *x, const struct nl_plot_axis *y,
                   const struct nl_plot_style *style)
{
    plot(out, series, count, NULL, x, y, style);
}

void nl_plot_marked(struct nl_buf *out, const struct nl_plot_series *curves, size_t count,
                    const struct nl_plot_series *points, const char *marks,
                    const struct nl_plot_axis *x, const struct nl_plot_axis *y,
                    const struct nl_plot_style *style)
{
    struct marked marked = {points, marks};
    plot(out, curves, count, &marked, x, y, style);
}
