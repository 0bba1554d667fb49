/*
 * A damaged event rewritten as clean JSON, so that there is one parser only.
 *
 * What is mended is what profilers and people really write (quirks of kineto, perfetto,
 * onnxruntime, NCCL plug-ins): unescaped quotes and backslashes inside strings, NaN, inf,
 * -nan(ind), N/A, None, 0x1f, missing and extra commas. A quote ends a string only if the text
 * after it looks like what follows a string. Anything else is given up, and the caller skips the
 * event.
 */
#include "base/chars.h"
#include "base/hex.h"
#include "ingest/chrome/chrome_work.h"

#define MAX_DEPTH 512
#define MAX_KEY   64 /* bytes of a key whose comma is missing */
#define MAX_ROOM  ((size_t)300 << 20)

struct repair {
    struct chrome_worker *worker;
    struct nl_buf *out;
    const char *p, *end;
    char close[MAX_DEPTH]; /* brackets to come */
    unsigned depth;
    bool after_value; /* a comma is due before the next member */
};

static void skip_space(struct repair *r)
{
    while (r->p < r->end && (unsigned char)*r->p <= ' ')
        r->p++;
}

static const char *after_space(const struct repair *r, const char *p)
{
    while (p < r->end && (unsigned char)*p <= ' ')
        p++;
    return p;
}

/* Does a key with its colon stand at p (at a '"')? */
static bool key_at(const struct repair *r, const char *p)
{
    const char *stop = memchr(p + 1, '"', (size_t)(r->end - p - 1));
    if (!stop || stop - p > MAX_KEY)
        return false;
    stop = after_space(r, stop + 1);
    return stop < r->end && *stop == ':';
}

/* Would a string that ends just before p be followed by something sensible? */
static bool ends_string(const struct repair *r, const char *p, bool key)
{
    p = after_space(r, p);
    if (p == r->end)
        return false;
    if (key)
        return *p == ':';
    char close = r->close[r->depth - 1];
    if (*p == close)
        return true;
    if (*p == '"' && close == '}')
        return key_at(r, p); /* the comma is missing */
    if (*p != ',')
        return false;
    p = after_space(r, p + 1);
    return close == ']' || p == r->end || *p == '"' || *p == close;
}

/* An escape at r->p (a backslash): copied when valid, else the backslash itself is escaped. */
static void copy_escape(struct repair *r)
{
    const char *p = r->p + 1;
    bool unicode = p < r->end && *p == 'u';
    bool valid = p < r->end && *p &&
                 (unicode ? nl_hex_unit(p + 1, r->end) >= 0 : strchr("\"\\/bfnrt", *p) != NULL);
    if (valid) {
        nl_buf_add(r->out, r->p, 2);
        r->p += 2;
        return;
    }
    chrome_note(r->worker, CHROME_NOTE_ESCAPES);
    nl_buf_text(r->out, "\\\\");
    r->p++;
}

static bool copy_string(struct repair *r, bool key)
{
    nl_buf_char(r->out, '"');
    r->p++;
    while (r->p < r->end) {
        if (*r->p == '\\') {
            copy_escape(r);
            continue;
        }
        if (*r->p == '"') {
            if (ends_string(r, r->p + 1, key)) {
                nl_buf_char(r->out, '"');
                r->p++;
                return true;
            }
            chrome_note(r->worker, CHROME_NOTE_QUOTES);
            nl_buf_char(r->out, '\\');
        }
        nl_buf_char(r->out, *r->p++);
    }
    return false;
}

static bool is_number(struct nl_str word)
{
    bool digit = false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (nl_is_digit(c))
            digit = true;
        else if (!strchr("+-.eE", c) || c == '\0')
            return false;
    }
    return digit;
}

