/* notes — see notes.h. */
#include "view/notes.h"

#include "analyze/lookup.h"
#include "base/units.h"
#include "view/celltext.h"

#define NOTE_BYTES 65536

void nl_notes_wrap(struct nl_buf *out, struct nl_str text, size_t width, size_t indent)
{
    size_t at = 0, column = 0;
    while (at < text.len) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != ' ')
            end++;
        struct nl_str word = {text.ptr + at, end - at};
        size_t wide = nl_celltext_width(word);
        if (column > indent && column + 1 + wide > width) {
            nl_buf_char(out, '\n');
            for (size_t i = 0; i < indent; i++)
                nl_buf_char(out, ' ');
            column = indent;
        } else if (at) {
            nl_buf_char(out, ' ');
            column++;
        }
        nl_buf_add(out, word.ptr, word.len);
        column += wide;
        at = end + 1;
    }
    nl_buf_char(out, '\n');
}

static void put_text(struct nl_buf *out, const struct nl_result *result, size_t row,
                     const char *column)
{
    nl_celltext_safe(out, nl_lookup_text(result, row, column));
}

void nl_notes_missing(struct nl_buf *out, const struct nl_result *missing, size_t width)
{
    for (size_t row = 0; row < missing->rows; row++) {
        struct nl_buf line;
        nl_buf_init(&line, NOTE_BYTES);
        nl_buf_text(&line, "• ");
        put_text(&line, missing, row, "missing");
        nl_buf_text(&line, " (no answer: ");
        put_text(&line, missing, row, "answers");
        nl_buf_text(&line, "). Record with ");
        put_text(&line, missing, row, "record");
        nl_notes_wrap(out, (struct nl_str){line.ptr, line.len}, width, 2);
        nl_buf_release(&line);
    }
}

void nl_notes_coverage(struct nl_buf *out, const struct nl_result *coverage, size_t width,
                       size_t rows, size_t files)
{
    size_t shown = rows && rows < coverage->rows ? rows : coverage->rows;
    for (size_t row = 0; row < shown; row++) {
        char count[NL_UNIT_TEXT];
        struct nl_buf line;
        nl_buf_init(&line, NOTE_BYTES);
        nl_buf_text(&line, "• ");
        put_text(&line, coverage, row, "item");
        int64_t number = nl_lookup_i64(coverage, row, "count");
        if (number > 0)
            nl_buf_format(&line, ": %s", nl_format_count(count, (uint64_t)number));
        if (nl_lookup_text(coverage, row, "detail").len) {
            nl_buf_text(&line, " — ");
            put_text(&line, coverage, row, "detail");
        }
        if (files > 1 && nl_lookup_text(coverage, row, "file").len) {
            nl_buf_text(&line, " (");
            put_text(&line, coverage, row, "file");
            nl_buf_char(&line, ')');
        }
        nl_notes_wrap(out, (struct nl_str){line.ptr, line.len}, width, 2);
        nl_buf_release(&line);
    }
    if (shown < coverage->rows)
        nl_buf_format(out, "  and %zu more\n", coverage->rows - shown);
}
