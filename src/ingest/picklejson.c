/*
 * JSON as a pickle program, so that files that exist in both forms have one reader: brackets become
 * EMPTY_DICT and EMPTY_LIST, and what they hold is added one by one. Where the text ends early, what
 * is open is closed, so that all that was whole can be asked for.
 */
#include <string.h>

#include "ingest/jsonpull.h"
#include "ingest/pickle.h"

enum opcode {
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    APPEND = 'a',
    SETITEM = 's',
    NONE = 'N',
    TRUE_VALUE = 0x88,
    FALSE_VALUE = 0x89,
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    BINUNICODE = 'X',
    STOP = '.'
};

struct writer {
    struct jsonpull *json;
    struct nl_buf *out;
    bool keyed[JSONPULL_DEPTH]; /* open containers: a value there follows a key */
    unsigned depth;
    bool key; /* a key was written, its value was not */
};

static void put(struct writer *w, enum opcode opcode)
{
    nl_buf_char(w->out, (char)opcode);
}

static void put_number(struct writer *w, uint64_t bits, unsigned bytes, bool big_endian)
{
    for (unsigned i = 0; i < bytes; i++)
        nl_buf_char(w->out, (char)(bits >> 8 * (big_endian ? bytes - 1 - i : i)));
}

static void put_text(struct writer *w, struct nl_str text)
{
    put(w, BINUNICODE);
    put_number(w, text.len, 4, false);
    nl_buf_add(w->out, text.ptr, text.len);
}

static void put_scalar(struct writer *w)
{
    int64_t whole;
    double real;
    uint64_t bits;
    switch (w->json->type) {
    case JSONPULL_STRING: put_text(w, w->json->text); return;
    case JSONPULL_TRUE: put(w, TRUE_VALUE); return;
    case JSONPULL_FALSE: put(w, FALSE_VALUE); return;
    case JSONPULL_NUMBER:
        if (jsonpull_i64(w->json, &whole)) {
            put(w, LONG1);
            put_number(w, 8, 1, false);
            put_number(w, (uint64_t)whole, 8, false);
        } else if (jsonpull_f64(w->json, &real)) {
            memcpy(&bits, &real, sizeof bits);
            put(w, BINFLOAT);
            put_number(w, bits, 8, true);
        } else {
            put(w, NONE);
        }
        return;
    default: put(w, NONE); return;
    }
}

/* A value is whole: it goes into what is open around it. */
static void add(struct writer *w)
{
    if (w->depth > 0)
        put(w, w->keyed[w->depth - 1] ? SETITEM : APPEND);
    w->key = false;
}

static void begin(struct writer *w, bool keyed)
{
    put(w, keyed ? EMPTY_DICT : EMPTY_LIST);
    w->keyed[w->depth++] = keyed;
    w->key = false;
}

static void end(struct writer *w)
{
    w->depth--;
    add(w);
}

static void write_all(struct writer *w)
{
    do {
        switch (jsonpull_next(w->json)) {
        case JSONPULL_ERROR:
        case JSONPULL_END: return;
        case JSONPULL_OBJECT: begin(w, true); break;
        case JSONPULL_ARRAY: begin(w, false); break;
        case JSONPULL_OBJECT_END:
        case JSONPULL_ARRAY_END: end(w); break;
        case JSONPULL_KEY:
            put_text(w, w->json->text);
            w->key = true;
            break;
        default: put_scalar(w); add(w);
        }
    } while (w->depth > 0 && !w->out->overflow);
}

bool pickle_from_json(struct nl_buf *program, const void *bytes, size_t len, bool *cut,
                      struct nl_err *err)
{
    struct jsonpull *json = nl_zalloc(sizeof *json);
    struct writer *w = nl_zalloc(sizeof *w);
    w->json = json;
    w->out = program;
    nl_buf_text(program, "\x80\x02");
    jsonpull_memory(json, bytes, len, 0);
    write_all(w);
    *cut = w->depth > 0;
    bool done = !json->problem || json->cut;
    if (!done)
        (void)nl_fail(err, NL_FORMAT, "no JSON: %s", json->problem);
    while (w->depth > 0) {
        if (w->key) {
            put(w, NONE);
            add(w);
        }
        end(w);
    }
    put(w, STOP);
    if (done && program->overflow)
        done = nl_fail(err, NL_LIMIT, "the document is too large");
    jsonpull_release(json);
    nl_free(json);
    nl_free(w);
    return done;
}
