/* rooflineplot — see rooflineplot.h. */
#include "view/rooflineplot.h"

#include <math.h>

#include "base/mem.h"
#include "view/celltext.h"

#define NUMBERED     9
#define CURVE_POINTS 512
#define MIN_HEIGHT   10
#define MAX_HEIGHT   24
#define AXIS_MARGIN  4.0 /* the axes go that much beyond what they show */

struct axes {
    struct nl_plot_axis x, y;
};

static void widen(struct nl_plot_axis *axis, double value)
{
    if (!isfinite(value) || value <= 0)
        return;
    if (!(axis->least > 0) || value / AXIS_MARGIN < axis->least)
        axis->least = value / AXIS_MARGIN;
    if (value * AXIS_MARGIN > axis->most)
        axis->most = value * AXIS_MARGIN;
}

static struct axes axes_of(const struct nl_roofline_roof *roofs, size_t count,
                           const struct nl_roofline_points *points)
{
    struct axes axes = {{.label = "FLOP per byte", .meaning = NL_MEANS_NUMBER, .log = true},
                        {.label = "FLOP/s", .meaning = NL_MEANS_FLOPS, .log = true}};
    for (size_t i = 0; i < points->count; i++) {
        widen(&axes.x, points->intensity[i]);
        widen(&axes.y, points->flops_per_s[i]);
    }
    for (size_t i = 0; i < count; i++) {
        widen(&axes.x, roofs[i].flops_per_s / roofs[i].bytes_per_s);
        widen(&axes.y, roofs[i].flops_per_s);
    }
    if (!points->count) { /* only roofs: two decades of their slopes */
        axes.x.least /= 25;
        axes.y.least /= 25;
    }
    return axes;
}

static void draw_roof(struct nl_plot_series *curve, double *values,
                      const struct nl_roofline_roof *roof, const struct nl_plot_axis *x)
{
    double *intensity = values, *rate = values + CURVE_POINTS;
    for (size_t i = 0; i < CURVE_POINTS; i++) {
        double part = (double)i / (CURVE_POINTS - 1);
        intensity[i] = x->least * pow(x->most / x->least, part);
        rate[i] = fmin(roof->flops_per_s, intensity[i] * roof->bytes_per_s);
    }
    *curve = (struct nl_plot_series){.x = intensity, .y = rate, .count = CURVE_POINTS};
}

/* A line of at most the style's width; where it asks for ASCII, a "~"
 * stands for what was left out. */
static void put_line(struct nl_buf *out, struct nl_buf *line, const struct nl_plot_style *style)
{
    struct nl_buf fit;
    nl_buf_init(&fit, (size_t)1 << 20);
    nl_celltext_elide(&fit, (struct nl_str){line->ptr, line->len},
                      style->width ? style->width : 80);
    for (size_t i = 0; i < fit.len; i++) {
        unsigned char byte = (unsigned char)fit.ptr[i];
        if (!style->ascii || byte < 0x80)
            nl_buf_char(out, fit.ptr[i]);
        else if (byte >= 0xC0)
            nl_buf_char(out, byte == 0xE2 ? '~' : byte == 0xC2 ? 'u' : '?');
    }
    nl_buf_char(out, '\n');
    nl_buf_release(&fit);
    nl_buf_clear(line);
}

static void name_roofs(struct nl_buf *out, const struct nl_roofline_roof *roofs, size_t count,
                       const struct nl_plot_style *style)
{
    struct nl_buf line;
    nl_buf_init(&line, (size_t)1 << 20);
    for (size_t i = 0; i < count; i++) {
        nl_buf_text(&line, "  ");
        nl_celltext_safe(&line, nl_str(roofs[i].name));
        nl_buf_text(&line, ": ");
        nl_plot_number(&line, roofs[i].flops_per_s, NL_MEANS_FLOPS, style);
        nl_buf_text(&line, ", ");
        nl_plot_number(&line, roofs[i].bytes_per_s, NL_MEANS_RATE, style);
        nl_buf_text(&line, ", ridge at ");
        nl_plot_number(&line, roofs[i].flops_per_s / roofs[i].bytes_per_s, NL_MEANS_NUMBER, style);
        put_line(out, &line, style);
    }
    nl_buf_release(&line);
}

