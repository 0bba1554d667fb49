/* pagemarkdown — the report as Markdown: the answer, then plots made of text, then the tables. */
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "pages/page.h"
#include "tables/lookup.h"
#include "tables/memo.h"
#include "tables/shortname.h"
#include "view/viewfinish.h"
#include "view/plot.h"

#define WIDTH       96
#define MAX_STEPS   4000
#define MAX_DEVICES 16
#define MAX_BARS    12

static const struct nl_plot_style style = {.width = WIDTH, .height = 10};

static void begin_plot(FILE *out, const char *title)
{
    fprintf(out, "\n## %s\n\n```text\n", title);
}

static void end_plot(FILE *out, struct nl_buf *plot)
{
    if (plot->len)
        fwrite(plot->ptr, 1, plot->len, out);
    fputs("```\n", out);
    nl_buf_clear(plot);
}

static void plot_devices(FILE *out, struct nl_memo *memo, struct nl_buf *plot)
{
    static const struct nl_plot_part legend[] = {{NULL, 0, NL_INK_compute},
                                                 {NULL, 0, NL_INK_comm},
                                                 {NULL, 0, NL_INK_copy},
                                                 {NULL, 0, NL_INK_idle}};
    size_t count = 0, shown = 0;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(memo, &count);
    for (size_t i = 0; i < count && shown < MAX_DEVICES; i++) {
        struct nl_device_breakdown row = nl_breakdown_shown(&rows[i]);
        const struct nl_plot_part parts[] = {{NULL, (double)row.compute_ns, NL_INK_compute},
                                             {NULL, (double)row.exposed_comm_ns, NL_INK_comm},
                                             {NULL, (double)row.exposed_copy_ns, NL_INK_copy},
                                             {NULL, (double)row.idle_ns, NL_INK_idle}};
        char label[64];
        if (row.wall_ns <= 0)
            continue;
        if (!shown++)
            begin_plot(out, "Where the time goes");
        if (row.rank == NL_NULL_I64)
            snprintf(label, sizeof label, "device %" PRId64, row.ordinal);
        else
            snprintf(label, sizeof label, "rank %" PRId64 " device %" PRId64, row.rank,
                     row.ordinal);
        nl_buf_format(plot, "%-20s ", label);
        nl_plot_stack(plot, parts, 4, WIDTH - 36, &style);
        nl_buf_text(plot, "  ");
        nl_plot_number(plot, (double)row.wall_ns, NL_MEANS_NS, &style);
        nl_buf_char(plot, '\n');
    }
    if (shown) {
        nl_plot_legend(plot, legend, 4, &style);
        end_plot(out, plot);
    }
}

static void plot_steps(FILE *out, struct nl_memo *memo, const struct nl_window *window,
                       struct nl_buf *plot)
{
    const struct nl_found_steps *found = nl_memo_steps(memo);
    double *lengths = nl_alloc(MAX_STEPS * sizeof *lengths);
    size_t count = 0;
    const struct nl_step_group *group = found->group_count ? &found->groups[0] : NULL;
    for (size_t i = 0; group && i < group->count && count < MAX_STEPS; i++) {
        const struct nl_found_step *step = &found->items[group->first + i];
        if (nl_step_in_window(group, step, window))
            lengths[count++] = (double)(step->end - step->start);
    }
    if (count >= 3) {
        struct nl_plot_series series = {NULL, NULL, lengths, count, NL_INK_compute};
        begin_plot(out, group->rank == NL_NULL_I64 ? "Step times" : "Step times of the first rank");
        nl_plot_lines(plot, &series, 1,
                      &(struct nl_plot_axis){.label = "step", .meaning = NL_MEANS_COUNT},
                      &(struct nl_plot_axis){.meaning = NL_MEANS_NS}, &style);
        end_plot(out, plot);
    }
    nl_free(lengths);
}

static double cell_number(const struct nl_cell *cell)
{
    return cell->type == NL_CELL_I64   ? (double)cell->i64
           : cell->type == NL_CELL_F64 ? cell->f64
                                       : NL_NULL_F64;
}

/* The first rows of a table as bars: texts of column `name`, values of column `number`. */
static void plot_bars(FILE *out, const struct nl_result *result, ptrdiff_t name, ptrdiff_t number,
                      enum nl_ink ink, struct nl_buf *plot)
{
    struct nl_plot_part parts[MAX_BARS];
    size_t count = 0;
    struct nl_arena arena;
    if (name < 0 || number < 0 || result->rows < 2)
        return;
    nl_arena_init(&arena);
    for (size_t row = 0; row < result->rows && count < MAX_BARS; row++) {
        const struct nl_cell *text = nl_result_cell(result, row, (size_t)name);
        const struct nl_cell *cell = nl_result_cell(result, row, (size_t)number);
        double value = cell_number(cell);
        if (text->type == NL_CELL_TEXT && value >= 0 && isfinite(value)) {
            struct nl_str shorter = nl_short_kernel(text->text);
            parts[count++] =
                (struct nl_plot_part){nl_arena_text(&arena, shorter.ptr, shorter.len), value, ink};
        }
    }
    if (count > 1) {
        begin_plot(out, result->title);
        for (size_t i = 0; i < count; i++) /* no name ends the block of code */
            for (char *at = strchr((char *)(uintptr_t)parts[i].name, '`'); at; at = strchr(at, '`'))
                *at = '\'';
        nl_plot_bars(plot, parts, count, result->columns[number].meaning, &style);
        end_plot(out, plot);
    }
    nl_arena_free(&arena);
}

