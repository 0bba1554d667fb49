/*
 * csv — one result as RFC 4180: a header row, fields with commas, quotes or line breaks in quotes,
 * unknown as an empty field. Lines end in LF, as Unix tools expect. Texts are written as they are,
 * but for terminals and (--csv-safe) for spreadsheets.
 */
#include <string.h>

#include "view/celltext.h"
#include "view/viewfinish.h"
#include "view/view.h"

#define MAX_FIELD ((size_t)1 << 30)

static void put_field(FILE *out, struct nl_str text)
{
    bool quote = false;
    for (size_t i = 0; i < text.len && !quote; i++)
        quote = strchr(",\"\r\n", text.ptr[i]) != NULL;
    if (!text.len)
        return;
    if (!quote) {
        fwrite(text.ptr, 1, text.len, out);
        return;
    }
    putc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            putc('"', out);
        putc(text.ptr[i], out);
    }
    putc('"', out);
}

/* How texts are written. */
enum texts {
    AS_THEY_ARE,
    FOR_TERMINALS, /* nothing that steers one */
    FOR_SHEETS,    /* nor what a spreadsheet takes for a formula */
};

static void put_csv_text(FILE *out, struct nl_str text, enum texts how)
{
    struct nl_buf safe;
    if (how == AS_THEY_ARE || !text.len) {
        put_field(out, text);
        return;
    }
    nl_buf_init(&safe, MAX_FIELD);
    if (how == FOR_SHEETS && strchr("=+-@\t\r\n", text.ptr[0]))
        nl_buf_char(&safe, '\'');
    nl_celltext_safe(&safe, text);
    put_field(out, (struct nl_str){safe.ptr, safe.len});
    nl_buf_release(&safe);
}

static bool write_result(FILE *out, const struct nl_result *result, enum texts how,
                         struct nl_err *err)
{
    struct nl_buf field;
    nl_buf_init(&field, MAX_FIELD);
    for (size_t column = 0; column < result->column_count; column++) {
        if (column)
            putc(',', out);
        put_csv_text(out, nl_str(result->columns[column].name), how);
    }
    putc('\n', out);
    for (size_t row = 0; row < result->rows && !ferror(out); row++) {
        for (size_t column = 0; column < result->column_count; column++) {
            nl_buf_clear(&field);
            const struct nl_cell *cell = nl_result_cell(result, row, column);
            nl_celltext_plain(&field, &result->columns[column], cell);
            if (column)
                putc(',', out);
            put_csv_text(out, (struct nl_str){field.ptr, field.len},
                         cell->type == NL_CELL_TEXT ? how : AS_THEY_ARE);
        }
        putc('\n', out);
    }
    nl_buf_release(&field);
    return nl_view_finish(out, err);
}

/* The section asked for; else the kernels, else the first that has rows. */
static const struct nl_result *choose_table(const struct nl_report *report, const char *section)
{
    if (section)
        return nl_report_result(report, section);
    const struct nl_result *kernels = nl_report_result(report, "kernels");
    if (kernels && kernels->rows)
        return kernels;
    for (size_t i = 0; i < report->result_count; i++)
        if (report->results[i]->rows)
            return report->results[i];
    return report->result_count ? report->results[0] : NULL;
}

static bool write_report(FILE *out, const struct nl_report *report,
                         const struct nl_view_options *options, enum texts how, struct nl_err *err)
{
    const struct nl_result *result = choose_table(report, options->section);
    if (!result)
        return nl_fail(err, NL_USAGE,
                       "%s cannot be shown as one table; use --format text, json or md",
                       options->section ? options->section : "reports");
    return write_result(out, result, how, err);
}

#define VIEW(id, how, text)                                                                        \
    static bool id##_result(FILE *out, const struct nl_profile *profile,                           \
                            const struct nl_result *result, const struct nl_view_options *options, \
                            struct nl_err *err)                                                    \
    {                                                                                              \
        (void)profile;                                                                             \
        (void)options;                                                                             \
        return write_result(out, result, how, err);                                                \
    }                                                                                              \
    static bool id##_report(FILE *out, const struct nl_profile *profile,                           \
                            const struct nl_report *report, const struct nl_view_options *options, \
                            struct nl_err *err)                                                    \
    {                                                                                              \
        (void)profile;                                                                             \
        return write_report(out, report, options, how, err);                                       \
    }                                                                                              \
    const struct nl_view nl_view_##id = {                                                          \
        .name = "csv", .render_result = id##_result, .render_report = id##_report, .doc = text}

VIEW(csv, AS_THEY_ARE, "one table with a header row, RFC 4180 quoting, plain numbers");
VIEW(csv_terminal, FOR_TERMINALS, "the same without characters that steer a terminal");
VIEW(csv_sheet, FOR_SHEETS, "the same without what a spreadsheet takes for a formula");
