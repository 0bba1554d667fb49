/*
 * marshal — the few kinds of values of Python's marshal format that saved profiles consist of:
 * numbers and texts, one at a time, and the openings of tuples and dicts. Nothing is built, nothing
 * is run: code objects and all other kinds are refused.
 *
 * Values that carry the reference flag are numbered in the order they begin; a reference gives the
 * value of that number again. What a container became is the caller's to say, and what a text
 * became may be: marshal_define. Values are two words, so that they stay in registers.
 */
#ifndef MARSHAL_H
#define MARSHAL_H

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum marshal_type {
    MARSHAL_ERROR, /* see problem */
    MARSHAL_NONE,
    MARSHAL_INTEGER,
    MARSHAL_REAL,
    MARSHAL_TEXT,     /* marshal_text */
    MARSHAL_TUPLE,    /* its `count` values follow */
    MARSHAL_DICT,     /* keys and values follow, up to MARSHAL_DICT_END in place of a key */
    MARSHAL_DICT_END, /* code '0' */
    MARSHAL_DEFINED   /* a reference: `integer` is what the caller made of it, `count` what kind */
};

#define MARSHAL_NO_NUMBER UINT32_MAX

struct marshal_value {
    union {               /* as the type says */
        const char *text; /* borrowed from the bytes */
        int64_t integer;  /* NL_NULL_I64 when it does not fit */
        double real;
    };
    enum marshal_type type;
    uint32_t count; /* of a tuple's values, or a text's bytes */
};

struct marshal {
    const unsigned char *start, *at, *end;
    const unsigned char *reference; /* where the last one began */
    ptrdiff_t record;               /* from one reference to the next, as it was last */
    struct marshal_value *values;   /* by reference number */
    size_t count, cap;
    uint32_t number;         /* of the last container or text, or MARSHAL_NO_NUMBER */
    struct nl_str *interned; /* Python 2's second numbering, of texts */
    size_t interned_count, interned_cap;
    const char *problem; /* static text; set once */
};

void marshal_init(struct marshal *marshal, const void *bytes, size_t len); /* borrows */
void marshal_release(struct marshal *marshal);

/* What later references to value `number` shall give, as MARSHAL_DEFINED;
 * nothing without a number. */
static inline void marshal_define(struct marshal *marshal, uint32_t number, uint32_t kind,
                                  int64_t meaning)
{
    if (number < marshal->count)
        marshal->values[number] =
            (struct marshal_value){.type = MARSHAL_DEFINED, .integer = meaning, .count = kind};
}

static inline struct nl_str marshal_text(const struct marshal_value *value)
{
    return (struct nl_str){value->text, value->count};
}

/* marshal_next of all but the most frequent values. */
struct marshal_value marshal_next_other(struct marshal *marshal);

#define MAX_MARSHAL_RECORD 64
#define MARSHAL_AHEAD      3 /* records */

/* Callers are records that mostly have one length, each beginning with a reference to
 * anywhere: what those to come refer to is fetched while this one is read. `at` is
 * where this reference begins. */
static inline void marshal_expect(struct marshal *marshal, const unsigned char *at)
{
    if (at - marshal->reference < MAX_MARSHAL_RECORD)
        marshal->record = at - marshal->reference;
    marshal->reference = at;
    ptrdiff_t ahead = marshal->record * MARSHAL_AHEAD;
    uint32_t number;
    if (marshal->end - at < ahead + 5 || at[ahead] != 'r')
        return;
    memcpy(&number, at + ahead + 1, 4);
    if (number < marshal->count)
        __builtin_prefetch(&marshal->values[number]);
}

/* The next value. Numbers and references without the flag, which profiles have most of, are read
 * here. */
static inline struct marshal_value marshal_next(struct marshal *marshal)
{
    const unsigned char *at = marshal->at;
    struct marshal_value value = {.count = 0};
    int32_t number;
    if (marshal->end - at < 9 || marshal->problem)
        return marshal_next_other(marshal);
    memcpy(&number, at + 1, 4);
    switch (*at) {
    case 'i':
        value.type = MARSHAL_INTEGER;
        value.integer = number;
        marshal->at = at + 5;
        return value;
    case 'g':
        value.type = MARSHAL_REAL;
        memcpy(&value.real, at + 1, 8);
        marshal->at = at + 9;
        return value;
    case 'r':
        if ((uint32_t)number >= marshal->count)
            break;
        marshal_expect(marshal, at);
        value = marshal->values[(uint32_t)number];
        if (value.type >= MARSHAL_TEXT && value.type <= MARSHAL_DICT)
            break; /* texts get their number there, containers are refused */
        marshal->at = at + 5;
        return value;
    default: break;
    }
    return marshal_next_other(marshal);
}

#endif