/* A bare word: a number, a JSON literal, or something that becomes null or a string. */
static bool copy_word(struct repair *r)
{
    static const char *const literals[] = {"true", "false", "null"};
    const char *start = r->p;
    while (r->p < r->end && !strchr(",:{}[]\"", *r->p) && (unsigned char)*r->p > ' ')
        r->p++;
    struct nl_str word = {start, (size_t)(r->p - start)};
    if (word.len == 0 || word.len > 256)
        return false;
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        if (nl_str_is(word, literals[i])) {
            nl_buf_add(r->out, word.ptr, word.len);
            return true;
        }
    }
    if (is_number(word)) {
        size_t sign = *word.ptr == '+';
        nl_buf_text(r->out, word.ptr[sign] == '.' ? "0" : "");
        nl_buf_add(r->out, word.ptr + sign, word.len - sign);
        return true;
    }
    chrome_note(r->worker, CHROME_NOTE_WORDS);
    if (word.len > 2 && word.ptr[0] == '0' && (word.ptr[1] | 0x20) == 'x') {
        nl_buf_char(r->out, '"'); /* numbers are read from strings, too */
        nl_buf_add(r->out, word.ptr, word.len);
        nl_buf_char(r->out, '"');
    } else {
        nl_buf_text(r->out, nl_str_is(word, "True")    ? "true"
                            : nl_str_is(word, "False") ? "false"
                                                       : "null");
    }
    return true;
}

static bool open_bracket(struct repair *r)
{
    if (r->depth == MAX_DEPTH)
        return false;
    r->close[r->depth++] = *r->p == '{' ? '}' : ']';
    nl_buf_char(r->out, *r->p++);
    r->after_value = false;
    return true;
}

static bool close_bracket(struct repair *r)
{
    if (*r->p != r->close[r->depth - 1])
        return false;
    if (!r->after_value && r->out->len && r->out->ptr[r->out->len - 1] == ',') {
        r->out->ptr[r->out->len - 1] = ' ';
        chrome_note(r->worker, CHROME_NOTE_TRAILING_COMMA);
    }
    nl_buf_char(r->out, *r->p++);
    r->depth--;
    r->after_value = true;
    return true;
}

/* A key and its colon. */
static bool copy_key(struct repair *r)
{
    if (*r->p != '"' || !copy_string(r, true))
        return false;
    skip_space(r);
    if (r->p == r->end || *r->p != ':')
        return false;
    nl_buf_char(r->out, *r->p++);
    skip_space(r);
    return r->p < r->end;
}

/* The next member, or a bracket. */
static bool step(struct repair *r)
{
    char c = *r->p;
    if (c == '}' || c == ']')
        return close_bracket(r);
    if (c == ',') {
        r->p++;
        if (r->after_value)
            nl_buf_char(r->out, ',');
        else
            chrome_note(r->worker, CHROME_NOTE_TRAILING_COMMA);
        r->after_value = false;
        return true;
    }
    if (r->after_value) {
        chrome_note(r->worker, CHROME_NOTE_COMMAS);
        nl_buf_char(r->out, ',');
    }
    if (r->close[r->depth - 1] == '}' && !copy_key(r))
        return false;
    if (*r->p == '{' || *r->p == '[')
        return open_bracket(r);
    r->after_value = true;
    return *r->p == '"' ? copy_string(r, false) : copy_word(r);
}

bool chrome_repair(struct chrome_worker *worker, const char **text, const char *end)
{
    struct repair r = {.worker = worker, .out = &worker->repaired, .p = *text, .end = end};
    r.out->max = MAX_ROOM;
    nl_buf_clear(r.out);
    nl_buf_text(r.out, "        "); /* readable bytes before the first text */
    open_bracket(&r);
    while (r.depth > 0) {
        skip_space(&r);
        if (r.p == end || !step(&r) || r.out->overflow)
            return false;
    }
    for (unsigned i = 0; i < CHROME_PAD; i++)
        nl_buf_char(r.out, '"');
    *text = r.p;
    return !r.out->overflow;
}
