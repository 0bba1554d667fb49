/* Writing JSON by hand: see the header. */
#include "export/jsonbytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/shortest.h"

void json_raw(struct bytes *out, const char *text)
{
    bytes_add(out, text, strlen(text));
}

static bool stands(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static void put_escape(struct bytes *out, unsigned char c)
{
    char text[8];
    if (c == '"' || c == '\\')
        snprintf(text, sizeof text, "\\%c", c);
    else if (c == '\n')
        snprintf(text, sizeof text, "\\n");
    else
        snprintf(text, sizeof text, "\\u%04x", c);
    json_raw(out, text);
}

void json_text(struct bytes *out, struct nl_str text)
{
    bytes_u8(out, '"');
    for (size_t start = 0, i = 0; i <= text.len; i++) {
        if (i < text.len && stands((unsigned char)text.ptr[i]))
            continue;
        bytes_utf8(out, (struct nl_str){text.ptr + start, i - start});
        if (i < text.len)
            put_escape(out, (unsigned char)text.ptr[i]);
        start = i + 1;
    }
    bytes_u8(out, '"');
}

void json_u64(struct bytes *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    bytes_add(out, digits + at, sizeof digits - at);
}

void json_i64(struct bytes *out, int64_t value)
{
    if (value < 0)
        bytes_u8(out, '-');
    json_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_f64(struct bytes *out, double value)
{
    char text[NL_UNIT_TEXT];
    if (!isfinite(value)) {
        json_raw(out, "null");
        return;
    }
    if (value >= -1e15 && value <= 1e15 && value == (double)(int64_t)value) {
        json_i64(out, (int64_t)value);
        return;
    }
    json_raw(out, nl_format_shortest(text, value));
}

void json_us(struct bytes *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char part[4] = {'.', (char)('0' + size % 1000 / 100), (char)('0' + size % 100 / 10),
                    (char)('0' + size % 10)};
    if (ns < 0)
        bytes_u8(out, '-');
    json_u64(out, size / 1000);
    if (size % 1000)
        bytes_add(out, part, sizeof part);
}
