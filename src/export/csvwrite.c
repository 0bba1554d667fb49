/*
 * CSV: a file per table, as RFC 4180 has it, with a header row. Unknown is an empty field; numbers
 * are exact. Times are in ns from the first event, as in SQL.
 */
#include <stdlib.h>
#include <string.h>

#include "base/shortest.h"
#include "export/jsonbytes.h"
#include "export/ordered.h"
#include "export/tableview.h"
#include "export/tableset.h"

#define PIECE_ROWS 16384

static void put_f64(struct bytes *out, double value)
{
    char text[NL_UNIT_TEXT];
    if (value >= -1e15 && value <= 1e15 && value == (double)(int64_t)value) {
        json_i64(out, (int64_t)value);
        return;
    }
    nl_format_shortest(text, value);
    bytes_add(out, text, strlen(text));
}

static bool needs_quotes(struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r')
            return true;
    }
    return text.len == 0;
}

/* With --csv-safe a text that a spreadsheet would take for a formula begins with an apostrophe. */
static void put_csv_text(struct bytes *out, struct nl_str text, bool safe)
{
    bool formula = safe && text.len && strchr("=+-@\t\r\n", text.ptr[0]);
    if (formula && !needs_quotes(text))
        bytes_u8(out, '\'');
    if (!needs_quotes(text)) {
        bytes_utf8(out, text);
        return;
    }
    bytes_u8(out, '"');
    if (formula)
        bytes_u8(out, '\'');
    for (size_t start = 0, i = 0; i <= text.len; i++)
        if (i == text.len || text.ptr[i] == '"') {
            bytes_utf8(out, (struct nl_str){text.ptr + start, i - start});
            if (i < text.len)
                bytes_add(out, "\"\"", 2);
            start = i + 1;
        }
    bytes_u8(out, '"');
}

static void put_csv_value(struct bytes *out, struct nl_buf *room, const struct nl_table_view *view,
                          const struct nl_view_column *column, uint32_t i)
{
    union nl_view_cell value;
    if (!nl_view_value(view, column, i, &value))
        return;
    switch (column->form) {
    case NL_FORM_I64: json_i64(out, value.i64); break;
    case NL_FORM_U64:
    case NL_FORM_U32:
    case NL_FORM_U16:
    case NL_FORM_U8: json_u64(out, value.u64); break;
    case NL_FORM_F64: put_f64(out, value.f64); break;
    case NL_FORM_NAME:
        nl_buf_clear(room);
        put_csv_text(out, nl_trace_text(view->export->trace, value.name, room),
                     view->export->csv_safe);
        break;
    case NL_FORM_WORD: put_csv_text(out, nl_str(value.text), view->export->csv_safe); break;
    case NL_FORM_TEXT: put_csv_text(out, value.str, view->export->csv_safe); break;
    }
}

static void render_rows(const void *context, size_t piece, struct bytes *out)
{
    const struct nl_table_view *view = context;
    struct nl_buf room;
    nl_buf_init(&room, NL_MAX_FILLED);
    size_t first = piece * PIECE_ROWS, left = view->row_count - first;
    for (size_t i = 0; i < left && i < PIECE_ROWS; i++)
        for (unsigned c = 0; c < view->count; c++) {
            put_csv_value(out, &room, view, &view->columns[c], (uint32_t)(first + i));
            if (c + 1 < view->count)
                bytes_u8(out, ',');
            else
                bytes_add(out, "\r\n", 2);
        }
    nl_buf_release(&room);
}

static bool write_csv(const struct nl_export *export, const struct nl_table_view *view, FILE *out,
                      struct nl_err *err)
{
    for (unsigned c = 0; c < view->count; c++)
        fprintf(out, "%s%s", view->columns[c].name, c + 1 < view->count ? "," : "\r\n");
    return nl_write_ordered(export, out, (view->row_count + (size_t)PIECE_ROWS - 1) / PIECE_ROWS,
                            render_rows, view, err);
}

bool nl_export_csv(struct nl_export *export, struct nl_err *err)
{
    static const struct nl_table_format format = {".csv", write_csv};
    return nl_write_tables(export, &format, err);
}
