/* celltext — see celltext.h. */
#include "view/celltext.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sum.h"
#include "base/shortest.h"
#include "base/units.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* Length of the valid UTF-8 sequence at text.ptr, its code point in *point; 0 when invalid. */
static size_t decode(struct nl_str text, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t len = bytes[0] < 0x80   ? 1
                 : bytes[0] < 0xC0 ? 0
                 : bytes[0] < 0xE0 ? 2
                 : bytes[0] < 0xF0 ? 3
                 : bytes[0] < 0xF8 ? 4
                                   : 0;
    if (!len || len > text.len)
        return 0;
    *point = len == 1 ? bytes[0] : bytes[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        *point = *point << 6 | (bytes[i] & 0x3F);
    }
    bool surrogate = *point >= 0xD800 && *point < 0xE000;
    return *point < least[len] || *point > 0x10FFFF || surrogate ? 0 : len;
}

/* Characters that steer terminals, reorder text, or stand in it unseen. */
static const struct {
    uint32_t first, last;
} steering[] = {
    {0x00, 0x1F},       /* C0 */
    {0x7F, 0x9F},       /* DEL, C1 */
    {0xAD, 0xAD},       /* soft hyphen */
    {0x61C, 0x61C},     /* Arabic letter mark */
    {0x180E, 0x180E},   /* Mongolian vowel separator */
    {0x200B, 0x200F},   /* without width, marks of direction */
    {0x2028, 0x202E},   /* line and paragraph, embeddings, overrides */
    {0x2060, 0x206F},   /* joiners, isolates, what is deprecated */
    {0xFEFF, 0xFEFF},   /* byte order mark */
    {0xFFF9, 0xFFFB},   /* interlinear annotation */
    {0xE0000, 0xE0FFF}, /* tags, variation selectors */
};

static bool steers(uint32_t point)
{
    bool found = false;
    for (size_t i = 0; i < sizeof steering / sizeof steering[0]; i++)
        found |= point >= steering[i].first && point <= steering[i].last;
    return found;
}

size_t nl_celltext_harmless(struct nl_str text)
{
    uint32_t point = 0;
    size_t len = decode(text, &point);
    return len && !steers(point) ? len : 0;
}

void nl_celltext_safe(struct nl_buf *out, struct nl_str text)
{
    while (text.len) {
        uint32_t point = 0;
        size_t len = decode(text, &point);
        if (len && (point == '\n' || point == '\r' || point == '\t'))
            nl_buf_char(out, ' ');
        else if (!len || steers(point))
            nl_buf_text(out, REPLACEMENT);
        else
            nl_buf_add(out, text.ptr, len);
        text.ptr += len ? len : 1;
        text.len -= len ? len : 1;
    }
}

/* Code points that take no column, or two, in order; all others take one. */
static const struct {
    uint32_t first, last;
    size_t width;
} widths[] = {
    {0x300, 0x36F, 0},     {0x1100, 0x115F, 2},   {0x2E80, 0xA4CF, 2}, {0xAC00, 0xD7A3, 2},
    {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2}, {0xFF00, 0xFF60, 2},
    {0x1F300, 0x1FAFF, 2}, {0x20000, 0x3FFFD, 2},
};

static size_t width_of(uint32_t point)
{
    for (size_t i = 0; i < sizeof widths / sizeof widths[0] && point >= widths[i].first; i++)
        if (point <= widths[i].last)
            return widths[i].width;
    return 1;
}

size_t nl_celltext_width(struct nl_str text)
{
    size_t width = 0;
    while (text.len) {
        uint32_t point = 0xFFFD;
        size_t len = decode(text, &point);
        width += width_of(point);
        text.ptr += len ? len : 1;
        text.len -= len ? len : 1;
    }
    return width;
}

/* Byte position after at most `width` screen columns. */
static size_t advance(struct nl_str text, size_t width)
{
    size_t at = 0;
    while (at < text.len) {
        uint32_t point = 0xFFFD;
        size_t len = decode((struct nl_str){text.ptr + at, text.len - at}, &point);
        if (width_of(point) > width)
            break;
        width -= width_of(point);
        at += len ? len : 1;
    }
    return at;
}

void nl_celltext_elide(struct nl_buf *out, struct nl_str text, size_t width)
{
    size_t whole = nl_celltext_width(text);
    if (whole <= width) {
        nl_buf_add(out, text.ptr, text.len);
        return;
    }
    if (!width)
        return;
    size_t head = (width - 1) * 2 / 3, tail = width - 1 - head;
    nl_buf_add(out, text.ptr, advance(text, head));
    nl_buf_text(out, "…");
    size_t rest = advance(text, whole - tail);
    if (nl_celltext_width((struct nl_str){text.ptr + rest, text.len - rest}) <= tail)
        nl_buf_add(out, text.ptr + rest, text.len - rest);
}

static void add_f64(struct nl_buf *out, double value)
{
    char text[NL_UNIT_TEXT];
    if (isfinite(value))
        nl_buf_text(out, nl_format_shortest(text, value));
}

struct nl_cell nl_celltext_exact(const struct nl_result_column *column, struct nl_cell cell)
{
    if ((column->meaning == NL_MEANS_NS || column->meaning == NL_MEANS_CHANGE_NS) &&
        cell.type == NL_CELL_F64 && fabs(cell.f64) < 9.2e18)
        return nl_cell_i64(nl_whole_i64(cell.f64));
    return cell;
}

