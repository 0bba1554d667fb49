/*
 * text — answers for eyes: the sentences first, then tables that fit the screen. Free to change;
 * scripts read json or csv.
 */
#include "view/brief.h"
#include "view/celltext.h"
#include "view/findings.h"
#include "view/viewfinish.h"
#include "view/grid.h"
#include "view/rowgroups.h"
#include "view/notes.h"
#include "view/rooflineplot.h"
#include "view/partition.h"
#include "view/view.h"
#include "base/units.h"
#include "tables/lookup.h"

#define DEFAULT_WIDTH 100
#define REPORT_ROWS   12
#define NOTE_ROWS     20
#define PAGE_BYTES    ((size_t)1 << 31)
#define MAX_PARTS     16

#define BOLD          "\033[1m"
#define DIM           "\033[2m"
#define PLAIN         "\033[0m"
#define SLOWER_COLOUR "\033[31m"
#define FASTER_COLOUR "\033[32m"

struct page {
    FILE *out;
    const struct nl_view_options *options;
    size_t width, files;
    struct nl_buf line;
};

static void page_open(struct page *page, FILE *out, const struct nl_profile *profile,
                      const struct nl_view_options *options)
{
    *page = (struct page){.out = out,
                          .options = options,
                          .width = options->width ? options->width : DEFAULT_WIDTH,
                          .files = profile ? profile->file_count : 1};
    nl_buf_init(&page->line, PAGE_BYTES);
}

static bool page_close(struct page *page, struct nl_err *err)
{
    nl_buf_release(&page->line);
    return nl_view_finish(page->out, err);
}

/* Writes the collected text and starts anew. */
static void flush(struct page *page, const char *style)
{
    bool styled = style && page->options->color;
    if (styled)
        fputs(style, page->out);
    if (page->line.len)
        fwrite(page->line.ptr, 1, page->line.len, page->out);
    if (styled)
        fputs(PLAIN, page->out);
    nl_buf_clear(&page->line);
}

static void put_line(struct page *page, const char *style)
{
    flush(page, style);
    putc('\n', page->out);
}

/* Writes the collected text as lines that fit, further ones indented. */
static void put_wrapped(struct page *page, const char *style)
{
    struct nl_buf wrapped;
    nl_buf_init(&wrapped, PAGE_BYTES);
    nl_notes_wrap(&wrapped, (struct nl_str){page->line.ptr, page->line.len}, page->width, 2);
    nl_buf_clear(&page->line);
    nl_buf_add(&page->line, wrapped.ptr, wrapped.len);
    nl_buf_release(&wrapped);
    flush(page, style);
}

static void put_title(struct page *page, const char *title)
{
    size_t wide = nl_celltext_width(nl_str(title));
    nl_buf_text(&page->line, title);
    put_line(page, BOLD);
    for (size_t i = 0; i < wide; i++)
        nl_buf_text(&page->line, "─");
    put_line(page, DIM);
}

/* Below a table: rows and columns left out, and the result's own note. `skip`
 * was left out on purpose. */
static void put_rest(struct page *page, const struct nl_result *result, const struct nl_grid *grid,
                     const bool *skip)
{
    char count[NL_UNIT_TEXT];
    size_t hidden = 0;
    if (grid->rows < result->rows)
        nl_buf_format(&page->line, "… %s more rows (--all)",
                      nl_format_count(count, result->rows - grid->rows));
    for (size_t i = 0; i < grid->column_count; i++) {
        if (grid->columns[i].shown || (skip && skip[grid->columns[i].source]))
            continue;
        nl_buf_text(&page->line, hidden++         ? ", "
                                 : page->line.len ? "; hidden at this width: "
                                                  : "hidden at this width: ");
        nl_buf_text(&page->line, nl_grid_heading(&result->columns[grid->columns[i].source]));
    }
    if (page->line.len)
        put_line(page, DIM);
    if (result->note) {
        nl_notes_wrap(&page->line, nl_str(result->note), page->width, 0);
        flush(page, DIM);
    }
}

/* Whether nothing but zeros was measured: then a table's note says more than the table. */
static bool is_all_zero(const struct nl_result *result)
{
    for (size_t row = 0; row < result->rows; row++)
        for (size_t column = 0; column < result->column_count; column++) {
            const struct nl_cell *cell = nl_result_cell(result, row, column);
            bool id = result->columns[column].meaning == NL_MEANS_INTEGER;
            if (cell->type == NL_CELL_TEXT || (cell->type == NL_CELL_F64 && cell->f64 != 0) ||
                (cell->type == NL_CELL_I64 && cell->i64 != 0 && !id))
                return false;
        }
    return true;
}

/* What got longer and what got shorter; the sign says the same. */
static const char *row_style(const struct nl_result *result, size_t row)
{
    for (size_t column = 0; column < result->column_count; column++) {
        const struct nl_cell *cell = nl_result_cell(result, row, column);
        if (result->columns[column].meaning != NL_MEANS_CHANGE_NS || cell->type != NL_CELL_I64)
            continue;
        return cell->i64 > 0 ? SLOWER_COLOUR : cell->i64 < 0 ? FASTER_COLOUR : DIM;
    }
    return NULL;
}

