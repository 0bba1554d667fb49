/* The checker walks text and schema together. The text is known to be JSON before it starts, so
 * reading it cannot fail; depth is bounded by nl_json_check. */
#include "rundoc/doccheck.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsoncheck.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "parse/jsonpull.h"

#define SHOWN       60 /* bytes of a value in a message */
#define MARK        "\"neurolens.run/"
#define MARK_WITHIN 512

struct check {
    struct jsonpull reader;
    struct nl_rundoc_faults *faults;
    struct nl_buf pointer; /* of the value at hand */
    struct nl_buf scratch; /* a number or a text with its NUL */
};

NL_PRINTF(3, 4)
static void fault(struct check *check, const char *keyword, const char *format, ...)
{
    struct nl_rundoc_faults *faults = check->faults;
    if (faults->count == DOC_FAULTS) {
        faults->more = true;
        return;
    }
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nl_grow(&faults->items, &faults->cap, faults->count + 1);
    faults->items[faults->count++] = (struct nl_rundoc_fault){
        .pointer = nl_arena_text(&faults->arena, check->pointer.ptr, check->pointer.len),
        .keyword = keyword,
        .says = nl_arena_text(&faults->arena, text, strlen(text))};
}

static void push_key(struct check *check, struct nl_str key)
{
    nl_buf_char(&check->pointer, '/');
    for (size_t i = 0; i < key.len; i++)
        if (key.ptr[i] == '~')
            nl_buf_text(&check->pointer, "~0");
        else if (key.ptr[i] == '/')
            nl_buf_text(&check->pointer, "~1");
        else
            nl_buf_char(&check->pointer, key.ptr[i]);
}

static void pop(struct check *check, size_t length)
{
    check->pointer.len = length;
    if (check->pointer.ptr)
        check->pointer.ptr[length] = 0;
}

/* ---- scalars ---- */

/* The number read last; beyond what a double holds it is infinite. */
static double number_of(struct check *check)
{
    nl_buf_clear(&check->scratch);
    nl_buf_add(&check->scratch, check->reader.text.ptr, check->reader.text.len);
    return check->scratch.len ? strtod(check->scratch.ptr, NULL) : NAN;
}

static bool is_whole(struct check *check)
{
    bool plain = true;
    for (size_t i = 0; i < check->reader.text.len; i++) {
        char c = check->reader.text.ptr[i];
        plain &= c != '.' && c != 'e' && c != 'E';
    }
    double value = plain ? 0 : number_of(check);
    return isfinite(value) && floor(value) == value;
}

static unsigned type_of(struct check *check)
{
    switch (check->reader.type) {
    case JSONPULL_NULL: return DOC_NULL;
    case JSONPULL_TRUE:
    case JSONPULL_FALSE: return DOC_BOOLEAN;
    case JSONPULL_NUMBER: return is_whole(check) ? DOC_NUMBER | DOC_INTEGER : DOC_NUMBER;
    case JSONPULL_STRING: return DOC_STRING;
    case JSONPULL_ARRAY: return DOC_ARRAY;
    default: return DOC_OBJECT;
    }
}

/* The value as messages show it: scalars by their text, cut. */
static const char *shown(const struct jsonpull *reader, char text[SHOWN + 8])
{
    size_t length = nl_utf8_cut(reader->text.ptr, reader->text.len, SHOWN);
    if (reader->type == JSONPULL_ARRAY || reader->type == JSONPULL_OBJECT)
        return reader->type == JSONPULL_ARRAY ? "an array" : "an object";
    if (reader->type == JSONPULL_NULL)
        return "null";
    bool text_like = reader->type == JSONPULL_STRING || reader->type == JSONPULL_KEY;
    const char *quote = text_like ? "\"" : "";
    snprintf(text, SHOWN + 8, "%s%.*s%s%s", quote, (int)length, reader->text.ptr,
             length < reader->text.len ? "..." : "", quote);
    return text;
}

static bool is_choice(const struct doc_node *node, const struct jsonpull *reader)
{
    if (reader->type == JSONPULL_NULL)
        return node->null_choice;
    for (size_t i = 0; reader->type == JSONPULL_STRING && i < node->choice_count; i++)
        if (nl_str_is(reader->text, node->choices[i]))
            return true;
    return false;
}

static const char *choices_text(const struct doc_node *node, char text[300])
{
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < node->choice_count && length < 300; i++)
        length +=
            (size_t)snprintf(text + length, 300 - length, "%s%s", i ? ", " : "", node->choices[i]);
    if (node->null_choice && length < 300)
        snprintf(text + length, 300 - length, ", null");
    return text;
}

/* Expressions are anchored and of plain characters: a text with a NUL matches none. */
static bool matches(struct check *check, const regex_t *regex, struct nl_str text)
{
    if (text.len && memchr(text.ptr, 0, text.len))
        return false;
    nl_buf_clear(&check->scratch);
    nl_buf_add(&check->scratch, text.ptr, text.len);
    if (check->scratch.overflow)
        return false;
    int wrong = regexec(regex, check->scratch.len ? check->scratch.ptr : "", 0, NULL, 0);
    if (wrong == REG_ESPACE) /* not the same as no match */
        nl_memory_exhausted(check->scratch.len);
    return !wrong;
}

static void check_text(struct check *check, const struct doc_node *node)
{
    struct nl_str text = check->reader.text;
    size_t characters = 0;
    char value[SHOWN + 8];
    for (size_t i = 0; i < text.len; i++)
        characters += (text.ptr[i] & 0xC0) != 0x80;
    if (characters < node->least_length)
        fault(check, "minLength", "a text of %zu characters; at least %zu are needed", characters,
              node->least_length);
    if (node->regex && !matches(check, node->regex, text))
        fault(check, "pattern", "%s does not match %s", shown(&check->reader, value),
              node->pattern);
}

