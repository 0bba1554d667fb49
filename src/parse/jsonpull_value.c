/* Texts of JSON tokens as values: escapes, integers, numbers, exact times. */
#include <math.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/hex.h"
#include "base/units.h"
#include "base/utf8.h"
#include "parse/jsonpull.h"

/* ---- Escapes ---- */

static void put_utf8(struct nl_buf *out, uint32_t code)
{
    char text[4];
    nl_buf_add(out, text, nl_utf8_put(text, code));
}

/* \uXXXX, a surrogate pair as one; returns the place after it, NULL if it is not one. */
static const char *put_unicode(struct nl_buf *out, const char *p, const char *end)
{
    int32_t unit = nl_hex_unit(p, end);
    if (unit < 0)
        return NULL;
    p += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t low = nl_hex_unit(p + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            put_utf8(out, 0x10000u + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
            return p + 6;
        }
    }
    put_utf8(out, unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : (uint32_t)unit);
    return p;
}

void jsonpull_unescape(struct nl_buf *out, struct nl_str text, bool paths)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *p = text.ptr, *end = text.len ? text.ptr + text.len : text.ptr;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p);
        nl_buf_add(out, p, plain);
        p += plain;
        if (p == end)
            break;
        const char *found = p + 1 < end && p[1] ? strchr(from, p[1]) : NULL;
        if (found && paths && found - from > 2)
            found = NULL;
        const char *behind = p + 1 < end && p[1] == 'u' ? put_unicode(out, p + 2, end) : NULL;
        if (found) {
            nl_buf_char(out, to[found - from]);
            p += 2;
        } else if (behind) {
            p = behind;
        } else {
            nl_buf_char(out, *p++);
        }
    }
}

/* ---- Numbers ---- */

bool jsonpull_is_number(struct nl_str text)
{
    size_t i = text.len && text.ptr[0] == '-', digits = 0;
    for (; i < text.len; i++) {
        char c = text.ptr[i];
        if (nl_is_digit(c))
            digits++;
        else if (c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-')
            return false;
    }
    return digits > 0;
}

struct nl_str jsonpull_keep(const struct jsonpull *reader, struct nl_arena *arena)
{
    return (struct nl_str){nl_arena_text(arena, reader->text.ptr, reader->text.len),
                           reader->text.len};
}

static bool may_be_number(const struct jsonpull *reader)
{
    return reader->type == JSONPULL_NUMBER || reader->type == JSONPULL_STRING;
}

bool jsonpull_i64(const struct jsonpull *reader, int64_t *value)
{
    return may_be_number(reader) && nl_parse_i64(reader->text, value);
}

bool jsonpull_f64(const struct jsonpull *reader, double *value)
{
    char copy[64], *stop;
    size_t len = reader->text.len;
    if (!may_be_number(reader) || !jsonpull_is_number(reader->text) || len >= sizeof copy)
        return false;
    memcpy(copy, reader->text.ptr, len);
    copy[len] = '\0';
    double number = strtod(copy, &stop);
    if (stop != copy + len || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool jsonpull_ns(const struct jsonpull *reader, int scale, int64_t *ns)
{
    int64_t value;
    if (!may_be_number(reader) || !nl_decimal_shifted(reader->text, scale, &value))
        return false;
    *ns = value;
    return true;
}
