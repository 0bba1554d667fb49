/*
 * The stack machine of pickles: opcodes.
 */
#include "ingest/torch/picklemake.h"
#include "ingest/torch/pickle.h"
#include "ingest/torch/picklewatch.h"

#include <string.h>

enum step { GO_ON, STOP, CUT, FAIL };

/* `len` (1, 2, 4 or 8) little-endian bytes from the program; CUT when they are not there. */
static bool number(struct pickle *p, unsigned len, uint64_t *value)
{
    if (p->len - p->at < len)
        return false;
    const unsigned char *from = p->bytes + p->at;
    *value = 0;
    switch (len) {
    case 1: *value = *from; break;
    case 2: memcpy(value, from, 2); break; /* little-endian, as our machines are */
    case 4: memcpy(value, from, 4); break;
    default: memcpy(value, from, 8); break;
    }
    p->at += len;
    return true;
}

static enum step text_or_bytes(struct pickle *p, unsigned size, enum pickle_type type)
{
    uint64_t len;
    if (!number(p, size, &len) || len > p->len - p->at)
        return CUT;
    if (type == PICKLE_TEXT) {
        nl_grow(&p->texts, &p->text_cap, p->text_count + 1);
        p->texts[p->text_count] = (struct nl_str){(const char *)p->bytes + p->at, (size_t)len};
        pickle_push(p, pickle_make(PICKLE_TEXT, p->text_count++));
    } else {
        pickle_push(p, pickle_make(PICKLE_OTHER, 0));
    }
    p->at += (size_t)len;
    return GO_ON;
}

/* Two's complement, little-endian, any length. */
static enum step long_integer(struct pickle *p, unsigned size)
{
    uint64_t len, value = 0;
    if (!number(p, size, &len) || len > p->len - p->at)
        return CUT;
    const unsigned char *bytes = p->bytes + p->at;
    p->at += (size_t)len;
    bool negative = len && bytes[len - 1] & 0x80;
    bool fits = len <= 8 || (len == 9 && bytes[8] == 0);
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)(i < len ? bytes[i] : negative ? 0xff : 0) << (8 * i);
    pickle_push(p, !fits      ? pickle_make(PICKLE_OTHER, 0)
                   : len == 9 ? pickle_wide(p, PICKLE_BIG, value)
                              : pickle_integer(p, (int64_t)value));
    return GO_ON;
}

static enum step fixed_integer(struct pickle *p, unsigned size)
{
    uint64_t value;
    if (!number(p, size, &value))
        return CUT;
    pickle_push(p, pickle_integer(p, size == 4 ? (int32_t)value : (int64_t)value));
    return GO_ON;
}

/* Big-endian. */
static enum step floating(struct pickle *p, unsigned unused)
{
    (void)unused;
    uint64_t value;
    if (!number(p, 8, &value))
        return CUT;
    pickle_push(p, pickle_wide(p, PICKLE_FLOAT, __builtin_bswap64(value)));
    return GO_ON;
}

static enum step memoize_top(struct pickle *p, uint64_t index)
{
    if (!p->depth)
        return FAIL;
    if (pickle_memo_put(&p->memo, index, p->stack[p->depth - 1]))
        return GO_ON;
    p->lost = index < p->memo.count;
    return FAIL;
}

static enum step get(struct pickle *p, uint64_t index)
{
    struct pickle_value value;
    if (!pickle_memo_get(p, index, &value)) {
        p->lost = index < p->memo.count;
        return FAIL;
    }
    pickle_push(p, value);
    return GO_ON;
}

static enum step put_at(struct pickle *p, unsigned size)
{
    uint64_t index;
    return number(p, size, &index) ? memoize_top(p, index) : CUT;
}

static enum step put_next(struct pickle *p, unsigned unused)
{
    (void)unused;
    return memoize_top(p, p->memo.count);
}

static enum step get_at(struct pickle *p, unsigned size)
{
    uint64_t index;
    return number(p, size, &index) ? get(p, index) : CUT;
}

static enum step mark(struct pickle *p, unsigned unused)
{
    (void)unused;
    nl_grow(&p->marks, &p->mark_cap, p->mark_count + 1);
    p->marks[p->mark_count++] = p->depth;
    if (p->list_at && pickle_watch_items(p) && !p->watch->keep) {
        p->passing.on = true;
        p->passing.wide_base = p->wide_count;
    }
    return GO_ON;
}

