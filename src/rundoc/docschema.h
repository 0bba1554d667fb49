/*
 * docschema — the schema of the run document as nodes that can be walked.
 *
 * schema/run.schema.json is the one truth, run-1 to run-3.schema.json those of documents of older
 * versions; they are built into the program as text and compiled when they are needed (0.7 ms).
 * Understood is the part of JSON Schema, draft 2020-12, that it uses:
 *
 *     type enum (text and null) const (text) properties required additionalProperties:false items
 *     minItems maxItems minLength pattern (^…$) minimum maximum, $ref to #/$defs/NAME instead of
 *     type,
 *     $defs and the annotations $schema $id title description
 *
 * Anything else is refused, so that no keyword is ever passed over.
 */
#ifndef NL_DOCSCHEMA_H
#define NL_DOCSCHEMA_H

#include <regex.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* Bits of a value's type; a whole number is an integer and a number. */
enum doc_type {
    DOC_NULL = 1,
    DOC_BOOLEAN = 2,
    DOC_INTEGER = 4,
    DOC_NUMBER = 8,
    DOC_STRING = 16,
    DOC_ARRAY = 32,
    DOC_OBJECT = 64
};

#define DOC_MEMBERS 64 /* of one object at most: a bit each while checking */

struct doc_member {
    const char *name;
    struct doc_node *node;
    bool required;
};

struct doc_node {
    unsigned types; /* that it may have; 0 = any */
    const char *description;
    const char *constant; /* the only text, or NULL */
    const char **choices; /* texts of an enumeration, or NULL */
    size_t choice_count;
    bool null_choice;           /* null is one of them */
    struct doc_member *members; /* in the order of the document */
    size_t member_count;
    bool closed; /* no other members */
    struct doc_node *items;
    size_t least_items, most_items; /* SIZE_MAX = any number */
    size_t least_length;            /* characters of a text */
    bool has_minimum, has_maximum;
    double minimum, maximum;
    const char *pattern;
    regex_t *regex; /* of pattern */
};

struct doc_schema {
    struct doc_node *root;
    struct doc_member *defs;
    size_t def_count;
    regex_t **regexes; /* to release */
    size_t regex_count, regex_cap;
    struct nl_arena arena;
};

/* Compiles a schema. Fails with NL_FORMAT, naming the keyword that is not understood. Release in
 * any case. */
NL_MUST_CHECK bool doc_schema_compile(struct doc_schema *schema, const char *text,
                                      struct nl_err *err);
/* Compiles the schema of run documents as they are written, which cannot fail. */
void doc_schema_open(struct doc_schema *schema);
/* That of documents whose member "schema" is this; of unknown ones the newest. */
void doc_schema_open_version(struct doc_schema *schema, struct nl_str version);
void doc_schema_release(struct doc_schema *schema);

/* Member of an object's node by name, or NULL. */
const struct doc_member *doc_member_find(const struct doc_node *node, struct nl_str name);

/* "integer or null" into `text`. */
const char *doc_types_text(char text[64], unsigned types);

#endif
