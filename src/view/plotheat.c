/*
 * plot: heat maps. Colours run through the luminance of cividis (Nuñez, Anderton and Renslow 2018), which reads
 * the same with and without red-green vision; without colour five shades do.
 */
#include <math.h>

#include "base/mem.h"
#include "view/celltext.h"
#include "view/plot.h"

#define DEFAULT_WIDTH 80
#define MOST_LABEL    24
#define MOST_NUMBERS  24 /* two, and what is between */

static const unsigned ramp[] = {17, 18, 60, 61, 102, 144, 179, 221, 227};
static const char *const shades[] = {"·", "░", "▒", "▓", "█"};
static const char *const letters[] = {".", ":", "+", "*", "#"};

#define RAMP_STEPS  (sizeof ramp / sizeof *ramp)
#define SHADE_STEPS (sizeof shades / sizeof *shades)

struct heat {
    double least, most;
    size_t label, cells, wide; /* columns of labels, cells of a row, columns of a cell */
    const struct nl_plot_style *style;
};

static void put_cell(struct nl_buf *out, const struct heat *heat, double value)
{
    if (!isfinite(value)) {
        for (size_t i = 0; i < heat->wide; i++)
            nl_buf_char(out, ' ');
        return;
    }
    double part = heat->most > heat->least ? (value - heat->least) / (heat->most - heat->least) : 0;
    if (!(part >= 0 && part <= 1)) /* the difference of two fits no double */
        part = value > heat->least / 2 + heat->most / 2;
    size_t step = (size_t)(part * ((double)SHADE_STEPS - 0.001));
    bool color = heat->style->color && !heat->style->ascii;
    if (color)
        nl_buf_format(out, "\033[38;5;%um", ramp[(size_t)(part * ((double)RAMP_STEPS - 0.001))]);
    for (size_t i = 0; i < heat->wide; i++)
        nl_buf_text(out, color ? "█" : heat->style->ascii ? letters[step] : shades[step]);
    if (color)
        nl_buf_text(out, "\033[39m");
}

static void put_label(struct nl_buf *out, const char *text, const struct heat *heat)
{
    struct nl_buf safe, cut;
    nl_buf_init(&safe, 4096);
    nl_buf_init(&cut, 4096);
    nl_celltext_safe(&safe, nl_str(text ? text : ""));
    for (size_t i = 0; heat->style->ascii && i < safe.len; i++)
        if ((unsigned char)safe.ptr[i] >= 0x80)
            safe.ptr[i] = '?';
    if (heat->style->ascii)
        nl_buf_add(&cut, safe.ptr, safe.len > heat->label ? heat->label : safe.len);
    else
        nl_celltext_elide(&cut, (struct nl_str){safe.ptr, safe.len}, heat->label);
    nl_buf_add(out, cut.ptr, cut.len);
    for (size_t i = nl_celltext_width((struct nl_str){cut.ptr, cut.len}); i < heat->label; i++)
        nl_buf_char(out, ' ');
    nl_buf_release(&safe);
    nl_buf_release(&cut);
}

static void put_scale(struct nl_buf *out, const struct heat *heat, enum nl_meaning meaning)
{
    struct heat one = *heat;
    one.wide = 1;
    size_t steps = heat->style->color && !heat->style->ascii ? RAMP_STEPS : SHADE_STEPS;
    size_t width = heat->style->width ? heat->style->width : DEFAULT_WIDTH;
    size_t room = width > steps + MOST_NUMBERS ? width - steps - MOST_NUMBERS : 0;
    for (size_t i = 0; i < heat->label + 1 && i < room; i++)
        nl_buf_char(out, ' ');
    nl_plot_number(out, heat->least, meaning, heat->style);
    nl_buf_char(out, ' ');
    for (size_t i = 0; i < steps; i++)
        put_cell(out, &one,
                 heat->least + (heat->most - heat->least) * (double)i / (double)(steps - 1));
    nl_buf_char(out, ' ');
    nl_plot_number(out, heat->most, meaning, heat->style);
    nl_buf_char(out, '\n');
}

static struct heat measure(const double *values, size_t rows, size_t columns,
                           const char *const *labels, const struct nl_plot_style *style)
{
    struct heat heat = {.least = INFINITY, .most = -INFINITY, .style = style};
    for (size_t i = 0; i < rows * columns; i++)
        if (isfinite(values[i])) {
            heat.least = fmin(heat.least, values[i]);
            heat.most = fmax(heat.most, values[i]);
        }
    for (size_t i = 0; labels && i < rows; i++) {
        size_t wide = nl_celltext_width(nl_str(labels[i] ? labels[i] : ""));
        heat.label = wide > heat.label ? wide : heat.label;
    }
    size_t width = style->width ? style->width : DEFAULT_WIDTH;
    heat.label = heat.label > MOST_LABEL ? MOST_LABEL : heat.label;
    if (heat.label > width / 2)
        heat.label = width / 2;
    size_t room = width > heat.label + 1 ? width - heat.label - 1 : 1;
    heat.cells = columns < room ? columns : room;
    heat.wide = heat.cells && room / heat.cells >= 2 ? 2 : 1;
    return heat;
}

void nl_plot_heat(struct nl_buf *out, const double *values, size_t rows, size_t columns,
                  const char *const *labels, enum nl_meaning meaning,
                  const struct nl_plot_style *style)
{
    struct heat heat = measure(values, rows, columns, labels, style);
    if (!rows || !columns || !(heat.least <= heat.most))
        return;
    for (size_t row = 0; row < rows; row++) {
        put_label(out, labels ? labels[row] : NULL, &heat);
        nl_buf_char(out, ' ');
        for (size_t cell = 0; cell < heat.cells; cell++) {
            double most = NAN;
            size_t end = (cell + 1) * columns / heat.cells;
            for (size_t column = cell * columns / heat.cells; column < end; column++) {
                double value = values[row * columns + column];
                if (isfinite(value) && !(most >= value))
                    most = value;
            }
            put_cell(out, &heat, most);
        }
        nl_buf_char(out, '\n');
    }
    put_scale(out, &heat, meaning);
}
