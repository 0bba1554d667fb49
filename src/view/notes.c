/* notes — see notes.h. */
#include "view/notes.h"

#include "tables/lookup.h"
#include "base/mem.h"
#include "base/units.h"
#include "view/celltext.h"

#define NOTE_BYTES 65536

/* The end of the word that begins at `at`. A word longer than a line ends after the last opening
 * bracket that fits, where code may go on in the next line. */
static size_t word_end(struct nl_str text, size_t at, size_t most)
{
    size_t end = at, bracket = at;
    while (end < text.len && text.ptr[end] != ' ') {
        end++;
        if (text.ptr[end - 1] == '(' &&
            nl_celltext_width((struct nl_str){text.ptr + at, end - at}) <= most)
            bracket = end;
    }
    bool wide = nl_celltext_width((struct nl_str){text.ptr + at, end - at}) > most;
    return wide && bracket > at + 1 ? bracket : end;
}

void nl_notes_wrap(struct nl_buf *out, struct nl_str text, size_t width, size_t indent)
{
    size_t at = 0, column = 0;
    bool spaced = false; /* before this word */
    while (at < text.len) {
        size_t end = word_end(text, at, width > indent ? width - indent : width);
        struct nl_str word = {text.ptr + at, end - at};
        size_t wide = nl_celltext_width(word);
        if (column > indent && column + spaced + wide > width) {
            nl_buf_char(out, '\n');
            for (size_t i = 0; i < indent; i++)
                nl_buf_char(out, ' ');
            column = indent;
        } else if (spaced) {
            nl_buf_char(out, ' ');
            column++;
        }
        nl_buf_add(out, word.ptr, word.len);
        column += wide;
        spaced = end == text.len || text.ptr[end] == ' ';
        at = end + spaced;
    }
    nl_buf_char(out, '\n');
}

static void put_cell_text(struct nl_buf *out, const struct nl_result *result, size_t row,
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
        put_cell_text(&line, missing, row, "missing");
        nl_buf_text(&line, " (no answer: ");
        put_cell_text(&line, missing, row, "answers");
        nl_buf_text(&line, "). Record with ");
        put_cell_text(&line, missing, row, "record");
        nl_notes_wrap(out, (struct nl_str){line.ptr, line.len}, width, 2);
        nl_buf_release(&line);
    }
}

void nl_notes_next(struct nl_buf *out, const struct nl_result *next, size_t width)
{
    for (size_t row = 0; row < next->rows; row++) {
        struct nl_buf line;
        nl_buf_init(&line, NOTE_BYTES);
        nl_buf_text(&line, "• ");
        put_cell_text(&line, next, row, "do");
        nl_buf_text(&line, " — ");
        put_cell_text(&line, next, row, "why");
        nl_notes_wrap(out, (struct nl_str){line.ptr, line.len}, width, 2);
        nl_buf_clear(&line);
        put_cell_text(&line, next, row, "verify");
        for (char *at = line.len ? line.ptr : NULL, *end; at; at = end ? end + 4 : NULL) {
            end = strstr(at, " && ");
            nl_buf_format(out, "    %.*s\n", (int)(end ? (size_t)(end - at) : strlen(at)), at);
        }
        nl_buf_release(&line);
    }
}

static bool is_alike(const struct nl_result *coverage, size_t one, size_t other)
{
    return nl_str_eq(nl_lookup_text(coverage, one, "item"),
                     nl_lookup_text(coverage, other, "item")) &&
           nl_str_eq(nl_lookup_text(coverage, one, "detail"),
                     nl_lookup_text(coverage, other, "detail"));
}

/* The same of many files, as the processes of a run are, is printed once. */
struct remark {
    size_t files;
    int64_t count; /* 0 = not given of all */
};

static struct remark join_rows(const struct nl_result *coverage, size_t row, bool *done)
{
    struct remark remark = {0, 0};
    bool told = true;
    for (size_t other = row; other < coverage->rows; other++) {
        if (done[other] || !is_alike(coverage, row, other))
            continue;
        int64_t number = nl_lookup_i64(coverage, other, "count");
        done[other] = true;
        remark.files++;
        told = told && number > 0;
        remark.count += number > 0 && number < INT64_MAX - remark.count ? number : 0;
    }
    if (!told)
        remark.count = 0;
    return remark;
}

static void put_files(struct nl_buf *line, const struct nl_result *coverage, size_t row,
                      size_t files)
{
    if (files > 1) {
        nl_buf_format(line, " (%zu files)", files);
    } else if (nl_lookup_text(coverage, row, "file").len) {
        nl_buf_text(line, " (");
        put_cell_text(line, coverage, row, "file");
        nl_buf_char(line, ')');
    }
}

void nl_notes_coverage(struct nl_buf *out, const struct nl_result *coverage, size_t width,
                       size_t rows, size_t files)
{
    bool *done = nl_zalloc((coverage->rows + 1) * sizeof *done);
    size_t shown = 0, left = 0;
    for (size_t row = 0; row < coverage->rows; row++) {
        char count[NL_UNIT_TEXT];
        struct nl_buf line;
        if (done[row])
            continue;
        if (rows && shown == rows) {
            left++;
            continue;
        }
        struct remark remark = join_rows(coverage, row, done);
        shown++;
        nl_buf_init(&line, NOTE_BYTES);
        nl_buf_text(&line, "• ");
        put_cell_text(&line, coverage, row, "item");
        if (remark.count > 0)
            nl_buf_format(&line, ": %s", nl_format_count(count, (uint64_t)remark.count));
        if (nl_lookup_text(coverage, row, "detail").len) {
            nl_buf_text(&line, " — ");
            put_cell_text(&line, coverage, row, "detail");
        }
        if (files > 1)
            put_files(&line, coverage, row, remark.files);
        nl_notes_wrap(out, (struct nl_str){line.ptr, line.len}, width, 2);
        nl_buf_release(&line);
    }
    if (left)
        nl_buf_format(out, "  and %zu more\n", left);
    nl_free(done);
}
