/*
 * csv — one result as RFC 4180: a header row, fields with commas, quotes or line breaks in quotes,
 * unknown as an empty field. Lines end in LF, as Unix tools expect.
 */
#include "view/celltext.h"
#include "view/finish.h"
#include "view/view.h"

#define FIELD_MAX ((size_t)1 << 30)

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

static bool render_result(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct nl_buf field;
    (void)profile;
    (void)options;
    nl_buf_init(&field, FIELD_MAX);
    for (size_t column = 0; column < result->column_count; column++) {
        if (column)
            putc(',', out);
        put_field(out, nl_str(result->columns[column].name));
    }
    putc('\n', out);
    for (size_t row = 0; row < result->rows && !ferror(out); row++) {
        for (size_t column = 0; column < result->column_count; column++) {
            nl_buf_clear(&field);
            nl_celltext_plain(&field, &result->columns[column],
                              nl_result_cell(result, row, column));
            if (column)
                putc(',', out);
            put_field(out, (struct nl_str){field.ptr, field.len});
        }
        putc('\n', out);
    }
    nl_buf_release(&field);
    return nl_view_finish(out, err);
}

/* The section asked for; else the kernels, else the first that has rows. */
static const struct nl_result *choose(const struct nl_report *report, const char *section)
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

static bool render_report(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err)
{
    const struct nl_result *result = choose(report, options->section);
    if (!result)
        return nl_fail(err, NL_USAGE, "%s are no table; use --format text, json or md",
                       options->section ? options->section : "reports");
    return render_result(out, profile, result, options, err);
}

const struct nl_view nl_view_csv = {
    .name = "csv",
    .render_result = render_result,
    .render_report = render_report,
    .doc = "one table with a header row, RFC 4180 quoting, plain numbers",
};
