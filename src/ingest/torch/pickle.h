/*
 * pickle — Python pickles of plain data, read without running anything.
 *
 *     struct pickle pickle;
 *     if (!pickle_read(&pickle, bytes, len, job, err)) ...       // bytes stay until pickle_free
 *     struct pickle_value entries = pickle_get(&pickle, pickle.root, "entries");
 *     for (uint32_t i = 0; i < pickle_count(&pickle, entries); i++)
 *         ... pickle_i64(&pickle, pickle_get(&pickle, pickle_item(&pickle, entries, i), "size"))
 *     pickle_free(&pickle);
 *
 * A pickle is a program for a stack machine. The opcodes that build numbers, text, lists, tuples
 * and dictionaries are carried out; every opcode that would look up or call code (GLOBAL, REDUCE,
 * BUILD, …) refuses the file. Text borrows from the bytes. A value is 8 bytes; nothing recurses.
 * Shared and even circular values are fine to hold: who walks them goes down a fixed number of
 * levels and asks pickle_spend, which bounds the walk by the size of the file.
 *
 * A pickle that ends early gives what its lists and dictionaries hold until then (`cut`).
 *
 * Of a dictionary with one long list of dictionaries, pickle_read_watched hands over each of these
 * as soon as it is whole and then forgets it (picklewatch.h).
 */
#ifndef PICKLE_H
#define PICKLE_H

#include "base/job.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/err.h"
#include "ingest/torch/picklememo.h"

struct pickle_watch;

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_BIG, /* an integer over 60 bits */
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_LIST,
    PICKLE_TUPLE,
    PICKLE_DICT,
    PICKLE_OTHER /* bytes, integers over 64 bits */
};

#define PICKLE_PLACES 256

/* Where a key was found last. */
struct pickle_place {
    const char *key;
    uint32_t at; /* among the dictionary's items */
    uint64_t bits;
};

struct pickle_watch;

struct pickle {
    struct pickle_value root;
    bool cut;
    /* private */
    const struct pickle_watch *watch; /* NULL: takes no (more) items */
    size_t list_at, taken; /* stack index of the list; number of its items already taken */
    struct pickle_passing passing;
    bool lost; /* the program asked for what was forgotten */
    const unsigned char *bytes;
    size_t len, at;
    struct nl_job *job;
    struct nl_arena arena;
    struct pickle_memo memo;
    struct pickle_value *stack;
    size_t depth, stack_cap;
    size_t *marks, mark_count, mark_cap;
    struct pickle_items *items;
    size_t item_count, item_cap;
    struct nl_str *texts;
    size_t text_count, text_cap;
    uint64_t *wide; /* doubles and wide integers */
    size_t wide_count, wide_cap;
    uint64_t to_spend;
    struct pickle_place *places; /* by a hash of the key's pointer */
};

/* Fails with NL_FORMAT (no pickle, would load code, makes no sense), NL_MEMORY, NL_INTERRUPTED. */
NL_MUST_CHECK bool pickle_read(struct pickle *pickle, const void *bytes, size_t len,
                               struct nl_job *job, struct nl_err *err);
void pickle_free(struct pickle *pickle);

/* picklejson.c: the program that builds what a JSON document holds, into `program` (which must live
 * as long as the pickle read from it). *cut: the document ended early, what was whole is in it. */
NL_MUST_CHECK bool pickle_from_json(struct nl_buf *program, const void *bytes, size_t len,
                                    bool *cut, struct nl_err *err);

static inline enum pickle_type pickle_type(struct pickle_value value)
{
    return (enum pickle_type)(value.bits & 15);
}

static inline struct pickle_items *pickle_container(const struct pickle *pickle,
                                                    struct pickle_value value)
{
    uint64_t number = value.bits >> 4;
    return number & PICKLE_PASSING ? &pickle->passing.items[number & ~PICKLE_PASSING]
                                   : &pickle->items[number];
}