void nl_rooflineplot(struct nl_buf *out, const struct nl_roofline_roof *roofs, size_t count,
                     const struct nl_roofline_points *points, const struct nl_plot_style *style)
{
    struct nl_plot_style sized = *style;
    struct nl_plot_series curves[NL_ROOFLINE_ROOFS];
    count = count < NL_ROOFLINE_ROOFS ? count : NL_ROOFLINE_ROOFS;
    if (!count)
        return;
    if (!sized.height) {
        unsigned wanted = (sized.width ? sized.width : 80) / 5;
        sized.height = wanted < MIN_HEIGHT ? MIN_HEIGHT : wanted > MAX_HEIGHT ? MAX_HEIGHT : wanted;
    }
    double *values = nl_alloc(count * 2 * CURVE_POINTS * sizeof *values);
    struct axes axes = axes_of(roofs, count, points);
    for (size_t i = 0; i < count; i++) {
        draw_roof(&curves[i], values + i * 2 * CURVE_POINTS, &roofs[i], &axes.x);
        curves[i].ink = nl_ink_of_index(i);
    }
    struct nl_plot_series series = {
        .x = points->intensity, .y = points->flops_per_s, .count = points->count};
    nl_plot_marked(out, curves, count, &series, points->marks, &axes.x, &axes.y, &sized);
    name_roofs(out, roofs, count, style);
    nl_free(values);
}

/* ---- of a table ---- */

enum { KIND, NAME, TYPE, MODEL, INTENSITY, RATE, SHARE, HEADROOM, BOUND, PEAK, MEMORY, FIELDS };

static const char *const fields[FIELDS] = {"kind",
                                           "name",
                                           "dtype",
                                           "model",
                                           "intensity",
                                           "flops_per_s",
                                           "roof_share",
                                           "headroom_ns",
                                           "bound",
                                           "peak_flops_per_s",
                                           "peak_bytes_per_s"};

struct drawing {
    const struct nl_result *result;
    size_t at[FIELDS]; /* column; column_count: it has none of that name */
    size_t *rows;      /* of the points, in order of the table */
    size_t count;
    struct nl_roofline_roof roofs[NL_ROOFLINE_ROOFS];
    size_t roof_count;
    struct nl_arena arena;
};

static const struct nl_cell *cell_of(const struct drawing *drawing, size_t row, int field)
{
    static const struct nl_cell none = {.type = NL_CELL_NULL};
    size_t column = drawing->at[field];
    return column < drawing->result->column_count ? nl_result_cell(drawing->result, row, column)
                                                  : &none;
}

static double number(const struct drawing *drawing, size_t row, int field)
{
    const struct nl_cell *cell = cell_of(drawing, row, field);
    return cell->type == NL_CELL_F64   ? cell->f64
           : cell->type == NL_CELL_I64 ? (double)cell->i64
                                       : NAN;
}

static struct nl_str word(const struct drawing *drawing, size_t row, int field)
{
    const struct nl_cell *cell = cell_of(drawing, row, field);
    return cell->type == NL_CELL_TEXT ? cell->text : nl_str("");
}

static bool is_product(struct nl_str model)
{
    static const char *const products[] = {"gemm", "convolution", "attention", "moe", "rnn"};
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (nl_str_is(model, products[i]))
            return true;
    return false;
}

static void take_roof(struct drawing *drawing, size_t row)
{
    double peak = number(drawing, row, PEAK), memory = number(drawing, row, MEMORY);
    if (!(peak > 0) || !(memory > 0) || drawing->roof_count == NL_ROOFLINE_ROOFS)
        return;
    for (size_t i = 0; i < drawing->roof_count; i++)
        if (fabs(drawing->roofs[i].flops_per_s - peak) < 1e-9 * peak &&
            fabs(drawing->roofs[i].bytes_per_s - memory) < 1e-9 * memory)
            return;
    struct nl_str type = word(drawing, row, TYPE);
    const char *name = "ordinary arithmetic";
    if (is_product(word(drawing, row, MODEL)))
        name = nl_arena_format(&drawing->arena, "%.*s products", (int)type.len,
                               type.ptr ? type.ptr : "");
    drawing->roofs[drawing->roof_count++] = (struct nl_roofline_roof){name, peak, memory};
}

