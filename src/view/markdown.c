/*
 * markdown — answers as GitHub-flavoured Markdown: a document for an issue, a wiki or a mail.
 */
#include "view/celltext.h"
#include "view/distinct.h"
#include "view/findings.h"
#include "view/viewfinish.h"
#include "view/grid.h"
#include "view/rowgroups.h"
#include "view/rooflineplot.h"
#include "view/view.h"

#define REPORT_ROWS 12
#define NAME_WIDTH  100 /* longer names lose their middle, unless `all` */
#define CELL_BYTES  ((size_t)1 << 20)

/* Text that means nothing to Markdown: the characters that could start markup are escaped. */
static void put_escaped(FILE *out, struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '|':
        case '*':
        case '_':
        case '`':
        case '[':
        case ']':
        case '#':
        case '~':
        case '\\':
            putc('\\', out);
            putc(text.ptr[i], out);
            break;
        default: putc(text.ptr[i], out);
        }
    }
}

/* The texts of a column, cut unless `whole`, so that different ones stay
 * different; in the arena. */
static struct nl_str *column_texts(const struct nl_result *result, size_t column, size_t rows,
                                   bool whole, struct nl_arena *arena)
{
    struct nl_str *texts = nl_arena_alloc(arena, (rows + 1) * sizeof *texts);
    struct nl_buf text;
    nl_buf_init(&text, CELL_BYTES);
    for (size_t row = 0; row < rows; row++) {
        const struct nl_result_column shown = nl_celltext_column(result, row, column);
        nl_buf_clear(&text);
        nl_celltext_eyes(&text, &shown, nl_result_cell(result, row, column));
        texts[row].ptr = nl_arena_text(arena, text.len ? text.ptr : "", text.len);
        texts[row].len = text.len;
    }
    nl_buf_release(&text);
    if (!whole && !nl_celltext_is_number(result, column))
        nl_distinct(texts, rows, NAME_WIDTH, arena);
    return texts;
}

static void put_cell(FILE *out, struct nl_str text, bool whole)
{
    struct nl_buf cut;
    nl_buf_init(&cut, CELL_BYTES);
    nl_celltext_elide(&cut, text, whole ? SIZE_MAX : NAME_WIDTH);
    put_escaped(out, (struct nl_str){cut.ptr, cut.len});
    nl_buf_release(&cut);
}

static void put_rows(FILE *out, const struct nl_result *result, size_t rows, bool whole)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    struct nl_str **columns = nl_arena_alloc(&arena, (result->column_count + 1) * sizeof *columns);
    for (size_t column = 0; column < result->column_count; column++)
        columns[column] = column_texts(result, column, rows, whole, &arena);
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < result->column_count; column++) {
            fputs("| ", out);
            put_cell(out, columns[column][row], whole);
            putc(' ', out);
        }
        fputs("|\n", out);
    }
    nl_arena_free(&arena);
}

static void put_table(FILE *out, const struct nl_result *all, size_t rows, bool whole)
{
    struct nl_rowgroups groups;
    nl_rowgroups_init(&groups, all, rows);
    const struct nl_result *result = &groups.shown;
    for (size_t column = 0; column < result->column_count; column++) {
        fputs("| ", out);
        put_escaped(out, nl_str(nl_grid_heading(&result->columns[column])));
        putc(' ', out);
    }
    fputs("|\n", out);
    for (size_t column = 0; column < result->column_count; column++)
        fputs(nl_celltext_is_number(result, column) ? "|---:" : "|---", out);
    fputs("|\n", out);
    size_t shown = rows < result->rows && groups.count < 2 ? rows : result->rows;
    put_rows(out, result, shown, whole);
    if (shown < all->rows)
        fprintf(out, "\n%zu more rows are left out.\n", all->rows - shown);
    if (result->note) {
        putc('\n', out);
        put_escaped(out, nl_str(result->note));
        putc('\n', out);
    }
    nl_rowgroups_release(&groups);
}

static bool render_result(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err)
{
    (void)profile;
    if (result->title && *result->title)
        fprintf(out, "## %s\n\n", result->title);
    put_table(out, result, options->rows && !options->all ? options->rows : SIZE_MAX, options->all);
    return nl_view_finish(out, err);
}

/* The picture as a block of code. */
static void put_roofline(FILE *out, const struct nl_result *result)
{
    struct nl_buf plot;
    nl_buf_init(&plot, CELL_BYTES);
    nl_rooflineplot_table(&plot, result, &(struct nl_plot_style){.width = 100});
    if (plot.len)
        fprintf(out, "```\n%.*s```\n\n", (int)plot.len, plot.ptr);
    nl_buf_release(&plot);
}

static void put_section(FILE *out, const struct nl_result *result, size_t rows,
                        const struct nl_view_options *options)
{
    if ((!result->rows || nl_view_is_series(result)) && !options->all && !options->section)
        return;
    fprintf(out, "\n## %s\n\n", result->title);
    if (options->section && !strcmp(result->name, "roofline"))
        put_roofline(out, result);
    if (result->rows)
        put_table(out, result, rows, options->all);
    else
        fprintf(out, "Nothing%s%s.\n", result->note ? ": " : "", result->note ? result->note : "");
}

static void put_files(FILE *out, const struct nl_profile *profile, const char *letter)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    const struct nl_str *names =
        column_texts(profile->files, 0, profile->files->rows, true, &arena);
    fprintf(out, "%s:", letter);
    for (size_t row = 0; row < profile->files->rows; row++) {
        fputs(row ? ", " : " ", out);
        put_cell(out, names[row], true);
    }
    putc('\n', out);
    nl_arena_free(&arena);
}

static void put_findings(FILE *out, const struct nl_findings *findings,
                         const struct nl_view_options *options)
{
    struct nl_buf text;
    bool asked = options->section != NULL;
    nl_buf_init(&text, (size_t)1 << 26);
    nl_findings_markdown(&text, findings, options->all || (asked && !findings->count), options);
    if (!text.len && asked)
        nl_buf_text(&text, "\nNothing found.\n");
    if (text.len)
        fwrite(text.ptr, 1, text.len, out);
    nl_buf_release(&text);
}

static bool render_report(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err)
{
    size_t rows = options->all ? SIZE_MAX : options->rows ? options->rows : REPORT_ROWS;
    fprintf(out, "# %s\n\n", report->title);
    for (size_t i = 0; i < report->headline_count; i++) {
        struct nl_buf safe;
        nl_buf_init(&safe, CELL_BYTES);
        nl_celltext_safe(&safe, nl_str(report->headlines[i]));
        fputs("- ", out);
        put_escaped(out, (struct nl_str){safe.ptr, safe.len});
        putc('\n', out);
        nl_buf_release(&safe);
    }
    if (report->headline_count)
        putc('\n', out);
    if (options->base) {
        put_files(out, options->base, "A");
        putc('\n', out);
    }
    if (profile)
        put_files(out, profile, options->base ? "B" : "Profile");
    if (report->findings)
        put_findings(out, report->findings, options);
    for (size_t i = 0; i < report->result_count; i++)
        put_section(out, report->results[i], rows, options);
    if (options->base && !options->section)
        put_section(out, options->base->coverage, rows, options);
    if (profile && !options->section)
        put_section(out, profile->coverage, rows, options);
    return nl_view_finish(out, err);
}

const struct nl_view nl_view_md = {
    .name = "md",
    .folds = true,
    .render_result = render_result,
    .render_report = render_report,
    .doc = "Markdown tables",
};
