/*
 * A row is scanned in the window without changing it; only when its end is there are doubled quotes
 * undone in place. A row whose end is not in the window yet is scanned again after more was read.
 */
#define _GNU_SOURCE
#include "parse/csvread.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/chars.h"
#include "base/mem.h"
#include "base/units.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define ROW_BYTES    ((size_t)16 << 20)
#define QUOTED_BYTES ((size_t)4 << 20) /* a longer quoted cell is a quote that was never closed */

void csvread_init(struct csvread *csv, struct nl_stream *stream, struct nl_job *job,
                  const struct csvread_options *options)
{
    *csv = (struct csvread){.stream = stream, .job = job, .next_line = 1};
    if (options)
        csv->options = *options;
    csv->cap = WINDOW_BYTES;
    csv->window = nl_alloc(csv->cap);
}

void csvread_release(struct csvread *csv)
{
    nl_free(csv->window);
    nl_free(csv->cells);
    nl_free(csv->escaped);
    nl_free(csv->names);
    nl_free(csv->name_text);
    *csv = (struct csvread){0};
}

/* ---- The window ---- */

/* Reads more bytes after those from `at` on. False only on errors. */
static bool fill_window(struct csvread *csv, struct nl_err *err)
{
    if (nl_job_cancelled(csv->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (csv->at > 0) {
        memmove(csv->window, csv->window + csv->at, csv->len - csv->at);
        csv->window_offset += csv->at;
        csv->len -= csv->at;
        csv->at = 0;
    }
    if (csv->cap - csv->len < WINDOW_BYTES / 2) {
        csv->cap *= 2;
        csv->window = nl_realloc(csv->window, csv->cap);
    }
    ssize_t got = nl_stream_read(csv->stream, csv->window + csv->len, csv->cap - csv->len, err);
    if (got < 0)
        return false;
    csv->ended = got == 0;
    csv->len += (size_t)got;
    return true;
}

/* ---- One row ---- */

enum scan { SCAN_DONE, SCAN_MORE, SCAN_LOOSE };

/* What a scan carries from cell to cell; `at` is after the cell's delimiter. */
struct cursor {
    const char *at, *end;
    char delimiter;
    bool row_ended;
};

static inline void keep_cell(struct csvread *csv, const char *from, const char *to)
{
    if (csv->count >= CSVREAD_MAX_CELLS)
        return;
    if (csv->count == csv->cell_cap)
        nl_grow(&csv->cells, &csv->cell_cap, csv->count + 1);
    csv->cells[csv->count++] = (struct nl_str){from, (size_t)(to - from)};
}

/* The delimiter or line end from `at` on, or `end`. */
static inline const char *cell_end(const char *at, const char *end, char delimiter)
{
#ifdef __SSE2__
    const __m128i delimiters = _mm_set1_epi8(delimiter), lines = _mm_set1_epi8('\n');
    for (; end - at >= 16; at += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
        int hit = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(text, delimiters), _mm_cmpeq_epi8(text, lines)));
        if (hit)
            return at + __builtin_ctz((unsigned)hit);
    }
#endif
    while (at < end && *at != delimiter && *at != '\n')
        at++;
    return at;
}

/* Finds the delimiter or line end from `at` on; keeps the cell from `from` to there. */
static inline enum scan plain_cell(struct csvread *csv, struct cursor *cursor, const char *from,
                                   const char *at)
{
    const char *end = cursor->end;
    at = cell_end(at, end, cursor->delimiter);
    if (at == end && !csv->ended)
        return SCAN_MORE;
    cursor->row_ended = at == end || *at == '\n';
    cursor->at = at < end ? at + 1 : at;
    if (cursor->row_ended && at > from && at[-1] == '\r')
        at--;
    keep_cell(csv, from, at);
    return SCAN_DONE;
}

/* The bytes run out inside or right after a quoted cell. */
static enum scan unclosed(const struct csvread *csv, const char *quote, const char *end)
{
    return csv->ended || (size_t)(end - quote) > QUOTED_BYTES ? SCAN_LOOSE : SCAN_MORE;
}

/* The quote that closes the one at `quote`; SCAN_DONE with it in *close. */
static enum scan closing_quote(const struct csvread *csv, const char *quote, const char *end,
                               const char **close, bool *doubled)
{
    const char *at = quote + 1;
    for (;;) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at)
            return unclosed(csv, quote, end);
        if (at + 1 == end && !csv->ended)
            return SCAN_MORE;
        if (at + 1 == end || at[1] != '"')
            break;
        *doubled = true;
        at += 2;
    }
    *close = at;
    return (size_t)(at - quote) > QUOTED_BYTES ? SCAN_LOOSE : SCAN_DONE;
}

