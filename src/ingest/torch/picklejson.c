/*
 * JSON as a pickle program, so that files that exist in both forms have one reader: an opening
 * bracket becomes EMPTY_DICT or EMPTY_LIST and a MARK, a closing one adds what came since. Short
 * texts are memoised, since keys are many and equal. Where the text ends early, what is open is
 * closed, so that all that was whole can be asked for.
 */
#include <string.h>

#include "parse/jsonpull.h"
#include "ingest/torch/pickle.h"

enum opcode {
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    MARK = '(',
    APPENDS = 'e',
    SETITEMS = 'u',
    NONE = 'N',
    TRUE_VALUE = 0x88,
    FALSE_VALUE = 0x89,
    BININT1 = 'K',
    BININT = 'J',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    BINUNICODE = 'X',
    LONG_BINPUT = 'r',
    LONG_BINGET = 'j',
    STOP = '.'
};

#define KNOWN_TEXTS 1024
#define KNOWN_BYTES 64 /* longer texts are not memoised */

struct known_text {
    size_t at; /* in the program; 0 = none */
    uint32_t len, memo;
};

struct writer {
    struct jsonpull *json;
    struct nl_buf *out;
    bool keyed[JSONPULL_DEPTH]; /* open containers: a value there follows a key */
    unsigned depth;
    bool key; /* a key was written, its value was not */
    uint32_t memo_count;
    struct known_text known[KNOWN_TEXTS]; /* by hash; the one met last */
};

static void put_opcode(struct writer *w, enum opcode opcode)
{
    nl_buf_char(w->out, (char)opcode);
}

/* An opcode and the little-endian bytes of its argument. */
static void put_number(struct writer *w, enum opcode opcode, uint64_t bits, unsigned bytes)
{
    char text[9] = {(char)opcode};
    memcpy(text + 1, &bits, 8); /* little-endian, as our machines are */
    nl_buf_add(w->out, text, 1 + bytes);
}

static void put_text(struct writer *w, struct nl_str text)
{
    struct known_text *known = &w->known[nl_hash(text.ptr, text.len) % KNOWN_TEXTS];
    if (known->at && nl_str_eq(text, (struct nl_str){w->out->ptr + known->at, known->len})) {
        put_number(w, LONG_BINGET, known->memo, 4);
        return;
    }
    put_number(w, BINUNICODE, text.len, 4);
    if (!w->out->overflow && text.len <= KNOWN_BYTES) {
        *known = (struct known_text){w->out->len, (uint32_t)text.len, w->memo_count++};
        nl_buf_add(w->out, text.ptr, text.len);
        put_number(w, LONG_BINPUT, known->memo, 4);
    } else {
        nl_buf_add(w->out, text.ptr, text.len);
    }
}

static void put_whole(struct writer *w, int64_t whole)
{
    if (whole >= 0 && whole < 256) {
        put_number(w, BININT1, (uint64_t)whole, 1);
    } else if (whole >= INT32_MIN && whole <= INT32_MAX) {
        put_number(w, BININT, (uint64_t)whole, 4);
    } else {
        put_number(w, LONG1, 8, 1);
        nl_buf_add(w->out, (const char *)&whole, 8);
    }
}

static void put_scalar(struct writer *w)
{
    int64_t whole;
    double real;
    uint64_t bits;
    switch (w->json->type) {
    case JSONPULL_STRING: put_text(w, w->json->text); return;
    case JSONPULL_TRUE: put_opcode(w, TRUE_VALUE); return;
    case JSONPULL_FALSE: put_opcode(w, FALSE_VALUE); return;
    case JSONPULL_NUMBER:
        if (jsonpull_i64(w->json, &whole)) {
            put_whole(w, whole);
        } else if (jsonpull_f64(w->json, &real)) {
            memcpy(&bits, &real, sizeof bits);
            put_number(w, BINFLOAT, __builtin_bswap64(bits), 8);
        } else {
            put_opcode(w, NONE);
        }
        return;
    default: put_opcode(w, NONE); return;
    }
}

static void begin_container(struct writer *w, bool keyed)
{
    put_opcode(w, keyed ? EMPTY_DICT : EMPTY_LIST);
    put_opcode(w, MARK);
    w->keyed[w->depth++] = keyed;
    w->key = false;
}

static void end(struct writer *w)
{
    put_opcode(w, w->keyed[--w->depth] ? SETITEMS : APPENDS);
    w->key = false;
}

static void write_all(struct writer *w)
{
    do {
        switch (jsonpull_next(w->json)) {
        case JSONPULL_ERROR:
        case JSONPULL_END: return;
        case JSONPULL_OBJECT: begin_container(w, true); break;
        case JSONPULL_ARRAY: begin_container(w, false); break;
        case JSONPULL_OBJECT_END:
        case JSONPULL_ARRAY_END: end(w); break;
        case JSONPULL_KEY:
            put_text(w, w->json->text);
            w->key = true;
            break;
        default: put_scalar(w); w->key = false;
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
        if (w->key)
            put_opcode(w, NONE);
        end(w);
    }
    put_opcode(w, STOP);
    if (done && program->overflow)
        done = nl_fail(err, NL_LIMIT, "the document is too large");
    jsonpull_release(json);
    nl_free(json);
    nl_free(w);
    return done;
}
