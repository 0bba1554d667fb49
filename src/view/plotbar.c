/* plot: what is made of bars — bars, stacks, waterfalls, sparklines; and colour
 * and numbers for all plots. */
#include <math.h>

#include "base/mem.h"
#include "base/sum.h"
#include "view/celltext.h"
#include "view/plot.h"

#define DEFAULT_WIDTH 80
#define MAX_LABEL     44
#define NUMBER_WIDTH  11
#define SHARE_WIDTH   8

void nl_plot_ink(struct nl_buf *out, enum nl_ink ink, const struct nl_plot_style *style)
{
    if (style->color && ink != NL_INK_NONE)
        nl_buf_format(out, "\033[38;5;%um", nl_inks[ink].ansi);
}

void nl_plot_plain(struct nl_buf *out, enum nl_ink ink, const struct nl_plot_style *style)
{
    if (style->color && ink != NL_INK_NONE)
        nl_buf_text(out, "\033[39m");
}

void nl_plot_number(struct nl_buf *out, double value, enum nl_meaning meaning,
                    const struct nl_plot_style *style)
{
    struct nl_buf text;
    struct nl_result_column column = {"", NULL, meaning ? meaning : NL_MEANS_NUMBER};
    struct nl_cell cell = nl_cell_f64(value);
    bool whole = column.meaning == NL_MEANS_COUNT || column.meaning == NL_MEANS_INTEGER ||
                 column.meaning == NL_MEANS_BYTES || column.meaning == NL_MEANS_NS ||
                 column.meaning == NL_MEANS_CHANGE_NS;
    if (whole && fabs(value) < 9.2e18)
        cell = nl_cell_i64(nl_whole_i64(value));
    nl_buf_init(&text, 256);
    nl_celltext_eyes(&text, &column, &cell);
    for (size_t i = 0; i < text.len; i++) {
        bool micro = text.ptr[i] == '\xC2' && text.ptr[i + 1] == '\xB5';
        nl_buf_char(out, style->ascii && micro ? 'u' : text.ptr[i]);
        i += style->ascii && micro;
    }
    nl_buf_release(&text);
}

static void repeat(struct nl_buf *out, const char *text, size_t count)
{
    while (count--)
        nl_buf_text(out, text);
}

/* `text` in exactly `width` columns, cut in its middle or padded. */
static void put_label(struct nl_buf *out, const char *text, size_t width,
                      const struct nl_plot_style *style)
{
    struct nl_buf safe, cut;
    nl_buf_init(&safe, 4096);
    nl_buf_init(&cut, 4096);
    nl_celltext_safe(&safe, nl_str(text ? text : ""));
    if (style->ascii)
        for (size_t i = 0; i < safe.len; i++)
            if ((unsigned char)safe.ptr[i] >= 0x80)
                safe.ptr[i] = '?';
    size_t wide = nl_celltext_width((struct nl_str){safe.ptr, safe.len});
    if (wide > width && style->ascii)
        nl_buf_add(&cut, safe.ptr, width);
    else
        nl_celltext_elide(&cut, (struct nl_str){safe.ptr, safe.len}, width);
    nl_buf_add(out, cut.ptr, cut.len);
    wide = nl_celltext_width((struct nl_str){cut.ptr, cut.len});
    repeat(out, " ", wide < width ? width - wide : 0);
    nl_buf_release(&safe);
    nl_buf_release(&cut);
}

static void put_right(struct nl_buf *out, double value, enum nl_meaning meaning, size_t width,
                      const struct nl_plot_style *style)
{
    struct nl_buf text;
    nl_buf_init(&text, 256);
    nl_plot_number(&text, value, meaning, style);
    size_t wide = nl_celltext_width((struct nl_str){text.ptr, text.len});
    repeat(out, " ", wide < width ? width - wide : 0);
    nl_buf_add(out, text.ptr, text.len);
    nl_buf_release(&text);
}