static void plot_table(FILE *out, const struct nl_report *report, const char *table,
                       const char *name, enum nl_ink ink, struct nl_buf *plot)
{
    const struct nl_result *result = nl_report_result(report, table);
    if (result)
        plot_bars(out, result, nl_lookup_column(result, name), nl_lookup_column(result, "total_ns"),
                  ink, plot);
}

/* ---- what a template adds ---- */

/* The first column whose cells in the first row are texts (`text`), or numbers. */
static ptrdiff_t first_column(const struct nl_result *result, bool text)
{
    for (size_t i = 0; result->rows && i < result->column_count; i++) {
        enum nl_cell_type type = nl_result_cell(result, 0, i)->type;
        if (text ? type == NL_CELL_TEXT : type == NL_CELL_I64 || type == NL_CELL_F64)
            return (ptrdiff_t)i;
    }
    return -1;
}

static bool put_template_sections(FILE *out, const struct nl_profile *profile,
                                  const struct nl_report *report,
                                  const struct nl_template *template,
                                  const struct nl_view_options *options, struct nl_buf *plot,
                                  struct nl_err *err)
{
    bool done = true;
    if (template && template->front)
        fprintf(out, "\n%s\n", template->front); /* the user's own Markdown */
    for (size_t i = 0; done && template && i < report->result_count; i++) {
        const struct nl_result *result = report->results[i];
        const struct nl_template_section *section = nl_template_section(template, result);
        if (!section)
            continue;
        if (section->bars)
            plot_bars(out, result, first_column(result, true), first_column(result, false),
                      NL_INK_compute, plot);
        putc('\n', out);
        done = nl_view_md.render_result(out, profile, result, options, err);
        if (section->text)
            fprintf(out, "\n%s\n", section->text);
    }
    return done;
}

static bool put_tables(FILE *out, const struct nl_profile *profile, const struct nl_report *report,
                       const struct nl_template *template, const struct nl_view_options *options,
                       struct nl_err *err)
{
    bool done = true;
    for (size_t i = 0; done && i < report->result_count; i++) {
        const struct nl_result *result = report->results[i];
        if (!result->rows || nl_view_is_series(result) || nl_template_section(template, result) ||
            nl_template_hides(template, "tables") || nl_template_hides(template, result->name))
            continue;
        putc('\n', out);
        done = nl_view_md.render_result(out, profile, result, options, err);
    }
    if (done && profile->coverage->rows && !nl_template_hides(template, "coverage")) {
        putc('\n', out);
        done = nl_view_md.render_result(out, profile, profile->coverage, options, err);
    }
    return done;
}

bool nl_page_markdown(FILE *out, const struct nl_trace *trace, const struct nl_profile *profile,
                      const struct nl_report *report, const struct nl_view_options *view,
                      const struct nl_template *template, struct nl_err *err)
{
    struct nl_view_options options = *view;
    struct nl_report answer = *report;
    struct nl_profile bare = *profile;
    struct nl_result *none = nl_result_new("coverage", "Coverage", NULL, 0);
    struct nl_memo *memo = nl_memo_new(trace, &profile->window);
    struct nl_buf plot;
    nl_buf_init(&plot, (size_t)1 << 22);
    answer.result_count = 0;
    bare.coverage = none;
    bool done = nl_view_md.render_report(out, &bare, &answer, &options, err);
    options.rows = view->rows ? view->rows : 12;
    done = done && put_template_sections(out, profile, report, template, &options, &plot, err);
    if (!nl_template_hides(template, "time"))
        plot_devices(out, memo, &plot);
    if (!nl_template_hides(template, "steps"))
        plot_steps(out, memo, &profile->window, &plot);
    if (!nl_template_hides(template, "kernels"))
        plot_table(out, report, "kernels", "name", NL_INK_compute, &plot);
    if (!nl_template_hides(template, "idle"))
        plot_table(out, report, "idle_causes", "name", NL_INK_idle, &plot);
    done = done && put_tables(out, profile, report, template, &options, err);
    nl_buf_release(&plot);
    nl_memo_free(memo);
    nl_result_free(none);
    return done && nl_view_finish(out, err);
}