static void put_table(struct page *page, const struct nl_result *result, size_t rows,
                      const bool *skip)
{
    struct nl_grid grid;
    bool every = page->options->every_column;
    nl_grid_init(&grid, result, rows, every ? 0 : page->width, every || page->options->all, skip);
    nl_grid_head(&page->line, &grid);
    put_line(page, DIM);
    for (size_t row = 0; row < grid.rows; row++) {
        nl_grid_line(&page->line, &grid, row);
        put_line(page, row_style(result, row));
    }
    put_rest(page, result, &grid, skip);
    nl_grid_release(&grid);
}

/* The same with a line above each group that says what its rows have in common. */
static void put_groups(struct page *page, const struct nl_result *result,
                       const struct nl_rowgroups *groups)
{
    struct nl_grid grid;
    bool *skip = nl_zalloc(result->column_count * sizeof *skip);
    skip[groups->column] = true;
    nl_grid_init(&grid, &groups->shown, groups->shown.rows, page->width, page->options->all, skip);
    nl_grid_head(&page->line, &grid);
    put_line(page, DIM);
    for (size_t row = 0; row < grid.rows; row++) {
        const struct nl_cell *name = nl_result_cell(&groups->shown, row, groups->column);
        if (nl_rowgroups_begins(groups, row)) {
            nl_buf_text(&page->line, "— ");
            nl_celltext_safe(&page->line,
                             name->type == NL_CELL_TEXT ? name->text : nl_str("(not told)"));
            put_line(page, BOLD);
        }
        nl_grid_line(&page->line, &grid, row);
        put_line(page, NULL);
    }
    put_rest(page, result, &grid, skip);
    nl_grid_release(&grid);
    nl_free(skip);
}

static void put_partition(struct page *page, const struct nl_result *result, size_t rows)
{
    if (result->rows > NL_PARTITION_ROWS) {
        bool *skip = nl_zalloc(result->column_count * sizeof *skip);
        nl_partition_skip(result, skip);
        put_table(page, result, rows, skip);
        nl_free(skip);
        return;
    }
    for (size_t row = 0; row < result->rows; row++)
        nl_partition_block(&page->line, result, row, page->width);
    if (result->note)
        nl_notes_wrap(&page->line, nl_str(result->note), page->width, 0);
    flush(page, NULL);
}

/* The body of a result in the form that suits it. */
static void put_result(struct page *page, const struct nl_result *result, size_t rows)
{
    if (nl_partition_is(result)) {
        put_partition(page, result, rows);
    } else if (!strcmp(result->name, "missing")) {
        nl_notes_missing(&page->line, result, page->width);
        flush(page, NULL);
    } else if (!strcmp(result->name, "next")) {
        nl_notes_next(&page->line, result, page->width);
        flush(page, NULL);
    } else if (!strcmp(result->name, "coverage")) {
        nl_notes_coverage(&page->line, result, page->width, rows, page->files);
        flush(page, NULL);
    } else if (result->note && !page->options->all && is_all_zero(result)) {
        nl_notes_wrap(&page->line, nl_str(result->note), page->width, 0);
        flush(page, NULL);
    } else {
        struct nl_rowgroups groups;
        nl_rowgroups_init(&groups, result, rows);
        if (groups.count > 1)
            put_groups(page, result, &groups);
        else
            put_table(page, result, rows, NULL);
        nl_rowgroups_release(&groups);
    }
}

static void add_joined(struct nl_buf *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nl_buf_text(out, i ? ", " : " · ");
        nl_celltext_safe(out, nl_str(texts[i]));
    }
}

/* "trace.json · kineto · 2 ranks · 12,345 events · 435.6 ms", after its letter in a comparison. */
static void put_profile(struct page *page, const struct nl_profile *profile, const char *letter)
{
    char text[NL_UNIT_TEXT];
    struct nl_buf *line = &page->line;
    if (letter)
        nl_buf_format(line, "%s: ", letter);
    if (profile->file_count == 1)
        nl_celltext_safe(line, nl_result_cell(profile->files, 0, 0)->type == NL_CELL_TEXT
                                   ? nl_result_cell(profile->files, 0, 0)->text
                                   : nl_str("(unnamed)"));
    else
        nl_buf_format(line, "%u %s", profile->file_count, nl_profile_files_word(profile));
    add_joined(line, profile->formats, profile->format_count);
    add_joined(line, profile->tools, profile->tool_count);
    if (profile->rank_count)
        nl_buf_format(line, profile->rank_count == 1 ? " · rank %lld" : " · %lld ranks",
                      profile->rank_count == 1 ? (long long)profile->ranks[0]
                                               : (long long)profile->rank_count);
    const struct nl_contents *most = &profile->contents;
    if (most->count)
        nl_buf_format(line, " · %s %s", nl_format_count(text, most->count),
                      most->count == 1 ? most->one : most->many);
    if (most->span_ns)
        nl_buf_format(line, " · %s", nl_format_ns(text, most->span_ns));
    put_wrapped(page, DIM);
    nl_profile_put_window(profile, line);
    if (line->len)
        put_line(page, DIM);
}