static void keep_escaped(struct csvread *csv)
{
    if (csv->count >= CSVREAD_MAX_CELLS)
        return;
    nl_grow(&csv->escaped, &csv->escaped_cap, csv->escaped_count + 1);
    csv->escaped[csv->escaped_count++] = csv->count;
}

static enum scan quoted_cell(struct csvread *csv, struct cursor *cursor, const char *from,
                             const char *quote)
{
    const char *close = NULL, *end = cursor->end;
    bool doubled = false;
    enum scan got = closing_quote(csv, quote, end, &close, &doubled);
    if (got != SCAN_DONE)
        return got;
    const char *after = close + 1;
    while (after < end && (*after == ' ' || *after == '\r'))
        after++;
    if (after == end && !csv->ended)
        return SCAN_MORE;
    /* Text after the closing quote: no proper cell, kept as it stands. */
    if (after < end && *after != cursor->delimiter && *after != '\n')
        return plain_cell(csv, cursor, from, close + 1);
    cursor->row_ended = after == end || *after == '\n';
    cursor->at = after < end ? after + 1 : after;
    if (doubled)
        keep_escaped(csv);
    keep_cell(csv, quote + 1, close);
    return SCAN_DONE;
}

/* Cells of the row at `at`; on SCAN_DONE *next is where the following row begins. */
static enum scan scan_row(struct csvread *csv, bool quotes, size_t *next)
{
    struct cursor cursor = {.at = csv->window + csv->at,
                            .end = csv->window + csv->len,
                            .delimiter = csv->options.delimiter};
    csv->count = csv->escaped_count = 0;
    while (!cursor.row_ended) {
        const char *from = cursor.at, *first = from;
        while (csv->options.trim && first < cursor.end && *first == ' ')
            first++;
        enum scan got = quotes && first < cursor.end && *first == '"'
                            ? quoted_cell(csv, &cursor, from, first)
                            : plain_cell(csv, &cursor, from, first);
        if (got != SCAN_DONE)
            return got;
    }
    *next = (size_t)(cursor.at - csv->window);
    return SCAN_DONE;
}

