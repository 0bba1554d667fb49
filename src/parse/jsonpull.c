/*
 * A scalar reader: one look at each byte, no tables built. Text is a window [start, end) of the
 * document; whoever reaches its end calls more(), which moves what `hold` protects to the front and
 * reads on. Pointers into the window therefore live only between two calls of more(); tokens are
 * remembered as `hold`.
 */
#define _GNU_SOURCE
#include "parse/jsonpull.h"

#define WINDOW_BYTES ((size_t)256 << 10)
#define MAX_TOKEN    ((size_t)256 << 20)

enum expect { WANT_VALUE, WANT_FIRST, WANT_NEXT, WANT_DONE };

void jsonpull_memory(struct jsonpull *reader, const void *bytes, size_t len, unsigned options)
{
    memset(reader, 0, sizeof *reader);
    reader->start = reader->at = len ? bytes : "";
    reader->end = reader->at + len;
    reader->options = options;
    nl_buf_init(&reader->decoded, MAX_TOKEN);
}

void jsonpull_stream(struct jsonpull *reader, struct nl_stream *stream, unsigned options,
                     struct nl_err *err)
{
    jsonpull_memory(reader, NULL, 0, options);
    reader->stream = stream;
    reader->err = err;
    reader->room = WINDOW_BYTES;
    reader->window = nl_alloc(reader->room);
    reader->start = reader->at = reader->end = reader->window;
}

void jsonpull_release(struct jsonpull *reader)
{
    nl_buf_release(&reader->decoded);
    nl_free(reader->window);
    reader->window = NULL;
    reader->at = reader->end = reader->start = "";
    reader->stream = NULL;
}

uint64_t jsonpull_offset(const struct jsonpull *reader)
{
    return reader->passed + (uint64_t)(reader->at - reader->start);
}

static enum jsonpull_type fail(struct jsonpull *reader, const char *problem)
{
    if (!reader->problem)
        reader->problem = problem;
    reader->type = JSONPULL_ERROR;
    reader->text = (struct nl_str){"", 0};
    return JSONPULL_ERROR;
}

static enum jsonpull_type fail_cut(struct jsonpull *reader)
{
    if (!reader->problem)
        reader->cut = true;
    return fail(reader, "the text ends early");
}

/* Reads on when everything up to `end` was looked at; false when the document is at its end. */
static bool more(struct jsonpull *reader)
{
    if (!reader->stream || reader->problem)
        return false;
    const char *first = reader->hold ? reader->hold : reader->at;
    size_t kept = (size_t)(reader->end - first), ahead = (size_t)(reader->at - first);
    if (kept == reader->room && reader->room >= MAX_TOKEN) {
        fail(reader, "a value is over 256 MiB");
        return false;
    }
    reader->passed += (uint64_t)(first - reader->start);
    if (kept > reader->room / 2) { /* grow while there is little room, so that moves stay rare */
        char *wider = nl_alloc(reader->room * 2);
        memcpy(wider, first, kept);
        nl_free(reader->window);
        reader->window = wider;
        reader->room *= 2;
    } else if (kept) {
        memmove(reader->window, first, kept);
    }
    if (reader->hold)
        reader->hold = reader->window;
    reader->start = reader->window;
    reader->at = reader->window + ahead;
    ssize_t got =
        nl_stream_read(reader->stream, reader->window + kept, reader->room - kept, reader->err);
    reader->end = reader->window + kept + (got > 0 ? (size_t)got : 0);
    if (got < 0)
        fail(reader, "the file cannot be read");
    return got > 0;
}

/* The next byte that is no space, not taken; -1 at the end. */
static int peek(struct jsonpull *reader)
{
    for (;;) {
        for (const char *p = reader->at; p < reader->end; p++)
            if ((unsigned char)*p > ' ') {
                reader->at = p;
                return (unsigned char)*p;
            }
        reader->at = reader->end;
        if (!more(reader))
            return -1;
    }
}

/* ---- Strings ---- */