void nl_plot_bar(struct nl_buf *out, double share, size_t cells, enum nl_ink ink, bool pad,
                 const struct nl_plot_style *style)
{
    static const char *const eighth[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double bounded = share > 1 ? 1 : share > 0 ? share : 0;
    size_t grain = style->ascii ? 1 : 8;
    size_t steps = (size_t)(bounded * (double)(cells * grain) + 0.5);
    if (!steps && bounded > 0 && cells)
        steps = 1;
    nl_plot_ink(out, ink, style);
    repeat(out, style->ascii ? "#" : "█", steps / grain);
    if (!style->ascii)
        nl_buf_text(out, eighth[steps % 8]);
    nl_plot_plain(out, ink, style);
    if (pad)
        repeat(out, " ", cells - (steps + grain - 1) / grain);
}

static double clean(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

static double sum_of(const struct nl_plot_part *parts, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += clean(parts[i].value);
    return sum;
}

/* Columns of each part: largest remainders, then a column for the least of those that have none. */
static void divide(const struct nl_plot_part *parts, size_t count, size_t cells, size_t *width)
{
    double sum = sum_of(parts, count);
    size_t given = 0;
    for (size_t i = 0; i < count; i++) {
        width[i] = sum > 0 ? (size_t)nl_whole_u64(clean(parts[i].value) / sum * (double)cells) : 0;
        given += width[i];
    }
    for (; sum > 0 && given < cells; given++) {
        size_t best = 0;
        double most = -1e300;
        for (size_t i = 0; i < count; i++) {
            double left = clean(parts[i].value) / sum * (double)cells - (double)width[i];
            if (left > most) {
                most = left;
                best = i;
            }
        }
        width[best]++;
    }
    for (size_t i = 0; i < count; i++) {
        size_t widest = 0;
        for (size_t j = 1; j < count; j++)
            widest = width[j] > width[widest] ? j : widest;
        if (width[i] || !(clean(parts[i].value) > 0) || width[widest] < 2)
            continue;
        width[widest]--;
        width[i]++;
    }
}

/* What a part is drawn with where its letter would be too much. */
static const char *shade_of(enum nl_ink ink)
{
    switch (ink) {
    case NL_INK_comm: return "▒";
    case NL_INK_copy: return "▓";
    case NL_INK_memset: return "░";
    case NL_INK_idle: return "·";
    case NL_INK_host: return "-";
    default: return "█";
    }
}

void nl_plot_stack(struct nl_buf *out, const struct nl_plot_part *parts, size_t count, size_t cells,
                   const struct nl_plot_style *style)
{
    size_t *width = nl_zalloc((count + 1) * sizeof *width), used = 0;
    divide(parts, count, cells, width);
    for (size_t i = 0; i < count; i++) {
        if (!width[i])
            continue;
        char mark[] = {nl_inks[parts[i].ink].mark, '\0'};
        bool block = style->color && !style->ascii && parts[i].ink != NL_INK_NONE;
        nl_plot_ink(out, parts[i].ink, style);
        repeat(out,
               style->shades && !style->ascii ? shade_of(parts[i].ink)
               : block                        ? "█"
                                              : mark,
               width[i]);
        nl_plot_plain(out, parts[i].ink, style);
        used += width[i];
    }
    repeat(out, " ", cells - used);
    nl_free(width);
}

void nl_plot_legend(struct nl_buf *out, const struct nl_plot_part *parts, size_t count,
                    const struct nl_plot_style *style)
{
    const char *between = "";
    for (size_t i = 0; i < count; i++) {
        const struct nl_ink_def *ink = &nl_inks[parts[i].ink];
        char mark[] = {ink->mark, '\0'};
        const char *name = parts[i].name ? parts[i].name : ink->words ? ink->words : "";
        nl_buf_text(out, between);
        between = "  ";
        nl_plot_ink(out, parts[i].ink, style);
        nl_buf_text(out, style->color && !style->ascii ? "█" : mark);
        nl_plot_plain(out, parts[i].ink, style);
        nl_buf_char(out, ' ');
        put_label(out, name, nl_celltext_width(nl_str(name)), style);
    }
    nl_buf_char(out, '\n');
}

static size_t label_width(const struct nl_plot_part *parts, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t wide = nl_celltext_width(nl_str(parts[i].name ? parts[i].name : ""));
        most = wide > most ? wide : most;
    }
    return most > MAX_LABEL ? MAX_LABEL : most;
}

/* Columns for the drawing, when a label, a number and `more` stand before
 * it. Labels give way first. */
static size_t drawing_width(const struct nl_plot_style *style, size_t *label, size_t more)
{
    size_t width = style->width ? style->width : DEFAULT_WIDTH, fixed = NUMBER_WIDTH + more + 2;
    if (*label + fixed + 8 > width)
        *label = width > fixed + 16 ? width - fixed - 8 : 8;
    return width > *label + fixed ? width - *label - fixed : 0;
}

void nl_plot_bars(struct nl_buf *out, const struct nl_plot_part *parts, size_t count,
                  enum nl_meaning meaning, const struct nl_plot_style *style)
{
    size_t label = label_width(parts, count), cells = drawing_width(style, &label, SHARE_WIDTH);
    double sum = sum_of(parts, count), most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, clean(parts[i].value));
    for (size_t i = 0; i < count; i++) {
        put_label(out, parts[i].name, label, style);
        put_right(out, parts[i].value, meaning, NUMBER_WIDTH, style);
        put_right(out, sum > 0 ? clean(parts[i].value) / sum : NAN, NL_MEANS_SHARE, SHARE_WIDTH,
                  style);
        nl_buf_text(out, "  ");
        nl_plot_bar(out, most > 0 ? clean(parts[i].value) / most : 0, cells, parts[i].ink, false,
                    style);
        nl_buf_char(out, '\n');
    }
}