static void read_table(struct drawing *drawing)
{
    const struct nl_result *result = drawing->result;
    for (int field = 0; field < FIELDS; field++)
        for (drawing->at[field] = 0;
             drawing->at[field] < result->column_count &&
             strcmp(result->columns[drawing->at[field]].name, fields[field]) != 0;)
            drawing->at[field]++;
    drawing->rows = nl_alloc((result->rows + 1) * sizeof *drawing->rows);
    for (size_t row = 0; row < result->rows; row++) {
        if (!nl_str_is(word(drawing, row, KIND), "operator") || !(number(drawing, row, RATE) > 0) ||
            !(number(drawing, row, INTENSITY) > 0))
            continue;
        take_roof(drawing, row);
        drawing->rows[drawing->count++] = row;
    }
}

/* "1 aten::mm (bf16) at 43.1 % of its roof, memory, headroom 1.2 ms" */
static void put_entry(struct nl_buf *out, const struct drawing *drawing, size_t index,
                      const struct nl_plot_style *style)
{
    size_t row = drawing->rows[index];
    struct nl_buf line;
    struct nl_str type = word(drawing, row, TYPE), bound = word(drawing, row, BOUND);
    nl_buf_init(&line, (size_t)1 << 20);
    nl_buf_format(&line, "  %zu ", index + 1);
    struct nl_buf safe;
    nl_buf_init(&safe, (size_t)1 << 20);
    nl_celltext_safe(&safe, word(drawing, row, NAME));
    nl_celltext_elide(&line, (struct nl_str){safe.ptr, safe.len},
                      (style->width ? style->width : 80) / 2);
    nl_buf_release(&safe);
    if (type.len)
        nl_buf_format(&line, " (%.*s)", (int)type.len, type.ptr);
    if (!isnan(number(drawing, row, SHARE))) {
        nl_buf_text(&line, " at ");
        nl_plot_number(&line, number(drawing, row, SHARE), NL_MEANS_SHARE, style);
        nl_buf_text(&line, " of its roof");
    }
    if (bound.len)
        nl_buf_format(&line, ", %.*s", (int)bound.len, bound.ptr);
    if (number(drawing, row, HEADROOM) > 0) {
        nl_buf_text(&line, ", headroom ");
        nl_plot_number(&line, number(drawing, row, HEADROOM), NL_MEANS_NS, style);
    }
    put_line(out, &line, style);
    nl_buf_release(&line);
}

void nl_rooflineplot_table(struct nl_buf *out, const struct nl_result *result,
                           const struct nl_plot_style *style)
{
    struct drawing drawing = {.result = result};
    nl_arena_init(&drawing.arena);
    read_table(&drawing);
    double *values = nl_alloc((drawing.count * 2 + 1) * sizeof *values);
    char *marks = nl_zalloc(drawing.count + 1);
    for (size_t i = 0; i < drawing.count; i++) {
        values[i] = number(&drawing, drawing.rows[i], INTENSITY);
        values[drawing.count + i] = number(&drawing, drawing.rows[i], RATE);
        marks[i] = i < NUMBERED ? (char)('1' + (char)i) : '.';
    }
    struct nl_roofline_points points = {values, values + drawing.count, marks, drawing.count};
    nl_rooflineplot(out, drawing.roofs, drawing.roof_count, &points, style);
    for (size_t i = 0; i < drawing.count && i < NUMBERED && drawing.roof_count; i++)
        put_entry(out, &drawing, i, style);
    nl_free(values);
    nl_free(marks);
    nl_free(drawing.rows);
    nl_arena_free(&drawing.arena);
}
