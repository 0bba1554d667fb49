/*
 * marshal — the few kinds of values of Python's marshal format that saved profiles consist of: numbers
 * and texts, one at a time, and the openings of tuples and dicts. Nothing is built, nothing is run:
 * code objects and all other kinds are refused.
 *
 * Values that carry the reference flag are numbered in the order they begin; a reference gives the
 * value of that number again. What a container became is the caller's to say: marshal_define.
 */
#ifndef MARSHAL_H
#define MARSHAL_H

#include "base/mem.h"
#include "base/str.h"

enum marshal_type {
    MARSHAL_ERROR, /* see problem */
    MARSHAL_NONE,
    MARSHAL_INTEGER,
    MARSHAL_REAL,
    MARSHAL_TEXT,
    MARSHAL_TUPLE,    /* its `count` values follow */
    MARSHAL_DICT,     /* keys and values follow, up to MARSHAL_DICT_END in place of a key */
    MARSHAL_DICT_END, /* code '0' */
    MARSHAL_DEFINED   /* a reference to a container: `integer` is what the caller made of it */
};

#define MARSHAL_NO_NUMBER UINT32_MAX

struct marshal_value {
    union {                 /* as the type says */
        struct nl_str text; /* borrowed from the bytes */
        int64_t integer;    /* NL_NULL_I64 when it does not fit */
        double real;
    };
    enum marshal_type type;
    uint32_t count;
    uint32_t number; /* of a container, for marshal_define; or MARSHAL_NO_NUMBER */
};

struct marshal {
    const unsigned char *start, *at, *end;
    const unsigned char *reference; /* where the last one began */
    ptrdiff_t record;               /* from one reference to the next, as it was last */
    struct marshal_value *values;   /* by reference number */
    size_t count, cap;
    struct nl_str *interned; /* Python 2's second numbering, of texts */
    size_t interned_count, interned_cap;
    const char *problem; /* static text; set once */
};

void marshal_init(struct marshal *marshal, const void *bytes, size_t len); /* borrows */
void marshal_release(struct marshal *marshal);

struct marshal_value marshal_next(struct marshal *marshal);

/* What later references to the container `number` shall give (as MARSHAL_DEFINED). */
void marshal_define(struct marshal *marshal, uint32_t number, int64_t meaning);

#endif
