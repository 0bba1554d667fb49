/* The JSON writer. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/shortest.h"
#include "base/utf8.h"

/* Most are a few bytes, which a call for each would cost more than to copy them. A stream is one
 * thread's. */
static void put_to_stream(FILE *stream, const char *bytes, size_t len)
{
    if (len > 16) {
        fwrite_unlocked(bytes, 1, len, stream);
        return;
    }
    for (size_t i = 0; i < len; i++)
        putc_unlocked(bytes[i], stream);
}

/* Inline where the buffer has room: readers write one JSON text per event,
 * a few bytes at a time. */
static inline void put_bytes(struct nl_json *json, const char *bytes, size_t len)
{
    struct nl_buf *buf = json->buf;
    if (json->stream) {
        put_to_stream(json->stream, bytes, len);
    } else if (len && buf->len + len < buf->cap && len <= buf->max - buf->len) {
        memcpy(buf->ptr + buf->len, bytes, len);
        buf->len += len;
        buf->ptr[buf->len] = '\0';
    } else {
        nl_buf_add(buf, bytes, len);
    }
}

static void new_line(struct nl_json *json)
{
    static const char spaces[] = "                                                        ";
    if (!json->indent)
        return;
    put_bytes(json, "\n", 1);
    size_t want = (size_t)(json->depth * json->indent);
    while (want) {
        size_t n = want < sizeof spaces - 1 ? want : sizeof spaces - 1;
        put_bytes(json, spaces, n);
        want -= n;
    }
}

/* Comma and line break before an item, as its place asks. */
static void before_item(struct nl_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    uint64_t bit = (uint64_t)1 << (json->depth & 63);
    if (json->filled & bit)
        put_bytes(json, ",", 1);
    json->filled |= bit;
    new_line(json);
}

void nl_json_to_stream(struct nl_json *json, FILE *stream, int indent)
{
    *json = (struct nl_json){.stream = stream, .indent = indent};
}

void nl_json_to_buf(struct nl_json *json, struct nl_buf *buf, int indent)
{
    *json = (struct nl_json){.buf = buf, .indent = indent};
}

void nl_json_open(struct nl_json *json, char bracket)
{
    before_item(json);
    put_bytes(json, &bracket, 1);
    json->depth++;
    if (json->depth > 62)
        NL_BUG("JSON output nested too deep");
    json->filled &= ~((uint64_t)1 << json->depth);
}

void nl_json_close(struct nl_json *json, char bracket)
{
    bool filled = json->filled & ((uint64_t)1 << json->depth);
    json->depth--;
    if (filled)
        new_line(json);
    put_bytes(json, &bracket, 1);
    if (json->depth == 0 && json->indent)
        put_bytes(json, "\n", 1);
}

static void number(struct nl_json *json, const char *text)
{
    before_item(json);
    put_bytes(json, text, strlen(text));
}

/* Digits by hand, since printf shows in profiles. */
static void whole(struct nl_json *json, bool negative, uint64_t size)
{
    char text[24];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + size % 10);
        size /= 10;
    } while (size);
    if (negative)
        text[--at] = '-';
    before_item(json);
    put_bytes(json, text + at, sizeof text - at);
}

void nl_json_i64(struct nl_json *json, int64_t value)
{
    whole(json, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void nl_json_u64(struct nl_json *json, uint64_t value)
{
    whole(json, false, value);
}

void nl_json_f64(struct nl_json *json, double value)
{
    char text[NL_UNIT_TEXT];
    if (!isfinite(value)) {
        nl_json_null(json);
        return;
    }
    number(json, nl_format_shortest(text, value));
}

void nl_json_bool(struct nl_json *json, bool value)
{
    number(json, value ? "true" : "false");
}

void nl_json_null(struct nl_json *json)
{
    number(json, "null");
}

static void put_escape(struct nl_json *json, unsigned char c)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = c ? strchr(named, c) : NULL;
    char text[8];
    if (at)
        snprintf(text, sizeof text, "\\%c", letters[at - named]);
    else
        snprintf(text, sizeof text, "\\u%04x", c);
    put_bytes(json, text, strlen(text));
}

/* ASCII that stands for itself within quotes. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many of the bytes before `len` stand for themselves, from `i` on, eight at a time.
 * What a byte that does not borrows from or carries to the bytes after it does not
 * matter: the first one counts. */
static size_t skip_plain(const unsigned char *p, size_t i, size_t len)
{
    const uint64_t ones = 0x0101010101010101;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, p + i, sizeof word);
        uint64_t quote = word ^ '"' * ones, slash = word ^ '\\' * ones;
        uint64_t odd = word | (word + ones) | (word - 0x20 * ones) | ((quote - ones) & ~quote) |
                       ((slash - ones) & ~slash);
        odd &= 0x80 * ones;
        if (odd)
            return i + (size_t)(__builtin_ctzll(odd) / 8);
    }
    return i;
}

static void quoted(struct nl_json *json, struct nl_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t start = 0, i = skip_plain(p, 0, text.len);
    put_bytes(json, "\"", 1);
    while (i < text.len) {
        unsigned char c = p[i];
        if (is_plain(c)) {
            i++;
            continue;
        }
        size_t len = c < 0x80 ? 1 : nl_utf8_length(p + i, text.len - i);
        if (c >= 0x80 && len) {
            i += len;
            continue;
        }
        put_bytes(json, text.ptr + start, i - start);
        if (len)
            put_escape(json, c);
        else
            put_bytes(json, "\xEF\xBF\xBD", 3);
        start = ++i;
    }
    put_bytes(json, text.ptr + start, i - start);
    put_bytes(json, "\"", 1);
}

void nl_json_key(struct nl_json *json, const char *key)
{
    before_item(json);
    quoted(json, nl_str(key));
    put_bytes(json, ": ", json->indent ? 2 : 1);
    json->after_key = true;
}

void nl_json_str(struct nl_json *json, struct nl_str text)
{
    before_item(json);
    quoted(json, text);
}

void nl_json_text(struct nl_json *json, const char *text)
{
    if (text)
        nl_json_str(json, nl_str(text));
    else
        nl_json_null(json);
}

void nl_json_put_u64(struct nl_json *json, const char *key, uint64_t value, bool known)
{
    nl_json_key(json, key);
    if (known)
        nl_json_u64(json, value);
    else
        nl_json_null(json);
}

void nl_json_put_i64(struct nl_json *json, const char *key, int64_t value, bool known)
{
    nl_json_key(json, key);
    if (known)
        nl_json_i64(json, value);
    else
        nl_json_null(json);
}

void nl_json_put_f64(struct nl_json *json, const char *key, double value, bool known)
{
    nl_json_key(json, key);
    if (known)
        nl_json_f64(json, value);
    else
        nl_json_null(json);
}

void nl_json_put_text(struct nl_json *json, const char *key, const char *text)
{
    nl_json_key(json, key);
    nl_json_text(json, text);
}
