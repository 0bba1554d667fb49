/*
 * jsonpull — reading JSON token by token, from memory or from a stream of any length.
 *
 *     struct jsonpull r;
 *     jsonpull_stream(&r, stream, 0);                     // or jsonpull_memory
 *     if (jsonpull_next(&r) == JSONPULL_OBJECT)
 *         while (jsonpull_member(&r))                     // r.text is the key, decoded
 *             if (nl_str_is(r.text, "layers"))
 *                 jsonpull_next(&r) ... while (jsonpull_item(&r)) ... jsonpull_skip(&r)
 *             else
 *                 jsonpull_skip(&r);
 *     if (r.problem) ... at jsonpull_offset(&r); r.cut: the text ended early
 *     jsonpull_release(&r);
 *
 * r.text borrows from the document or from a buffer and is valid until the next call that reads;
 * jsonpull_keep copies into an arena. A stream needs memory for the longest token only (256 MiB at
 * most; jsonpull_raw holds a whole value). No recursion: nesting is a bit per level, 4096 at most.
 * After an error every call says JSONPULL_ERROR or false.
 *
 * Always accepted, and counted in r.repairs: comma before a closing bracket, NaN and Infinity in
 * any spelling (JSONPULL_NAN), raw control characters in strings (not counted). By option:
 *     JSONPULL_QUOTES  quotes inside strings that were not escaped: a quote ends a string only
 *                      where what follows may follow a string
 *     JSONPULL_MANY    several documents one after another (JSON lines); JSONPULL_END at the end
 *     JSONPULL_LINES   no string goes over the end of a line: a cut line is an error in that line
 *     JSONPULL_PATHS   backslashes were not escaped: only \", \\, \/ and \u with four digits are
 *                      escapes, so that C:\new\table stays what it is
 */
#ifndef JSONPULL_H
#define JSONPULL_H

#include "base/mem.h"
#include "base/str.h"
#include "base/stream.h"

enum jsonpull_type {
    JSONPULL_ERROR, /* see problem and cut */
    JSONPULL_END,   /* no more text after the document */
    JSONPULL_OBJECT,
    JSONPULL_OBJECT_END,
    JSONPULL_ARRAY,
    JSONPULL_ARRAY_END,
    JSONPULL_KEY,
    JSONPULL_STRING,
    JSONPULL_NUMBER,
    JSONPULL_NAN, /* NaN, inf: a number that is unknown */
    JSONPULL_TRUE,
    JSONPULL_FALSE,
    JSONPULL_NULL
};

enum { JSONPULL_QUOTES = 1, JSONPULL_MANY = 2, JSONPULL_LINES = 4, JSONPULL_PATHS = 8 };

#define JSONPULL_DEPTH 4096

struct jsonpull {
    enum jsonpull_type type; /* the token read last */
    struct nl_str text;      /* its text: strings and keys decoded, without quotes */
    uint64_t offset;         /* where it begins in the (decompressed) document */
    unsigned depth;          /* open brackets after it */
    uint64_t repairs;        /* tolerated faults so far */
    const char *problem;     /* NULL, or what is wrong (static text) */
    bool cut;                /* the text ended inside a value */

    /* ---- the reader's own ---- */
    const char *at, *end; /* unread text */
    const char *hold;     /* start of what must stay when the window moves, or NULL */
    uint64_t passed;      /* bytes of the document before `window` */
    struct nl_stream *stream;
    struct nl_err *err; /* of the stream */
    char *window;       /* owned, streams only */
    const char *start;  /* of the window or of the memory */
    size_t room;
    unsigned options, expect;
    struct nl_buf decoded;
    uint64_t objects[JSONPULL_DEPTH / 64]; /* bit per level: an object, else an array */
};

/* Borrows `bytes`. Options are a sum of the enum above. */
void jsonpull_memory(struct jsonpull *reader, const void *bytes, size_t len, unsigned options);
/* Borrows `stream`; a failure to read it goes to err (borrowed too) and reads as JSONPULL_ERROR. */
void jsonpull_stream(struct jsonpull *reader, struct nl_stream *stream, unsigned options,
                     struct nl_err *err);
void jsonpull_release(struct jsonpull *reader);

/* Reads the next token. */
enum jsonpull_type jsonpull_next(struct jsonpull *reader);

/* Inside an object: reads the next key (then read or skip its value); false at the object's end or
 * on an error. Inside an array: reads the next item's first token; false likewise. */
NL_MUST_CHECK bool jsonpull_member(struct jsonpull *reader);
NL_MUST_CHECK bool jsonpull_item(struct jsonpull *reader);

/* Skips what the token read last began: the value of a key, the rest of an object or array. Nothing
 * after a scalar. Brackets are counted, not matched by kind. An error shows in the next read. */
void jsonpull_skip(struct jsonpull *reader);
/* The same, giving the text passed over: of a key its value, of a bracket everything up to its
 * partner, of a scalar itself (strings with their quotes). False on an error. */
NL_MUST_CHECK bool jsonpull_raw(struct jsonpull *reader, struct nl_str *text);

/* After an error inside a container at `depth`: goes on at the next place where text `mark`
 * stands; that text is read as the start of the container's next item. False when there is no such
 * place or the file cannot be read. */
NL_MUST_CHECK bool jsonpull_resume(struct jsonpull *reader, unsigned depth, const char *mark);

/* Byte in the document that was read up to. */
uint64_t jsonpull_offset(const struct jsonpull *reader);

/* A copy of the token's text, NUL-terminated, that lives in the arena. */
struct nl_str jsonpull_keep(const struct jsonpull *reader, struct nl_arena *arena);

/* The token (a number, or a string that holds one) as a value; false leaves *value alone.
 * jsonpull_ns is exact: text × 10^scale (9 from s, 6 from ms, 3 from µs) rounded to ns. */
bool jsonpull_i64(const struct jsonpull *reader, int64_t *value);
bool jsonpull_f64(const struct jsonpull *reader, double *value);
bool jsonpull_ns(const struct jsonpull *reader, int scale, int64_t *ns);

/* Digits, and only what numbers are made of. */
bool jsonpull_is_number(struct nl_str text);

/* Appends the text with its escapes resolved; wrong escapes stay as they are. `paths` as the option
 * JSONPULL_PATHS. */
void jsonpull_unescape(struct nl_buf *out, struct nl_str text, bool paths);

#endif