/* First byte at or after p that is a quote or a backslash; end when there is none. */
static inline const char *find_quote(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
        if ((((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & high)
            break;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Byte at `ahead` bytes after reader->at, reading on if need be; -1 at the end. */
static int byte_at(struct jsonpull *reader, size_t ahead)
{
    while ((size_t)(reader->end - reader->at) <= ahead)
        if (!more(reader))
            return -1;
    return (unsigned char)reader->at[ahead];
}

static int byte_after_spaces(struct jsonpull *reader, size_t *ahead)
{
    int c;
    while ((c = byte_at(reader, *ahead)) >= 0 && c <= ' ')
        ++*ahead;
    return c;
}

/* With JSONPULL_QUOTES: does the quote just before reader->at end its string? */
static bool ends_string(struct jsonpull *reader, bool is_key)
{
    size_t ahead = 0;
    int c = byte_after_spaces(reader, &ahead);
    if (is_key)
        return c == ':' || c < 0;
    if (c < 0 || c == '}' || c == ']')
        return true;
    if (c != ',')
        return false;
    ahead++;
    c = byte_after_spaces(reader, &ahead);
    return c < 0 || memchr("\"{[}]-0123456789tfnN", c, 20);
}

/* With JSONPULL_LINES: stops at the end of a line in [reader->at, stop). */
static bool line_ends(struct jsonpull *reader, const char *stop)
{
    const char *line_end = NULL;
    if (reader->options & JSONPULL_LINES && stop > reader->at)
        line_end = memchr(reader->at, '\n', (size_t)(stop - reader->at));
    if (!line_end)
        return false;
    reader->at = line_end;
    fail(reader, "a line ends inside a string");
    return true;
}

/* Moves past the quote that ends the string which reader->at is in. */
static bool pass_string(struct jsonpull *reader, bool is_key, bool *escaped)
{
    for (;;) {
        const char *stop = find_quote(reader->at, reader->end);
        if (line_ends(reader, stop))
            return false;
        reader->at = stop;
        if (reader->at == reader->end) {
            if (!more(reader))
                return false;
        } else if (*reader->at == '"') {
            reader->at++;
            if (!(reader->options & JSONPULL_QUOTES) || ends_string(reader, is_key))
                return true;
            reader->repairs++;
        } else { /* a backslash and what follows it */
            *escaped = true;
            if (byte_at(reader, 1) < 0) {
                reader->at = reader->end;
                return false;
            }
            reader->at += 2;
        }
    }
}

/* A string token; reader->at is at its first quote. */
static bool read_string(struct jsonpull *reader, bool is_key)
{
    bool escaped = false, outer = reader->hold != NULL;
    size_t before = outer ? (size_t)(reader->at - reader->hold) : 0;
    if (!outer)
        reader->hold = reader->at;
    reader->at++;
    if (!pass_string(reader, is_key, &escaped)) {
        fail_cut(reader);
        reader->hold = outer ? reader->hold : NULL;
        return false;
    }
    const char *first = reader->hold + before + 1;
    reader->text = (struct nl_str){first, (size_t)(reader->at - 1 - first)};
    if (!outer)
        reader->hold = NULL;
    if (escaped) {
        nl_buf_clear(&reader->decoded);
        jsonpull_unescape(&reader->decoded, reader->text, (reader->options & JSONPULL_PATHS) != 0);
        reader->text =
            (struct nl_str){reader->decoded.ptr ? reader->decoded.ptr : "", reader->decoded.len};
    }
    return true;
}

/* ---- Numbers and words ---- */

static bool ends_word(int c)
{
    return c <= ' ' || c == ',' || c == ']' || c == '}' || c == ':' || c == '"';
}

static bool is_nan(struct nl_str text)
{
    static const char *const words[] = {"nan",       "inf",    "infinity", "nan(ind)",
                                        "nan(snan)", "1.#ind", "1.#qnan",  "1.#inf"};
    if (text.len && (*text.ptr == '-' || *text.ptr == '+')) {
        text.ptr++;
        text.len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (text.len == strlen(words[i]) && nl_str_find_nocase(text, words[i]) == 0)
            return true;
    return false;
}

static enum jsonpull_type word_type(struct jsonpull *reader)
{
    struct nl_str text = reader->text;
    if (jsonpull_is_number(text))
        return JSONPULL_NUMBER;
    if (nl_str_is(text, "null"))
        return JSONPULL_NULL;
    if (nl_str_is(text, "true"))
        return JSONPULL_TRUE;
    if (nl_str_is(text, "false"))
        return JSONPULL_FALSE;
    if (!is_nan(text))
        return JSONPULL_ERROR;
    reader->repairs++;
    return JSONPULL_NAN;
}

/* A number or a word: everything up to a character that ends one. A word at the very end of a text
 * that is no whole document may be cut. */
static enum jsonpull_type read_word(struct jsonpull *reader)
{
    size_t len = 0;
    int c;
    while (!ends_word(c = byte_at(reader, len)))
        len++;
    reader->text = (struct nl_str){reader->at, len};
    if (c < 0 && reader->depth)
        return fail_cut(reader);
    enum jsonpull_type type = len ? word_type(reader) : JSONPULL_ERROR;
    if (type == JSONPULL_ERROR)
        return fail(reader, "neither a value nor a closing bracket");
    reader->at += len;
    return type;
}

/* ---- Structure ---- */

static bool in_object(const struct jsonpull *reader)
{
    unsigned level = reader->depth - 1;
    return reader->depth && (reader->objects[level / 64] >> (level % 64) & 1);
}

static enum jsonpull_type open_bracket(struct jsonpull *reader, bool object)
{
    unsigned level = reader->depth;
    if (level == JSONPULL_DEPTH)
        return fail(reader, "nested too deeply");
    uint64_t bit = (uint64_t)1 << (level % 64);
    reader->objects[level / 64] &= ~bit;
    reader->objects[level / 64] |= object ? bit : 0;
    reader->depth++;
    reader->expect = WANT_FIRST;
    reader->text = (struct nl_str){reader->at++, 1};
    return reader->type = object ? JSONPULL_OBJECT : JSONPULL_ARRAY;
}

static enum jsonpull_type close_bracket(struct jsonpull *reader, bool object)
{
    if (object != in_object(reader))
        return fail(reader, "a closing bracket of the wrong kind");
    reader->depth--;
    reader->expect = reader->depth ? WANT_NEXT : WANT_DONE;
    reader->text = (struct nl_str){reader->at++, 1};
    return reader->type = object ? JSONPULL_OBJECT_END : JSONPULL_ARRAY_END;
}

static enum jsonpull_type read_key(struct jsonpull *reader)
{
    if (!read_string(reader, true))
        return JSONPULL_ERROR;
    /* looking for the colon may move the window, and the key with it */
    struct nl_str key = reader->text;
    bool inside = key.ptr >= reader->start && key.ptr <= reader->end;
    size_t back = inside ? (size_t)(reader->at - key.ptr) : 0;
    size_t ahead = 0;
    const char *hold = reader->hold;
    if (!hold && inside)
        reader->hold = key.ptr;
    int c = byte_after_spaces(reader, &ahead);
    if (inside)
        reader->text.ptr = reader->at - back;
    if (!hold)
        reader->hold = NULL;
    if (c != ':')
        return c < 0 ? fail_cut(reader) : fail(reader, "a key without a colon");
    reader->at += ahead + 1;
    reader->expect = WANT_VALUE;
    return reader->type = JSONPULL_KEY;
}

static enum jsonpull_type read_value(struct jsonpull *reader, int c)
{
    if (c == '{' || c == '[')
        return open_bracket(reader, c == '{');
    if (c == '"')
        reader->type = read_string(reader, false) ? JSONPULL_STRING : JSONPULL_ERROR;
    else
        reader->type = read_word(reader);
    reader->expect = reader->depth ? WANT_NEXT : WANT_DONE;
    return reader->type;
}

/* Passes the comma between two members or items; c becomes what follows it. */
static bool pass_comma(struct jsonpull *reader, int *c)
{
    if (*c != ',') {
        fail(reader, "a comma is missing");
        return false;
    }
    reader->at++;
    *c = peek(reader);
    if (*c == '}' || *c == ']')
        reader->repairs++;
    return true;
}

static void pass_byte_order_mark(struct jsonpull *reader)
{
    if (byte_at(reader, 0) == 0xEF && byte_at(reader, 1) == 0xBB && byte_at(reader, 2) == 0xBF)
        reader->at += 3;
}

static enum jsonpull_type at_end(struct jsonpull *reader)
{
    bool whole = reader->expect == WANT_DONE || reader->options & JSONPULL_MANY;
    if (!whole || reader->depth || reader->problem)
        return fail_cut(reader);
    reader->text = (struct nl_str){"", 0};
    return reader->type = JSONPULL_END;
}

/* The token that begins with c. */
static enum jsonpull_type read_token(struct jsonpull *reader, int c)
{
    if (c == '}' || c == ']') {
        if (reader->expect == WANT_VALUE)
            return fail(reader, "a value is missing");
        return close_bracket(reader, c == '}');
    }
    if (reader->expect == WANT_VALUE || !in_object(reader))
        return read_value(reader, c);
    return c == '"' ? read_key(reader) : fail(reader, "a key is missing");
}

enum jsonpull_type jsonpull_next(struct jsonpull *reader)
{
    if (reader->problem)
        return reader->type = JSONPULL_ERROR;
    if (jsonpull_offset(reader) == 0)
        pass_byte_order_mark(reader);
    int c = peek(reader);
    if (reader->expect == WANT_DONE && c >= 0) {
        if (!(reader->options & JSONPULL_MANY))
            return fail(reader, "text after the end of the document");
        reader->expect = WANT_VALUE;
    }
    if (reader->expect == WANT_NEXT && c >= 0 && c != '}' && c != ']' && !pass_comma(reader, &c))
        return JSONPULL_ERROR;
    reader->offset = jsonpull_offset(reader);
    return c < 0 ? at_end(reader) : read_token(reader, c);
}

bool jsonpull_member(struct jsonpull *reader)
{
    return jsonpull_next(reader) == JSONPULL_KEY;
}

bool jsonpull_item(struct jsonpull *reader)
{
    enum jsonpull_type type = jsonpull_next(reader);
    return type > JSONPULL_END && type != JSONPULL_ARRAY_END;
}

/* ---- Passing over ---- */

/* Moves to the next byte that opens or closes a string or a bracket. */
static int next_mark(struct jsonpull *reader)
{
    for (;;) {
        for (const char *p = reader->at; p < reader->end; p++) {
            unsigned char c = (unsigned char)*p;
            if (c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}') { /* also [ and ] */
                reader->at = p;
                return c;
            }
        }
        reader->at = reader->end;
        if (!more(reader))
            return -1;
    }
}

/* With JSONPULL_QUOTES: whether the string at reader->at is a key is not known here; it ends where
 * either could. */
static bool skip_string(struct jsonpull *reader)
{
    bool escaped = false;
    reader->at++;
    if (!(reader->options & JSONPULL_QUOTES))
        return pass_string(reader, false, &escaped);
    unsigned options = reader->options;
    reader->options &= ~(unsigned)JSONPULL_QUOTES;
    bool done;
    while ((done = pass_string(reader, false, &escaped)) && !ends_string(reader, true) &&
           !ends_string(reader, false))
        reader->repairs++;
    reader->options = options;
    return done;
}

/* Moves past the bracket that closes the innermost `levels` open ones. */
static void skip_brackets(struct jsonpull *reader)
{
    uint64_t open = 1;
    while (open) {
        int c = next_mark(reader);
        if (c == '"') {
            if (!skip_string(reader))
                c = -1;
        } else if (c >= 0) {
            reader->at++;
            open = (c | 0x20) == '{' ? open + 1 : open - 1;
        }
        if (c < 0) {
            fail_cut(reader);
            return;
        }
    }
    reader->type = in_object(reader) ? JSONPULL_OBJECT_END : JSONPULL_ARRAY_END;
    reader->depth--;
    reader->expect = reader->depth ? WANT_NEXT : WANT_DONE;
}

void jsonpull_skip(struct jsonpull *reader)
{
    if (reader->type == JSONPULL_KEY)
        jsonpull_next(reader);
    if (reader->type == JSONPULL_OBJECT || reader->type == JSONPULL_ARRAY)
        skip_brackets(reader);
}

bool jsonpull_resume(struct jsonpull *reader, unsigned depth, const char *mark)
{
    size_t len = strlen(mark);
    if (depth > reader->depth || reader->cut || (reader->err && reader->err->code != NL_OK))
        return false;
    reader->problem = NULL;
    reader->hold = NULL;
    for (;;) {
        const char *found = memmem(reader->at, (size_t)(reader->end - reader->at), mark, len);
        if (found) {
            reader->at = found;
            reader->depth = depth;
            reader->expect = WANT_FIRST;
            return true;
        }
        if ((size_t)(reader->end - reader->at) >= len)
            reader->at = reader->end - (len - 1);
        if (!more(reader))
            break;
    }
    reader->at = reader->end;
    fail(reader, "damaged up to the end");
    return false;
}

bool jsonpull_raw(struct jsonpull *reader, struct nl_str *text)
{
    if (reader->type == JSONPULL_KEY) {
        if (peek(reader) < 0) {
            fail_cut(reader);
            return false;
        }
        reader->hold = reader->at;
        jsonpull_next(reader);
    } else if (reader->type == JSONPULL_OBJECT || reader->type == JSONPULL_ARRAY) {
        reader->hold = reader->at - 1;
    } else {
        *text = reader->text;
        return reader->type >= JSONPULL_STRING;
    }
    if (reader->type == JSONPULL_OBJECT || reader->type == JSONPULL_ARRAY)
        skip_brackets(reader);
    if (!reader->problem)
        *text = (struct nl_str){reader->hold, (size_t)(reader->at - reader->hold)};
    reader->hold = NULL;
    return !reader->problem;
}