void nl_celltext_plain(struct nl_buf *out, const struct nl_result_column *column,
                       const struct nl_cell *cell)
{
    struct nl_cell exact = nl_celltext_exact(column, *cell);
    switch (exact.type) {
    case NL_CELL_NULL: break;
    case NL_CELL_I64: nl_buf_format(out, "%lld", (long long)exact.i64); break;
    case NL_CELL_F64: add_f64(out, exact.f64); break;
    case NL_CELL_TEXT: nl_buf_add(out, exact.text.ptr, exact.text.len); break;
    }
}

static void add_rounded(struct nl_buf *out, double value)
{
    if (fabs(value) >= 9999.5 && fabs(value) < 1e15)
        nl_buf_format(out, "%.0f", value);
    else
        nl_buf_format(out, "%.*g", fabs(value) < 9999.5 ? 4 : 6, value);
}

static bool is_change(enum nl_meaning meaning)
{
    return meaning == NL_MEANS_CHANGE_NS || meaning == NL_MEANS_CHANGE_SHARE;
}

static void add_number(struct nl_buf *out, enum nl_meaning meaning, int64_t whole, double broken)
{
    char text[NL_UNIT_TEXT];
    if (is_change(meaning)) {
        if (broken > 0)
            nl_buf_char(out, '+');
        meaning = meaning == NL_MEANS_CHANGE_NS ? NL_MEANS_NS : NL_MEANS_SHARE;
    }
    switch (meaning) {
    case NL_MEANS_NS: nl_buf_text(out, nl_format_ns(text, whole)); break;
    case NL_MEANS_SHARE: nl_buf_text(out, nl_format_percent(text, broken)); break;
    case NL_MEANS_RATE: nl_buf_text(out, nl_format_rate(text, broken)); break;
    case NL_MEANS_HERTZ: nl_buf_format(out, "%.4g MHz", broken / 1e6); break;
    case NL_MEANS_FLOPS:
        nl_buf_format(out, "%.4g %s", broken / (broken < 1e12 ? 1e9 : 1e12),
                      broken < 1e12 ? "GFLOP/s" : "TFLOP/s");
        break;
    case NL_MEANS_BYTES:
        nl_buf_format(out, "%s%s", whole < 0 ? "-" : "",
                      nl_format_bytes(text, whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole));
        break;
    case NL_MEANS_COUNT:
        nl_buf_format(out, "%s%s", whole < 0 ? "-" : "",
                      nl_format_count(text, whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole));
        break;
    default: nl_buf_format(out, "%lld", (long long)whole);
    }
}

/* Units that numbers carry with them when eyes see them. */
static const struct {
    const char *unit;
    enum nl_meaning meaning;
    const char *what;
} carried[] = {{"ns", NL_MEANS_NS, "time"},
               {"bytes", NL_MEANS_BYTES, "memory"},
               {"share", NL_MEANS_SHARE, "share"}};

struct nl_result_column nl_celltext_column(const struct nl_result *result, size_t row,
                                           size_t column)
{
    struct nl_result_column def = result->columns[column];
    if (def.meaning != NL_MEANS_WEIGHT)
        return def;
    bool broken = nl_result_cell(result, row, column)->type == NL_CELL_F64;
    def.meaning = broken ? NL_MEANS_NUMBER : NL_MEANS_COUNT;
    for (size_t i = 0; i < result->column_count; i++) {
        const struct nl_cell *unit = nl_result_cell(result, row, i);
        if (result->columns[i].meaning != NL_MEANS_UNIT || unit->type != NL_CELL_TEXT)
            continue;
        for (size_t k = 0; k < sizeof carried / sizeof carried[0]; k++)
            if (nl_str_is(unit->text, carried[k].unit))
                def.meaning = carried[k].meaning;
    }
    return def;
}

/* Beside "1.2 s" the unit "ns" would be wrong. */
static void add_unit(struct nl_buf *out, struct nl_str unit)
{
    for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++)
        if (nl_str_is(unit, carried[i].unit))
            unit = nl_str(carried[i].what);
    nl_celltext_safe(out, unit);
}

void nl_celltext_eyes(struct nl_buf *out, const struct nl_result_column *column,
                      const struct nl_cell *cell)
{
    bool plain = column->meaning == NL_MEANS_ANY || column->meaning == NL_MEANS_NUMBER ||
                 column->meaning == NL_MEANS_TEXT || column->meaning == NL_MEANS_INTEGER;
    switch (cell->type) {
    case NL_CELL_NULL: nl_buf_char(out, '-'); break;
    case NL_CELL_TEXT:
        if (column->meaning == NL_MEANS_UNIT)
            add_unit(out, cell->text);
        else
            nl_celltext_safe(out, cell->text);
        break;
    case NL_CELL_I64: add_number(out, column->meaning, cell->i64, (double)cell->i64); break;
    case NL_CELL_F64:
        if (plain)
            add_rounded(out, cell->f64);
        else
            add_number(out, column->meaning, nl_whole_i64(cell->f64), cell->f64);
        break;
    }
}

bool nl_celltext_is_number(const struct nl_result *result, size_t column)
{
    enum nl_meaning meaning = result->columns[column].meaning;
    if (meaning != NL_MEANS_ANY)
        return meaning != NL_MEANS_TEXT && meaning != NL_MEANS_UNIT;
    for (size_t row = 0; row < result->rows; row++)
        if (nl_result_cell(result, row, column)->type == NL_CELL_TEXT)
            return false;
    return true;
}
