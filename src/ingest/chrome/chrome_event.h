/*
 * chrome_event — one trace event as text: its fields and known arguments. Only numbers
 * and times are interpreted.
 *
 * Texts borrow from the block they were parsed from (or from the repair buffer) and live as long as
 * it. String values are without their quotes and still escaped if `escaped` is set. Duplicate keys:
 * the last one wins, as in JavaScript.
 */
#ifndef CHROME_EVENT_H
#define CHROME_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ingest/chrome/chrome_guess.h"
#include "ingest/chrome/chrome_steps.h"
#include "ingest/chrome/chrome_words.h"

enum chrome_arg {
#define CHROME_ARG(id, key, use) CHROME_ARG_##id,
#include "ingest/chrome/chrome_args.def"
#undef CHROME_ARG
    CHROME_ARG_COUNT
};

/* Event fields that we store. */
enum chrome_field {
    CHROME_F_PH,
    CHROME_F_CAT,
    CHROME_F_NAME,
    CHROME_F_PID,
    CHROME_F_TID,
    CHROME_F_TS,
    CHROME_F_DUR,
    CHROME_F_ID,
    CHROME_F_ID2,
    CHROME_F_SCOPE, /* "scope" */
    CHROME_F_S,     /* "s" */
    CHROME_F_ARGS,
    CHROME_F_SF,     /* id of a stack frame */
    CHROME_F_STACK,  /* a stack written out */
    CHROME_F_ESF,    /* the same of a slice's end */
    CHROME_F_ESTACK, /* likewise */
    CHROME_F_KEPT,   /* the fields from here on are known, but not kept */
    CHROME_F_BP = CHROME_F_KEPT,
    CHROME_F_TTS,
    CHROME_F_TDUR,
    CHROME_F_CNAME,
    CHROME_F_COUNT
};

#define CHROME_MAX_UNKNOWN 12

struct chrome_event {
    struct chrome_value field[CHROME_F_KEPT]; /* valid where `seen` has the bit */
    uint32_t seen;
    bool duplicate, trailing_comma;
    uint64_t args[2]; /* bit per enum chrome_arg */
    struct chrome_value arg[CHROME_ARG_COUNT];
    unsigned unknown; /* keys of args that are not known, the first CHROME_MAX_UNKNOWN kept */
    struct nl_str unknown_key[CHROME_MAX_UNKNOWN];
};

enum chrome_status {
    CHROME_OK,
    CHROME_MORE, /* the text ends inside the event */
    CHROME_BAD   /* not JSON */
};

#define CHROME_CONTEXTS 32 /* categories share one when a few bits of them are equal */

/* What the parser knows and has learned; one per thread. Steps and runs are kept per key
 * that came before them: a key's number in its set, then one place for the start of the
 * object and one for unknown keys. */
struct chrome_parser {
    struct chrome_words args, fields;
    struct chrome_guess guess;
    struct chrome_runs runs[CHROME_F_COUNT + 2];
    struct chrome_steps field_steps[CHROME_F_COUNT + 2];
    struct chrome_steps arg_steps[CHROME_CONTEXTS][CHROME_ARG_COUNT + 2]; /* by category, roughly */
};

void chrome_parser_init(struct chrome_parser *parser);

/* Parses the event whose '{' is at *text; on CHROME_OK *text is after its '}'. The text up to
 * `end` must be followed by CHROME_PAD bytes of '"'; 8 bytes before it are readable. */
enum chrome_status chrome_parse(struct chrome_parser *parser, struct chrome_event *event,
                                const char **text, const char *end);

/* Parses one value at *text (no white space before it). */
enum chrome_status chrome_parse_value(struct chrome_value *value, const char **text,
                                      const char *end);

static inline bool chrome_has(const struct chrome_event *event, enum chrome_field field)
{
    return event->seen >> field & 1;
}

/* Text of a field, still escaped; empty when the event does not have it. */
static inline struct nl_str chrome_field_text(const struct chrome_event *event,
                                              enum chrome_field field)
{
    return chrome_has(event, field) ? chrome_text(&event->field[field]) : nl_str("");
}

/* The argument, or NULL when the event does not have it. */
static inline const struct chrome_value *chrome_arg(const struct chrome_event *event,
                                                    enum chrome_arg arg)
{
    return event->args[arg / 64] >> (arg % 64) & 1 ? &event->arg[arg] : NULL;
}

/* Iterates over the members of an object's text: key (raw) and value; *p starts at object.ptr.
 * False at the end or at damage. */
bool chrome_member(const char **p, const char *end, struct nl_str *key, struct chrome_value *value);

#endif
