/*
 * plot — small pictures made of text: bars, lines, points, waterfalls.
 *
 * Every plot adds whole lines to a buffer (bars: cells within a line), as wide as the style says
 * and never wider. Unicode blocks and Braille dots by default, plain ASCII with style.ascii;
 * colour is extra: marks and labels carry the meaning without it. A value that is not known is
 * NaN and leaves a gap. Axes say what their numbers mean (enum nl_meaning), so that ticks read
 * "12.3 ms" or "1.50 GiB".
 *
 *     struct nl_plot_style style = {.width = 100, .color = true};
 *     struct nl_plot_series series = {.name = "step time", .y = ns, .count = n, .ink = NL_INK_compute};
 *     nl_plot_lines(&out, &series, 1, &(struct nl_plot_axis){.label = "step"},
 *                   &(struct nl_plot_axis){.meaning = NL_MEANS_NS}, &style);
 */
#ifndef NL_PLOT_H
#define NL_PLOT_H

#include "tables/result.h"
#include "view/palette.h"

struct nl_plot_style {
    unsigned width;  /* screen columns of the whole plot, labels included; 0 = 80 */
    unsigned height; /* lines of the drawing area of lines, points; 0 = 8 */
    bool ascii;      /* nothing but ASCII */
    bool color;      /* ANSI colours */
    bool shades;     /* stacks: blocks of different density instead of letters */
};

struct nl_plot_part {
    const char *name; /* of bars with labels and of waterfalls */
    double value;     /* at least 0; waterfalls also less */
    enum nl_ink ink;
};

struct nl_plot_series {
    const char *name;    /* for the legend; NULL = none */
    const double *x, *y; /* x NULL = 0, 1, 2 … */
    size_t count;
    enum nl_ink ink;
};

struct nl_plot_axis {
    const char *label;
    enum nl_meaning meaning; /* of its numbers; 0 (TEXT) = a plain number */
    bool log;                /* logarithmic: values of 0 and less leave gaps */
    double least, most;      /* range; both 0 = that of the values */
};

/* One bar of up to `cells` columns, an eighth of a column exact; something that is more than
 * nothing shows. Blank after its end when `pad`. */
void nl_plot_bar(struct nl_buf *out, double share, size_t cells, enum nl_ink ink, bool pad,
                 const struct nl_plot_style *style);

/* One line of exactly `cells` columns divided among parts in proportion (largest remainders;
 * a part of more than nothing gets a column while there are columns). Without colour each
 * part is drawn in its mark. */
void nl_plot_stack(struct nl_buf *out, const struct nl_plot_part *parts, size_t count, size_t cells,
                   const struct nl_plot_style *style);

/* "K compute  N exposed communication": what the marks and colours of parts mean, one line. */
void nl_plot_legend(struct nl_buf *out, const struct nl_plot_part *parts, size_t count,
                    const struct nl_plot_style *style);

/* A line per part: name, number, share of the sum, bar. `meaning` is that of the values. */
void nl_plot_bars(struct nl_buf *out, const struct nl_plot_part *parts, size_t count,
                  enum nl_meaning meaning, const struct nl_plot_style *style);

/* Like bars, each beginning where the one before ended, from `start`; negative parts go back. The
 * last line is the total. What the parts sum to is what the picture ends at. */
void nl_plot_waterfall(struct nl_buf *out, const char *start_name, double start,
                       const struct nl_plot_part *parts, size_t count, const char *end_name,
                       enum nl_meaning meaning, const struct nl_plot_style *style);

/* One column as high as `share` of it. */
const char *nl_plot_height(double share, bool ascii);

/* Curves through points in order of x. */
void nl_plot_lines(struct nl_buf *out, const struct nl_plot_series *series, size_t count,
                   const struct nl_plot_axis *x, const struct nl_plot_axis *y,
                   const struct nl_plot_style *style);

/* Curves, and over them points that are marked: marks[i] stands for point i of `points` (which has
 * no name). Curves and points outside the axes' ranges are cut. */
void nl_plot_marked(struct nl_buf *out, const struct nl_plot_series *curves, size_t count,
                    const struct nl_plot_series *points, const char *marks,
                    const struct nl_plot_axis *x, const struct nl_plot_axis *y,
                    const struct nl_plot_style *style);

/* For the plots themselves and their neighbours: starts and ends a colour, and a number for
 * eyes. */
void nl_plot_ink(struct nl_buf *out, enum nl_ink ink, const struct nl_plot_style *style);
void nl_plot_plain(struct nl_buf *out, enum nl_ink ink, const struct nl_plot_style *style);
void nl_plot_number(struct nl_buf *out, double value, enum nl_meaning meaning,
                    const struct nl_plot_style *style);

#endif