/* "" → " within a cell, in place. */
static void undouble(struct nl_str *cell)
{
    char *text = (char *)(uintptr_t)cell->ptr;
    size_t to = 0;
    for (size_t from = 0; from < cell->len; from++) {
        text[to++] = text[from];
        if (text[from] == '"')
            from++;
    }
    cell->len = to;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct nl_str csvread_trimmed(struct nl_str text)
{
    while (text.len > 0 && is_blank(text.ptr[0]))
        text = (struct nl_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

static void finish_row(struct csvread *csv, size_t next)
{
    const char *from = csv->window + csv->at;
    size_t len = next - csv->at;
    csv->line = csv->next_line;
    csv->offset = csv->window_offset + csv->at;
    for (const char *at = from; (at = memchr(at, '\n', (size_t)(from + len - at))); at++)
        csv->next_line++;
    for (size_t i = 0; i < csv->escaped_count; i++)
        undouble(&csv->cells[csv->escaped[i]]);
    for (size_t i = 0; csv->options.trim && i < csv->count; i++)
        csv->cells[i] = csvread_trimmed(csv->cells[i]);
    while (len > 0 && (from[len - 1] == '\n' || from[len - 1] == '\r'))
        len--;
    csv->row = (struct nl_str){from, len};
    csv->at = next;
    csv->rows++;
}

/* A row that is longer than any sensible one is passed over and counted. */
static bool pass_row(struct csvread *csv, struct nl_err *err)
{
    csv->long_rows++;
    csv->next_line++;
    csv->at = csv->len;
    const char *end = NULL;
    while (!csv->ended && !end) {
        if (!fill_window(csv, err))
            return false;
        end = memchr(csv->window + csv->at, '\n', csv->len - csv->at);
        csv->at = end ? (size_t)(end + 1 - csv->window) : csv->len;
    }
    return true;
}

/* Is the line at `at` without a row: a comment or empty? */
static enum scan is_passed(const struct csvread *csv, const char *at, size_t left, bool *passed)
{
    bool comment = csv->options.comment && *at == csv->options.comment;
    if (*at == '\r' && left == 1 && !csv->ended)
        return SCAN_MORE;
    *passed = comment || *at == '\n' || (*at == '\r' && (left == 1 || at[1] == '\n'));
    return SCAN_DONE;
}

/* Goes over a line without a row; *passed: there was one. */
static enum scan pass_line(struct csvread *csv, bool *passed)
{
    const char *at = csv->window + csv->at;
    size_t left = csv->len - csv->at;
    *passed = false;
    if (left == 0)
        return csv->ended ? SCAN_DONE : SCAN_MORE;
    enum scan got = is_passed(csv, at, left, passed);
    if (got != SCAN_DONE || !*passed)
        return got;
    const char *end = memchr(at, '\n', left);
    *passed = end || csv->ended;
    if (!*passed)
        return SCAN_MORE;
    csv->at = end ? (size_t)(end + 1 - csv->window) : csv->len;
    csv->next_line++;
    if (*at == '\n' || *at == '\r')
        csv->blank_lines++;
    else
        csv->comments++;
    return SCAN_DONE;
}

/* The delimiter that the line has most of outside quotes; comma when it has none. */
static char guess_delimiter(const char *at, const char *end)
{
    static const char candidates[] = ",\t;|";
    size_t counts[sizeof candidates] = {0}, best = 0;
    bool quoted = false;
    for (; at < end && (*at != '\n' || quoted); at++) {
        quoted ^= *at == '"';
        const char *which = quoted || !*at ? NULL : strchr(candidates, *at);
        if (which)
            counts[which - candidates]++;
    }
    for (size_t i = 1; i < sizeof candidates - 1; i++)
        if (counts[i] > counts[best])
            best = i;
    return candidates[best];
}

/* First bytes: byte-order marks. */
static bool skip_byte_order_mark(struct csvread *csv, struct nl_err *err)
{
    if (csv->started)
        return true;
    csv->started = true;
    if (!fill_window(csv, err))
        return false;
    const unsigned char *bytes = (const unsigned char *)csv->window;
    if (csv->len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        csv->at = 3;
    if (csv->len >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return nl_fail(err, NL_FORMAT,
                       "it is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8 FILE");
    return true;
}

/* A row, if its end is in the window. */
static enum scan try_row(struct csvread *csv)
{
    size_t next = 0;
    if (csv->at == csv->len)
        return SCAN_DONE; /* the end: no row */
    if (!csv->options.delimiter)
        csv->options.delimiter = guess_delimiter(csv->window + csv->at, csv->window + csv->len);
    enum scan got = scan_row(csv, !csv->options.ignore_quotes, &next);
    bool loose = got == SCAN_LOOSE;
    if (loose)
        got = scan_row(csv, false, &next);
    if (got != SCAN_DONE)
        return got;
    csv->loose_quotes += loose;
    finish_row(csv, next);
    return SCAN_DONE;
}

enum csvread_status csvread_next(struct csvread *csv, struct nl_err *err)
{
    if (!skip_byte_order_mark(csv, err))
        return CSVREAD_ERROR;
    for (;;) {
        bool passed;
        enum scan got = pass_line(csv, &passed);
        if (passed)
            continue;
        uint64_t before = csv->rows;
        if (got == SCAN_DONE)
            got = try_row(csv);
        if (got == SCAN_DONE)
            return csv->rows > before ? CSVREAD_ROW : CSVREAD_END;
        if (csv->len - csv->at >= ROW_BYTES) {
            if (!pass_row(csv, err))
                return CSVREAD_ERROR;
        } else if (!fill_window(csv, err)) {
            return CSVREAD_ERROR;
        }
    }
}

/* ---- The header ---- */

void csvread_take_header(struct csvread *csv)
{
    size_t bytes = 0;
    for (size_t i = 0; i < csv->count; i++)
        bytes += csv->cells[i].len;
    nl_free(csv->names);
    nl_free(csv->name_text);
    csv->names = nl_alloc((csv->count + 1) * sizeof *csv->names);
    char *text = csv->name_text = nl_alloc(bytes + 1);
    csv->name_count = csv->count;
    for (size_t i = 0; i < csv->count; i++) {
        struct nl_str cell = csv->cells[i];
        if (cell.len > 0)
            memcpy(text, cell.ptr, cell.len);
        csv->names[i] = csvread_trimmed((struct nl_str){text, cell.len});
        text += cell.len;
    }
}

enum csvread_status csvread_header(struct csvread *csv, struct nl_err *err)
{
    enum csvread_status got = csvread_next(csv, err);
    if (got == CSVREAD_ROW)
        csvread_take_header(csv);
    return got;
}

/* Where the unit's opening bracket stands; the name's length when it has no unit. */
static size_t name_without_unit(struct nl_str name)
{
    if (name.len < 3 || (name.ptr[name.len - 1] != ')' && name.ptr[name.len - 1] != ']'))
        return name.len;
    char open = name.ptr[name.len - 1] == ')' ? '(' : '[';
    const char *at = memrchr(name.ptr, open, name.len);
    return at ? (size_t)(at - name.ptr) : name.len;
}

static bool same_name(struct nl_str a, struct nl_str b)
{
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

static int find_name(const struct csvread *csv, struct nl_str name)
{
    for (size_t i = 0; i < csv->name_count; i++)
        if (same_name(csv->names[i], name))
            return (int)i;
    for (size_t i = 0; i < csv->name_count; i++) {
        struct nl_str bare = {csv->names[i].ptr, name_without_unit(csv->names[i])};
        if (bare.len < csv->names[i].len && same_name(csvread_trimmed(bare), name))
            return (int)i;
    }
    return -1;
}

int csvread_column(const struct csvread *csv, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, "|");
        int found = find_name(csv, (struct nl_str){names, len});
        if (found >= 0)
            return found;
        names += len + (names[len] == '|');
    }
    return -1;
}

struct nl_str csvread_unit(const struct csvread *csv, int column)
{
    if (column < 0 || (size_t)column >= csv->name_count)
        return (struct nl_str){"", 0};
    struct nl_str name = csv->names[column];
    size_t at = name_without_unit(name);
    if (at == name.len)
        return (struct nl_str){"", 0};
    return csvread_trimmed((struct nl_str){name.ptr + at + 1, name.len - at - 2});
}

/* ---- Numbers ---- */

bool csvread_i64(struct nl_str cell, int64_t *value)
{
    return nl_parse_i64(csvread_trimmed(cell), value);
}

bool csvread_u64(struct nl_str cell, uint64_t *value)
{
    cell = csvread_trimmed(cell);
    bool hex = cell.len > 2 && cell.ptr[0] == '0' && (cell.ptr[1] | 32) == 'x';
    uint64_t sum = 0;
    if (cell.len == 0)
        return false;
    for (size_t i = hex ? 2 : 0; i < cell.len; i++) {
        char c = cell.ptr[i];
        unsigned digit = nl_is_digit(c) ? (unsigned)(c - '0') : 99;
        if (hex && ((c | 32) >= 'a' && (c | 32) <= 'f'))
            digit = (unsigned)((c | 32) - 'a') + 10;
        if (digit > 15 || __builtin_mul_overflow(sum, hex ? 16u : 10u, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool csvread_f64(struct nl_str cell, double *value)
{
    char text[64], *end;
    if (nl_decimal_short(cell, 0, value))
        return true;
    cell = csvread_trimmed(cell);
    if (nl_decimal_short(cell, 0, value))
        return true;
    if (cell.len == 0 || cell.len >= sizeof text || memchr(cell.ptr, 0, cell.len))
        return false;
    memcpy(text, cell.ptr, cell.len);
    text[cell.len] = 0;
    double got = strtod(text, &end);
    if (*end)
        return false;
    *value = got;
    return true;
}

bool csvread_scaled(struct nl_str cell, int power, int64_t *value)
{
    cell = csvread_trimmed(cell);
    int64_t exponent = 0;
    for (size_t i = 1; i < cell.len; i++)
        if ((cell.ptr[i] | 32) == 'e') {
            if (!nl_parse_i64((struct nl_str){cell.ptr + i + 1, cell.len - i - 1}, &exponent) ||
                exponent > 300 || exponent < -300)
                return false;
            cell.len = i;
        }
    return nl_decimal_shifted(cell, (int)exponent + power, value);
}

bool csvread_time_unit(struct nl_str unit, int *power)
{
    static const struct {
        const char *name;
        int power;
    } units[] = {
        {"ns", 0},      {"nsecond", 0},     {"nsec", 0}, {"nanosecond", 0}, {"us", 3},
        {"usecond", 3}, {"usec", 3},        {"µs", 3},   {"μs", 3},         {"microsecond", 3},
        {"ms", 6},      {"msecond", 6},     {"msec", 6}, {"s", 9},          {"sec", 9},
        {"second", 9},  {"millisecond", 6},
    };
    unit = csvread_trimmed(unit);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct nl_str name = nl_str(units[i].name);
        bool plural = unit.len == name.len + 1 && name.len > 2 && unit.ptr[name.len] == 's';
        if ((unit.len == name.len || plural) && strncasecmp(unit.ptr, name.ptr, name.len) == 0) {
            *power = units[i].power;
            return true;
        }
    }
    return false;
}