/* ---- waterfalls ---- */

struct fall {
    double least, scale; /* of the axis: columns per unit */
    size_t label, cells;
    enum nl_meaning meaning;
    const struct nl_plot_style *style;
};

/* A line whose bar reaches from `from` to `to`. */
static void put_fall(struct nl_buf *out, const struct fall *fall, const char *name, double value,
                     double from, double to, enum nl_ink ink)
{
    double left = fmin(from, to), right = fmax(from, to);
    size_t begin = (size_t)nl_whole_u64((left - fall->least) * fall->scale + 0.5);
    size_t end = (size_t)nl_whole_u64((right - fall->least) * fall->scale + 0.5);
    begin = begin > fall->cells ? fall->cells : begin;
    end = end > fall->cells ? fall->cells : end;
    put_label(out, name, fall->label, fall->style);
    put_right(out, value, fall->meaning, NUMBER_WIDTH, fall->style);
    nl_buf_text(out, "  ");
    if (end > begin) {
        repeat(out, " ", begin);
        nl_plot_ink(out, ink, fall->style);
        repeat(out, fall->style->ascii ? "#" : "█", end - begin);
        nl_plot_plain(out, ink, fall->style);
    } else if (fall->cells) {
        repeat(out, " ", begin < fall->cells ? begin : fall->cells - 1);
        nl_plot_ink(out, ink, fall->style);
        nl_buf_text(out, fall->style->ascii ? "|" : "▏");
        nl_plot_plain(out, ink, fall->style);
    }
    nl_buf_char(out, '\n');
}

void nl_plot_waterfall(struct nl_buf *out, const char *start_name, double start,
                       const struct nl_plot_part *parts, size_t count, const char *end_name,
                       enum nl_meaning meaning, const struct nl_plot_style *style)
{
    struct fall fall = {.meaning = meaning, .style = style, .label = label_width(parts, count)};
    size_t ends[] = {start_name ? nl_celltext_width(nl_str(start_name)) : 0,
                     nl_celltext_width(nl_str(end_name))};
    for (size_t i = 0; i < 2; i++)
        if (ends[i] > fall.label)
            fall.label = ends[i] > MAX_LABEL ? MAX_LABEL : ends[i];
    fall.cells = drawing_width(style, &fall.label, 0);
    double at = start, least = fmin(0, start), most = fmax(0, start);
    for (size_t i = 0; i < count; i++) {
        at += isfinite(parts[i].value) ? parts[i].value : 0;
        least = fmin(least, at);
        most = fmax(most, at);
    }
    fall.least = least;
    fall.scale = most > least ? (double)fall.cells / (most - least) : 0;
    if (start_name)
        put_fall(out, &fall, start_name, start, 0, start, NL_INK_NONE);
    at = start;
    for (size_t i = 0; i < count; i++) {
        double next = at + (isfinite(parts[i].value) ? parts[i].value : 0);
        put_fall(out, &fall, parts[i].name, parts[i].value, at, next, parts[i].ink);
        at = next;
    }
    put_fall(out, &fall, end_name, at, 0, at, NL_INK_NONE);
}

/* ---- sparklines ---- */

const char *nl_plot_height(double share, bool ascii)
{
    static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char letters[][2] = {"_", ".", "-", ":", "=", "+", "*", "#"};
    size_t step = share >= 1 ? 7 : share > 0 ? (size_t)(share * 8) : 0;
    return ascii ? letters[step] : steps[step];
}