/* Items of a list or tuple, pairs of a dictionary; 0 for others. */
static inline uint32_t pickle_count(const struct pickle *pickle, struct pickle_value value)
{
    if (pickle_type(value) < PICKLE_LIST || pickle_type(value) > PICKLE_DICT)
        return 0;
    uint32_t count = pickle_container(pickle, value)->count;
    return pickle_type(value) == PICKLE_DICT ? count / 2 : count;
}

/* Item of a list or tuple, or value of a dictionary's pair; NONE outside. */
static inline struct pickle_value pickle_item(const struct pickle *pickle,
                                              struct pickle_value value, uint32_t i)
{
    if (i >= pickle_count(pickle, value))
        return (struct pickle_value){PICKLE_NONE};
    size_t at = pickle_type(value) == PICKLE_DICT ? 2 * (size_t)i + 1 : i;
    return pickle_container(pickle, value)->values[at];
}

/* Unknown (NL_NULL_I64 = INT64_MIN) when it is no integer of 64 bits. */
static inline int64_t pickle_i64(const struct pickle *pickle, struct pickle_value value)
{
    if (pickle_type(value) == PICKLE_INT)
        return (int64_t)value.bits >> 4;
    if (pickle_type(value) == PICKLE_BIG)
        return (int64_t)pickle->wide[value.bits >> 4];
    return INT64_MIN;
}

/* Empty when it is no text. */
static inline struct nl_str pickle_text(const struct pickle *pickle, struct pickle_value value)
{
    if (pickle_type(value) != PICKLE_TEXT)
        return (struct nl_str){"", 0};
    return pickle->texts[value.bits >> 4];
}

static inline bool pickle_bool(struct pickle_value value)
{
    return (pickle_type(value) == PICKLE_BOOL || pickle_type(value) == PICKLE_INT) &&
           value.bits >> 4;
}

/* Work on `items` more things; false when a walk has cost more than the file is worth. */
static inline bool pickle_spend(struct pickle *pickle, uint64_t items)
{
    if (items > pickle->to_spend) {
        pickle->to_spend = 0;
        return false;
    }
    pickle->to_spend -= items;
    return true;
}

/* ---- picklevalue.c ---- */

/* All of them, for loops that count; NULL when there are none. */
const struct pickle_value *pickle_items(const struct pickle *pickle, struct pickle_value list);
struct pickle_value pickle_key(const struct pickle *pickle, struct pickle_value dict, uint32_t i);
/* Value of a key; NONE when it is not there or this is no dictionary. Dictionaries of one list
 * mostly have their keys in one order: the place where a key (known by its pointer, so it should be
 * a constant) was found last is asked first. */
struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value dict,
                               const char *key);

/* Which field is at which place of a dictionary, as it was in the one before. */
#define PICKLE_FIELDS 32
struct pickle_layout {
    const struct nl_str *keys;    /* of fields 0 to count - 1; at most PICKLE_FIELDS */
    unsigned count, places;       /* places: of the dictionary before, when all keys were plain */
    uint64_t bits[PICKLE_FIELDS]; /* of the key at a place */
    uint8_t field[PICKLE_FIELDS];
};

/* The values of all fields of a dictionary in one walk: as pickle_get, for records of many fields.
 * `items` are key, value, key, value; `values` has room for one more than there are fields. */
void pickle_fields(const struct pickle *pickle, struct pickle_layout *layout,
                   const struct pickle_value *items, size_t count, struct pickle_value *values);
/* Keys and values of a dictionary, for this; none of what is no dictionary. */
const struct pickle_value *pickle_pairs(const struct pickle *pickle, struct pickle_value dict,
                                        size_t *count);

/* An integer of 64 bits of either sign, or UINT64_MAX. */
uint64_t pickle_u64(const struct pickle *pickle, struct pickle_value value);
/* Integers too; NaN when it is no number. */
double pickle_f64(const struct pickle *pickle, struct pickle_value value);

/* The same with the dictionaries of one list taken on the way (picklewatch.h). */
NL_MUST_CHECK bool pickle_read_watched(struct pickle *pickle, const void *bytes, size_t len,
                                       const struct pickle_watch *watch, struct nl_job *job,
                                       struct nl_err *err);

#endif
