/*
 * secretvalue — where the value that follows a name begins and ends: NAME=…, "name": "…",
 * --name …, name: …, <name>…, name%3D…; in quotes, as a shell or JSON has them, and without.
 * Used by redact/redact.h alone.
 */
#ifndef NL_SECRETVALUE_H
#define NL_SECRETVALUE_H

#include "base/str.h"

/* So many letters are looked at for the end of a value, so that a text takes time in
 * proportion to its length. */
#define NL_MAX_SECRETVALUE ((size_t)4096)

struct nl_secretvalue {
    size_t from, to;
};

/* The value of the name [start, end). `name`: the text is the name of an event, where a value ends
 * earlier. False: none follows. */
bool nl_secretvalue_of(struct nl_str text, size_t start, size_t end, bool name,
                       struct nl_secretvalue *value);

/* The word after the spaces at `at`. */
void nl_secretvalue_next(struct nl_str text, size_t at, struct nl_secretvalue *value);

/* Where the value that begins at `from` ends, whose name begins at `start`. */
size_t nl_secretvalue_end(struct nl_str text, size_t start, size_t from, bool name);

/* In the name of an event `token = token[]`, `n_token=128` and `Basic Block` are what they say: a
 * value is none when it is a number, has brackets, or has no digit and is shorter than `least`. */
bool nl_secretvalue_is_code(struct nl_str value, size_t least);

#endif