/* Everything above the last mark goes into the container below it. */
static enum step append_marked(struct pickle *p, unsigned type)
{
    if (!p->mark_count)
        return FAIL;
    size_t items = p->list_at ? pickle_watch_items(p) : 0, from = p->marks[--p->mark_count];
    if (from == 0 || from > p->depth || pickle_type(p->stack[from - 1]) != type)
        return FAIL;
    if (items)
        pickle_watch_close(p, from);
    size_t count = p->depth - from;
    if (type == PICKLE_DICT && count % 2)
        return FAIL;
    if (type == PICKLE_DICT && p->list_at && pickle_watch_take(p, from))
        return GO_ON;
    p->depth = from;
    return pickle_add(p, p->stack[from - 1], p->stack + from, count) ? GO_ON : FAIL;
}

/* A new container of `count` values above the stack's top. */
static enum step new_container(struct pickle *p, enum pickle_type type, size_t count)
{
    struct pickle_value value = pickle_new(p, type);
    if (!pickle_add(p, value, p->stack + p->depth, count))
        return FAIL;
    pickle_push(p, value);
    return GO_ON;
}

/* A tuple of texts is kept for good, once. */
static enum step new_tuple(struct pickle *p, size_t count)
{
    const struct pickle_value *values = p->stack + p->depth;
    bool passing = p->passing.on, texts = true;
    for (size_t i = 0; i < count; i++)
        texts = texts && pickle_type(values[i]) == PICKLE_TEXT;
    if (!passing || !texts)
        return new_container(p, PICKLE_TUPLE, count);
    struct pickle_value *known = count == 2 ? pickle_known_tuple(p, values) : NULL;
    if (known && pickle_type(*known) == PICKLE_TUPLE &&
        memcmp(pickle_container(p, *known)->values, values, 2 * sizeof *values) == 0) {
        pickle_push(p, *known);
        return GO_ON;
    }
    p->passing.on = false;
    enum step step = new_container(p, PICKLE_TUPLE, count);
    p->passing.on = true;
    if (known && step == GO_ON)
        *known = p->stack[p->depth - 1];
    return step;
}

/* A new container of everything above the last mark. */
static enum step collect_marked(struct pickle *p, unsigned type)
{
    if (!p->mark_count || p->marks[p->mark_count - 1] > p->depth)
        return FAIL;
    size_t from = p->marks[--p->mark_count], count = p->depth - from;
    if (type == PICKLE_DICT && count % 2)
        return FAIL;
    p->depth = from;
    return type == PICKLE_TUPLE ? new_tuple(p, count)
                                : new_container(p, (enum pickle_type)type, count);
}

static enum step append_last(struct pickle *p, unsigned type)
{
    size_t count = type == PICKLE_DICT ? 2 : 1;
    if (p->depth <= count || pickle_type(p->stack[p->depth - count - 1]) != type)
        return FAIL;
    p->depth -= count;
    return pickle_add(p, p->stack[p->depth - 1], p->stack + p->depth, count) ? GO_ON : FAIL;
}

static enum step tuple(struct pickle *p, unsigned count)
{
    if (p->depth < count)
        return FAIL;
    p->depth -= count;
    return new_tuple(p, count);
}

static enum step pop(struct pickle *p, unsigned to_mark)
{
    if (to_mark) {
        if (!p->mark_count || p->marks[p->mark_count - 1] > p->depth)
            return FAIL;
        p->depth = p->marks[--p->mark_count];
        return GO_ON;
    }
    if (!p->depth)
        return FAIL;
    p->depth--;
    return GO_ON;
}

static enum step skip(struct pickle *p, unsigned bytes)
{
    if (p->len - p->at < bytes)
        return CUT;
    p->at += bytes;
    return GO_ON;
}

static enum step text(struct pickle *p, unsigned size)
{
    return text_or_bytes(p, size, PICKLE_TEXT);
}

static enum step bytes(struct pickle *p, unsigned size)
{
    return text_or_bytes(p, size, PICKLE_OTHER);
}

static enum step none(struct pickle *p, unsigned unused)
{
    pickle_push(p, pickle_make(PICKLE_NONE, unused));
    return GO_ON;
}

static enum step truth(struct pickle *p, unsigned value)
{
    pickle_push(p, pickle_make(PICKLE_BOOL, value));
    return GO_ON;
}

