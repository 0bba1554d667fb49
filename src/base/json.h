/*
 * json — writing JSON: commas, escapes and numbers right by construction. Output goes to a
 * struct nl_buf or a FILE. (Reading trace JSON is ingest/'s own affair; small documents are read
 * with jansson where needed.)
 *
 * 64-bit integers are written as integers, doubles with up to 17 significant digits and never as
 * NaN/Infinity (null instead), text as UTF-8 with invalid bytes replaced by U+FFFD.
 */
#ifndef NL_JSON_H
#define NL_JSON_H

#include <stdio.h>

#include "base/str.h"

struct nl_json {
    FILE *stream;       /* either this ... */
    struct nl_buf *buf; /* ... or this */
    int depth;
    int indent;      /* spaces per level, 0 = one line */
    uint64_t filled; /* bit per level: an item was written */
    bool after_key;
};

void nl_json_to_stream(struct nl_json *json, FILE *stream, int indent);
void nl_json_to_buf(struct nl_json *json, struct nl_buf *buf, int indent);

void nl_json_open(struct nl_json *json, char bracket);  /* '{' or '[' */
void nl_json_close(struct nl_json *json, char bracket); /* '}' or ']' */
void nl_json_key(struct nl_json *json, const char *key);
void nl_json_i64(struct nl_json *json, int64_t value);
void nl_json_u64(struct nl_json *json, uint64_t value);
void nl_json_f64(struct nl_json *json, double value);
void nl_json_bool(struct nl_json *json, bool value);
void nl_json_null(struct nl_json *json);
void nl_json_str(struct nl_json *json, struct nl_str text);
void nl_json_text(struct nl_json *json, const char *text); /* NULL → null */

/* A member of an object: its key and its value. With `known` false the value is null. */
void nl_json_put_u64(struct nl_json *json, const char *key, uint64_t value, bool known);
void nl_json_put_i64(struct nl_json *json, const char *key, int64_t value, bool known);
void nl_json_put_f64(struct nl_json *json, const char *key, double value, bool known);
void nl_json_put_text(struct nl_json *json, const char *key, const char *text); /* NULL → null */

#endif