static void check_number(struct check *check, const struct doc_node *node)
{
    char value[SHOWN + 8];
    double number = number_of(check);
    if (node->has_minimum && number < node->minimum)
        fault(check, "minimum", "%s is less than %.15g", shown(&check->reader, value),
              node->minimum);
    if (node->has_maximum && number > node->maximum)
        fault(check, "maximum", "%s is more than %.15g", shown(&check->reader, value),
              node->maximum);
}

static void check_scalar(struct check *check, const struct doc_node *node, unsigned type)
{
    char value[SHOWN + 8], want[300];
    if (node->types && !(node->types & type))
        fault(check, "type", "%s where %s is expected", shown(&check->reader, value),
              doc_types_text(want, node->types));
    if (node->choices && !is_choice(node, &check->reader))
        fault(check, "enum", "%s is not one of %s", shown(&check->reader, value),
              choices_text(node, want));
    if (node->constant && !(type == DOC_STRING && nl_str_is(check->reader.text, node->constant)))
        fault(check, "const", "%s is not \"%s\"", shown(&check->reader, value), node->constant);
    if (type == DOC_STRING)
        check_text(check, node);
    if (type & DOC_NUMBER)
        check_number(check, node);
}

/* ---- containers ---- */

static void check_value(struct check *check, const struct doc_node *node);

static void check_object(struct check *check, const struct doc_node *node)
{
    struct jsonpull *reader = &check->reader;
    size_t length = check->pointer.len, strangers = 0;
    uint64_t seen = 0;
    char first[SHOWN + 8] = "";
    while (jsonpull_member(reader)) {
        const struct doc_member *member = doc_member_find(node, reader->text);
        if (!member) {
            if (node->closed && strangers++ == 0)
                (void)shown(reader, first);
            jsonpull_skip(reader);
            continue;
        }
        uint64_t bit = (uint64_t)1 << (member - node->members);
        push_key(check, reader->text);
        if (seen & bit)
            fault(check, "duplicate", "the key occurs twice");
        seen |= bit;
        (void)jsonpull_next(reader);
        check_value(check, member->node);
        pop(check, length);
    }
    for (size_t i = 0; i < node->member_count; i++)
        if (node->members[i].required && !(seen >> i & 1))
            fault(check, "required", "\"%s\" is missing", node->members[i].name);
    if (strangers)
        fault(check, "additionalProperties", "%s%s not known here", first,
              strangers > 1 ? " and others are" : " is");
}

static void check_array(struct check *check, const struct doc_node *node)
{
    size_t length = check->pointer.len, count = 0;
    char number[24];
    while (jsonpull_item(&check->reader)) {
        snprintf(number, sizeof number, "/%zu", count++);
        nl_buf_text(&check->pointer, number);
        if (node->items)
            check_value(check, node->items);
        else
            jsonpull_skip(&check->reader);
        pop(check, length);
    }
    if (count < node->least_items)
        fault(check, "minItems", "%zu items; at least %zu are needed", count, node->least_items);
    if (count > node->most_items)
        fault(check, "maxItems", "%zu items; at most %zu may be", count, node->most_items);
}

/* The value whose first token was read. */
static void check_value(struct check *check, const struct doc_node *node)
{
    unsigned type = type_of(check);
    check_scalar(check, node, type);
    if (type == DOC_OBJECT)
        check_object(check, node);
    else if (type == DOC_ARRAY)
        check_array(check, node);
}

bool doc_check(const struct doc_node *node, const char *text, size_t size,
               struct nl_rundoc_faults *faults)
{
    struct check check = {.faults = faults};
    struct nl_json_problem problem;
    nl_buf_init(&check.pointer, 1 << 16);
    nl_buf_init(&check.scratch, 1 << 16);
    if (nl_json_check(text, size, &problem)) {
        jsonpull_memory(&check.reader, text, size, 0);
        (void)jsonpull_next(&check.reader);
        check_value(&check, node);
        jsonpull_release(&check.reader);
    } else {
        fault(&check, "syntax", "at byte %zu: %s", problem.offset, problem.says);
    }
    nl_buf_release(&check.pointer);
    nl_buf_release(&check.scratch);
    return faults->count == 0;
}

bool nl_rundoc_recognise(const char *path)
{
    char head[MARK_WITHIN];
    struct nl_stream *stream = nl_stream_open(path, NULL, NULL);
    ssize_t got = stream ? nl_stream_read(stream, head, sizeof head, NULL) : 0;
    if (stream)
        nl_stream_close(stream);
    return got > 0 && head[0] == '{' && nl_str_contains((struct nl_str){head, (size_t)got}, MARK);
}

/* The member "schema" of the document, wherever it stands; empty when there is none. */
static struct nl_str version_of(struct jsonpull *reader)
{
    struct nl_str none = {"", 0};
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return none;
    while (jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "schema"))
            return jsonpull_next(reader) == JSONPULL_STRING ? reader->text : none;
        jsonpull_skip(reader);
    }
    return none;
}

bool nl_rundoc_check(const char *text, size_t size, struct nl_rundoc_faults *faults)
{
    struct doc_schema schema;
    struct jsonpull reader;
    *faults = (struct nl_rundoc_faults){0};
    nl_arena_init(&faults->arena);
    jsonpull_memory(&reader, text, size, 0);
    doc_schema_open_version(&schema, version_of(&reader));
    jsonpull_release(&reader);
    bool good = doc_check(schema.root, text, size, faults);
    doc_schema_release(&schema);
    return good;
}

void nl_rundoc_faults_release(struct nl_rundoc_faults *faults)
{
    nl_free(faults->items);
    nl_arena_free(&faults->arena);
}