static enum step empty(struct pickle *p, unsigned type)
{
    if (p->watch && !p->list_at && type == PICKLE_LIST && pickle_watch_list(p))
        p->list_at = p->depth;
    bool item =
        type == PICKLE_DICT && p->list_at && p->watch && p->watch->keep && pickle_watch_items(p);
    p->passing.on |= item;
    pickle_push(p, pickle_new(p, (enum pickle_type)type));
    if (item)
        p->passing.on = false;
    if (p->at < p->len && p->bytes[p->at] == PICKLE_OP_MEMOIZE &&
        pickle_memo_add(&p->memo, p->stack[p->depth - 1]))
        p->at++;
    return GO_ON;
}

static enum step stop(struct pickle *p, unsigned unused)
{
    (void)p;
    (void)unused;
    return STOP;
}

/* Every opcode that is carried out; the argument is a size in bytes, a count, or a type. */
static const struct opcode {
    enum step (*act)(struct pickle *, unsigned);
    unsigned argument;
} opcodes[256] = {
    ['('] = {mark, 0},
    ['.'] = {stop, 0},
    ['0'] = {pop, false},
    ['1'] = {pop, true},
    ['N'] = {none, 0},
    [0x88] = {truth, true},
    [0x89] = {truth, false},
    ['J'] = {fixed_integer, 4},
    ['K'] = {fixed_integer, 1},
    ['M'] = {fixed_integer, 2},
    [PICKLE_OP_LONG1] = {long_integer, 1},
    [0x8b] = {long_integer, 4},
    ['G'] = {floating, 0},
    [0x8c] = {text, 1},
    ['X'] = {text, 4},
    [0x8d] = {text, 8},
    ['U'] = {text, 1}, /* of Python 2 */
    ['T'] = {text, 4},
    ['C'] = {bytes, 1},
    ['B'] = {bytes, 4},
    [0x8e] = {bytes, 8},
    [0x96] = {bytes, 8},
    [']'] = {empty, PICKLE_LIST},
    ['}'] = {empty, PICKLE_DICT},
    [')'] = {empty, PICKLE_TUPLE},
    ['e'] = {append_marked, PICKLE_LIST},
    ['u'] = {append_marked, PICKLE_DICT},
    ['a'] = {append_last, PICKLE_LIST},
    ['s'] = {append_last, PICKLE_DICT},
    ['l'] = {collect_marked, PICKLE_LIST},
    ['d'] = {collect_marked, PICKLE_DICT},
    ['t'] = {collect_marked, PICKLE_TUPLE},
    [0x85] = {tuple, 1},
    [0x86] = {tuple, 2},
    [0x87] = {tuple, 3},
    ['q'] = {put_at, 1},
    ['r'] = {put_at, 4},
    [PICKLE_OP_MEMOIZE] = {put_next, 0},
    ['h'] = {get_at, 1},
    ['j'] = {get_at, 4},
    [0x80] = {skip, 1}, /* PROTO */
    [0x95] = {skip, 8}, /* FRAME */
};