static bool render_result(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct page page;
    page_open(&page, out, profile, options);
    if (result->title && *result->title)
        put_title(&page, result->title);
    put_result(&page, result, options->rows && !options->all ? options->rows : SIZE_MAX);
    return page_close(&page, err);
}

/* The change of each part of the time, one beginning where the one before
 * ended: what A and B differ by. */
static void put_change(struct page *page, const struct nl_result *result,
                       const struct nl_plot_style *style)
{
    struct nl_plot_part parts[MAX_PARTS];
    size_t count = 0;
    for (size_t row = 0; row < result->rows && count < MAX_PARTS; row++) {
        int64_t change = nl_lookup_i64(result, row, "change_ns");
        if (change == INT64_MIN || change == 0)
            continue;
        parts[count++] =
            (struct nl_plot_part){nl_lookup_text(result, row, "part").ptr, (double)change,
                                  change > 0 ? NL_INK_bad : NL_INK_good};
    }
    if (count > 1)
        nl_plot_waterfall(&page->line, NULL, 0, parts, count, "change", NL_MEANS_CHANGE_NS, style);
}

/* Above the table: of what a change is made of, and of a roofline that was asked for. */
static void put_plot(struct page *page, const struct nl_result *result)
{
    const struct nl_view_options *options = page->options;
    struct nl_plot_style style = {.width = (unsigned)page->width,
                                  .height = nl_view_plot_height(options->height),
                                  .ascii = options->ascii,
                                  .color = options->color};
    if (strcmp(result->name, "parts") == 0)
        put_change(page, result, &style);
    else if (options->section && strcmp(result->name, "roofline") == 0)
        nl_rooflineplot_table(&page->line, result, &style);
    if (page->line.len)
        put_line(page, NULL);
}

static void put_section(struct page *page, const struct nl_result *result, size_t rows)
{
    if ((!result->rows || nl_view_is_series(result)) && !page->options->all &&
        !page->options->section)
        return;
    putc('\n', page->out);
    put_title(page, result->title);
    put_plot(page, result);
    if (result->rows)
        put_result(page, result, rows);
    else
        fprintf(page->out, "(nothing%s%s)\n", result->note ? ": " : "",
                result->note ? result->note : "");
}

static void put_findings(struct page *page, const struct nl_findings *findings)
{
    bool asked = page->options->section != NULL;
    nl_findings_text(&page->line, findings, page->width,
                     page->options->all || (asked && !findings->count), page->options);
    if (!page->line.len && asked)
        nl_buf_text(&page->line, "(nothing found)\n");
    if (!page->line.len)
        return;
    putc('\n', page->out);
    struct nl_buf body = page->line;
    nl_buf_init(&page->line, PAGE_BYTES);
    put_title(page, "Findings");
    nl_buf_release(&page->line);
    page->line = body;
    flush(page, NULL);
}

/* `gate`: A is what B is compared with; else A is what was before. */
static void put_profiles(struct page *page, const struct nl_profile *profile, bool gate)
{
    const struct nl_profile *base = page->options->base;
    if (base)
        put_profile(page, base, gate ? "A (baseline)" : "A (before)");
    if (profile)
        put_profile(page, profile, !base ? NULL : gate ? "B (new)" : "B (after)");
}

static void put_coverage(struct page *page, const struct nl_profile *profile)
{
    if (profile && !page->options->section)
        put_section(page, profile->coverage, page->options->all ? SIZE_MAX : NOTE_ROWS);
}

static bool render_report(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct page page;
    size_t rows = options->all ? SIZE_MAX : options->rows ? options->rows : REPORT_ROWS;
    page_open(&page, out, profile, options);
    if (options->brief && report->verdict && profile && !options->section && !options->all) {
        nl_brief_page(&page.line, profile, report, options);
        flush(&page, NULL);
        return page_close(&page, err);
    }
    for (size_t i = 0; i < report->headline_count; i++) {
        nl_celltext_safe(&page.line, nl_str(report->headlines[i]));
        put_wrapped(&page, i ? NULL : BOLD);
    }
    put_profiles(&page, profile, strcmp(report->name, "check") == 0);
    if (report->findings)
        put_findings(&page, report->findings);
    for (size_t i = 0; i < report->result_count; i++)
        put_section(&page, report->results[i], rows);
    put_coverage(&page, options->base);
    put_coverage(&page, profile);
    return page_close(&page, err);
}

const struct nl_view nl_view_text = {
    .name = "text",
    .folds = true,
    .render_result = render_result,
    .render_report = render_report,
    .doc = "tables and bars for a screen",
};
