/*
 * Lines out of a window over the stream. Most files are UTF-8 and are read straight
 * into the window; UTF-16 goes through a small buffer of raw bytes. The window grows
 * only for a line longer than it.
 */
#include "parse/textlines.h"

#include "base/chars.h"
#include "base/mem.h"

#define WINDOW    ((size_t)256 << 10)
#define RAW_BYTES ((size_t)64 << 10)

void textlines_init(struct textlines *lines, struct nl_stream *stream)
{
    *lines = (struct textlines){.stream = stream};
    nl_grow(&lines->buffer, &lines->cap, WINDOW);
}

void textlines_release(struct textlines *lines)
{
    nl_free(lines->buffer);
    nl_free(lines->raw);
    lines->buffer = NULL;
    lines->raw = NULL;
}

static unsigned unit_at(const unsigned char *raw, bool big)
{
    return big ? (unsigned)raw[0] << 8 | raw[1] : (unsigned)raw[1] << 8 | raw[0];
}

static size_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* Turns whole characters of the raw bytes; half a character stays for the next time. */
static void turn_raw(struct textlines *lines, bool last)
{
    bool big = lines->encoding == TEXTLINES_UTF16_BE;
    size_t at = 0;
    while (at + 2 <= lines->raw_len) {
        unsigned code = unit_at(lines->raw + at, big);
        size_t used = 2;
        if (code >= 0xD800 && code < 0xDC00) {
            if (at + 4 > lines->raw_len && !last)
                break;
            unsigned low = at + 4 <= lines->raw_len ? unit_at(lines->raw + at + 2, big) : 0;
            bool pair = low >= 0xDC00 && low < 0xE000;
            code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
            used = pair ? 4 : 2;
        } else if (code >= 0xDC00 && code < 0xE000) {
            code = 0xFFFD;
        }
        lines->len += put_utf8(lines->buffer + lines->len, code);
        at += used;
    }
    memmove(lines->raw, lines->raw + at, lines->raw_len - at);
    lines->raw_len -= at;
}

static bool fill_raw(struct textlines *lines, struct nl_err *err)
{
    ssize_t got =
        nl_stream_read(lines->stream, lines->raw + lines->raw_len, RAW_BYTES - lines->raw_len, err);
    if (got < 0)
        return false;
    lines->raw_len += (size_t)got;
    turn_raw(lines, got == 0);
    lines->ended = got == 0;
    return true;
}

/* What the first bytes say about the encoding; they are in the buffer. */
static void detect_encoding(struct textlines *lines)
{
    const unsigned char *first = (const unsigned char *)lines->buffer;
    lines->begun = true;
    if (lines->len >= 3 && memcmp(first, "\xEF\xBB\xBF", 3) == 0) {
        lines->at = 3;
        return;
    }
    if (lines->len < 2 || (memcmp(first, "\xFF\xFE", 2) != 0 && memcmp(first, "\xFE\xFF", 2) != 0))
        return;
    lines->encoding = first[0] == 0xFF ? TEXTLINES_UTF16_LE : TEXTLINES_UTF16_BE;
    lines->raw = nl_alloc(RAW_BYTES);
    lines->raw_len = lines->len - 2;
    memcpy(lines->raw, lines->buffer + 2, lines->raw_len);
    lines->len = 0;
    turn_raw(lines, false);
}

/* Reads more text after what is there; makes room first. False at the end or on failure. */
static bool fill_buffer(struct textlines *lines, struct nl_err *err)
{
    if (lines->ended)
        return false;
    memmove(lines->buffer, lines->buffer + lines->at, lines->len - lines->at);
    lines->len -= lines->at;
    lines->at = 0;
    if (lines->cap - lines->len < WINDOW) /* also what RAW_BYTES may become */
        nl_grow(&lines->buffer, &lines->cap, lines->len + WINDOW);
    bool ok = true;
    if (lines->encoding != TEXTLINES_UTF8) {
        ok = fill_raw(lines, err);
    } else {
        size_t room = lines->begun ? lines->cap - lines->len : RAW_BYTES / 2;
        ssize_t got = nl_stream_read(lines->stream, lines->buffer + lines->len, room, err);
        ok = got >= 0;
        lines->len += got > 0 ? (size_t)got : 0;
        lines->ended = got == 0;
        if (ok && !lines->begun)
            detect_encoding(lines);
    }
    lines->failed = !ok;
    lines->ended |= !ok;
    return ok;
}

/* Takes `len` bytes as a line, and its end. */
static void take_line(struct textlines *lines, size_t len, bool has_end, struct nl_str *line)
{
    *line = (struct nl_str){lines->buffer + lines->at, len};
    if (line->len && line->ptr[line->len - 1] == '\r')
        line->len--;
    lines->at += len + has_end;
    lines->count++;
}

bool textlines_next(struct textlines *lines, struct nl_str *line, struct nl_err *err)
{
    size_t looked = 0;
    for (;;) {
        size_t left = lines->len - lines->at;
        const char *from = lines->buffer + lines->at;
        const char *end = left > looked ? memchr(from + looked, '\n', left - looked) : NULL;
        if (end && lines->skipping) {
            lines->at += (size_t)(end - from) + 1;
            lines->skipping = false;
            looked = 0;
            continue;
        }
        if (end) {
            take_line(lines, (size_t)(end - from), true, line);
            return true;
        }
        looked = left;
        if (lines->skipping || left > TEXTLINES_LONGEST) {
            lines->cut += !lines->skipping;
            lines->skipping = true;
            lines->at = lines->len;
            looked = 0;
        }
        if (fill_buffer(lines, err) || (!lines->ended && !lines->failed))
            continue;
        left = lines->len - lines->at;
        if (lines->failed || left == 0 || lines->skipping)
            return false;
        take_line(lines, left, false, line);
        return true;
    }
}

struct nl_str textlines_head(const unsigned char *head, size_t len, char *room)
{
    struct nl_str text = {(const char *)head, len};
    if (len >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0)
        return (struct nl_str){text.ptr + 3, len - 3};
    if (len < 2 || (memcmp(head, "\xFF\xFE", 2) != 0 && memcmp(head, "\xFE\xFF", 2) != 0))
        return text;
    size_t out = 0;
    for (size_t i = 2; i + 2 <= len; i += 2) {
        unsigned code = unit_at(head + i, head[0] == 0xFE);
        room[out++] = code < 0x80 ? (char)code : '?';
    }
    return (struct nl_str){room, out};
}

int textlines_words(struct nl_str line, struct nl_str *words, int most)
{
    int count = 0;
    for (size_t at = 0; count < most;) {
        while (at < line.len && nl_is_space(line.ptr[at]))
            at++;
        size_t start = at;
        while (at < line.len && !nl_is_space(line.ptr[at]))
            at++;
        if (at == start)
            break;
        words[count++] = (struct nl_str){line.ptr + start, at - start};
    }
    return count;
}

bool textlines_split(struct nl_str *text, struct nl_str *line)
{
    if (!text->len)
        return false;
    const char *end = memchr(text->ptr, '\n', text->len);
    size_t len = end ? (size_t)(end - text->ptr) : text->len;
    *line = (struct nl_str){text->ptr, len};
    if (line->len && line->ptr[line->len - 1] == '\r')
        line->len--;
    size_t used = len + (end != NULL);
    *text = (struct nl_str){text->ptr + used, text->len - used};
    return true;
}