/* Name of an opcode that would look up or call code; NULL for others. */
static const char *code_opcode(unsigned char opcode)
{
    static const struct {
        unsigned char opcode;
        const char *name;
    } names[] = {{'c', "GLOBAL"},   {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},
                 {'i', "INST"},     {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
                 {0x82, "EXT1"},    {0x83, "EXT2"},         {0x84, "EXT4"},   {'P', "PERSID"},
                 {'Q', "BINPERSID"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].opcode == opcode)
            return names[i].name;
    return NULL;
}

static bool refuse_opcode(struct pickle *p, unsigned char opcode, struct nl_err *err)
{
    const char *code = code_opcode(opcode);
    if (err)
        err->offset = (int64_t)p->at - 1;
    if (code)
        return nl_fail(
            err, NL_FORMAT,
            "this pickle asks to load and run code (opcode %s); it is refused, only plain "
            "data is read",
            code);
    return nl_fail(err, NL_FORMAT, "the pickle is invalid at opcode 0x%02x; copy the file again",
                   opcode);
}

/* A list whose only item was being made stands below it, and both are one value of a dictionary. */
static void append_pending(struct pickle *p, size_t from)
{
    while ((p->depth - from) % 2 && p->depth - from > 2 &&
           pickle_type(p->stack[p->depth - 2]) == PICKLE_LIST) {
        p->depth--;
        (void)pickle_add(p, p->stack[p->depth - 1], p->stack + p->depth, 1);
    }
}

/* What was open when the bytes ended, closed as far as it goes. */
static void close_open(struct pickle *p)
{
    while (p->mark_count) {
        size_t items = pickle_watch_items(p), from = p->marks[--p->mark_count];
        if (from > p->depth)
            continue;
        if (from == 0) {
            p->depth = 0;
            continue;
        }
        struct pickle_value below = p->stack[from - 1];
        if (items)
            pickle_watch_close(p, from);
        if (pickle_type(below) == PICKLE_DICT)
            append_pending(p, from);
        size_t count = p->depth - from;
        p->depth = from;
        if (pickle_type(below) == PICKLE_DICT)
            (void)pickle_add(p, below, p->stack + from, count & ~(size_t)1);
        else if (pickle_type(below) == PICKLE_LIST)
            (void)pickle_add(p, below, p->stack + from, count);
    }
    p->cut = true;
}

/* Bytes held for values, against two thirds of the budget: the store needs room, too. */
static bool over_budget(const struct pickle *p)
{
    uint64_t held = p->arena.used + (p->stack_cap + p->wide_cap) * 8 +
                    (p->memo.held * PICKLE_MEMO_BLOCK + p->memo.block_cap) * 8 +
                    (p->item_cap + p->passing.item_cap + p->text_cap) * 16;
    return p->job && p->job->memory_bytes && held > p->job->memory_bytes / 3 * 2;
}

static bool run_pickle(struct pickle *p, struct nl_err *err)
{
    enum step step = GO_ON;
    for (uint64_t i = 1; step == GO_ON; i++) {
        pickle_run_frequent(p);
        if (p->at == p->len) {
            step = CUT;
            break;
        }
        unsigned char opcode = p->bytes[p->at++];
        const struct opcode *entry = &opcodes[opcode];
        step = entry->act ? entry->act(p, entry->argument) : FAIL;
        if (step == FAIL)
            return p->lost ? false : refuse_opcode(p, opcode, err);
        if (i % 16384)
            continue;
        if (nl_job_cancelled(p->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (over_budget(p))
            return nl_fail(err, NL_MEMORY,
                           "the pickle exceeds the memory limit; raise it with --memory");
    }
    if (step == CUT)
        close_open(p);
    if (!p->depth)
        return nl_fail(err, NL_FORMAT, "an empty pickle; copy the file again");
    p->root = p->stack[p->cut ? 0 : p->depth - 1];
    return true;
}

static bool read_once(struct pickle *pickle, const struct pickle_watch *watch, struct nl_err *err)
{
    pickle->watch = watch;
    pickle->passing.wide_base = SIZE_MAX;
    nl_arena_init(&pickle->arena);
    pickle_memo_init(&pickle->memo);
    pickle->to_spend = ((uint64_t)pickle->len + 4096) * 64;
    pickle->places = nl_zalloc(PICKLE_PLACES * sizeof *pickle->places);
    if (watch)
        pickle->passing.pool = nl_alloc(PICKLE_POOL * sizeof *pickle->passing.pool);
    nl_grow(&pickle->stack, &pickle->stack_cap, 16); /* never NULL: empty runs of it are taken */
    bool done = run_pickle(pickle, err);
    nl_free(pickle->stack);
    nl_free(pickle->marks);
    pickle_memo_free(&pickle->memo);
    pickle->stack = NULL;
    pickle->marks = NULL;
    pickle->stack_cap = 0;
    return done;
}

bool pickle_read_watched(struct pickle *pickle, const void *bytes, size_t len,
                         const struct pickle_watch *watch, struct nl_job *job, struct nl_err *err)
{
    *pickle = (struct pickle){.bytes = bytes, .len = len, .job = job};
    bool done = read_once(pickle, watch, err);
    if (pickle->lost) {
        size_t taken = pickle->taken;
        pickle_free(pickle);
        *pickle = (struct pickle){.bytes = bytes, .len = len, .job = job};
        done = read_once(pickle, NULL, err);
        pickle->taken = taken;
        pickle->lost = true;
    }
    if (!done)
        pickle_free(pickle);
    return done;
}

bool pickle_read(struct pickle *pickle, const void *bytes, size_t len, struct nl_job *job,
                 struct nl_err *err)
{
    return pickle_read_watched(pickle, bytes, len, NULL, job, err);
}

void pickle_free(struct pickle *pickle)
{
    nl_arena_free(&pickle->arena);
    nl_free(pickle->items);
    nl_free(pickle->texts);
    nl_free(pickle->wide);
    nl_free(pickle->places);
    nl_free(pickle->passing.items);
    nl_free(pickle->passing.pool);
    *pickle = (struct pickle){.len = 0};
}
