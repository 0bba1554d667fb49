/* A JSON text is checked by an automaton: what may come next, and a bit per level for the kind of
 * bracket that is open. */
#include "base/jsoncheck.h"

#include <stdint.h>
#include <string.h>

#include "base/chars.h"
#include "base/hex.h"
#include "base/utf8.h"

enum expected {
    VALUE,
    VALUE_OR_END, /* after '[' */
    KEY_OR_END,   /* after '{' */
    KEY,          /* after ',' in an object */
    COLON,
    COMMA_OR_END,
    NOTHING
};

struct scan {
    const unsigned char *at, *end;
    uint64_t objects; /* bit per level */
    unsigned depth;
    enum expected expected;
    const char *says;
};

static bool wrong(struct scan *scan, const char *says)
{
    scan->says = says;
    return false;
}

static bool escape(struct scan *scan)
{
    if (scan->end - scan->at < 2)
        return wrong(scan, "the text ends inside a string");
    unsigned char c = scan->at[1];
    if (c != 'u') {
        if (c == 0 || !strchr("\"\\/bfnrt", c))
            return wrong(scan, "an escape that JSON does not have");
        scan->at += 2;
        return true;
    }
    if (nl_hex_unit((const char *)scan->at + 2, (const char *)scan->end) < 0)
        return wrong(scan, "\\u is not followed by four hex digits");
    scan->at += 6;
    return true;
}

/* From the opening quote to after the closing one. */
static bool string(struct scan *scan)
{
    scan->at++;
    while (scan->at < scan->end && *scan->at != '"') {
        size_t length = 1;
        if (*scan->at == '\\') {
            if (!escape(scan))
                return false;
            continue;
        }
        if (*scan->at < 0x20)
            return wrong(scan, "a control character inside a string");
        if (*scan->at >= 0x80)
            length = nl_utf8_length(scan->at, (size_t)(scan->end - scan->at));
        if (length == 0)
            return wrong(scan, "not UTF-8");
        scan->at += length;
    }
    if (scan->at == scan->end)
        return wrong(scan, "the text ends inside a string");
    scan->at++;
    return true;
}

static bool digits(struct scan *scan)
{
    const unsigned char *from = scan->at;
    while (scan->at < scan->end && nl_is_digit(*scan->at))
        scan->at++;
    return scan->at > from ? true : wrong(scan, "a number without digits");
}

static bool next_is(const struct scan *scan, const char *any)
{
    return scan->at < scan->end && *scan->at && strchr(any, *scan->at);
}

static bool number(struct scan *scan)
{
    if (next_is(scan, "-"))
        scan->at++;
    if (next_is(scan, "0"))
        scan->at++;
    else if (!digits(scan))
        return false;
    if (next_is(scan, ".")) {
        scan->at++;
        if (!digits(scan))
            return false;
    }
    if (!next_is(scan, "eE"))
        return true;
    scan->at++;
    if (next_is(scan, "+-"))
        scan->at++;
    return digits(scan);
}

static bool word(struct scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= length && memcmp(scan->at, words[i], length) == 0) {
            scan->at += length;
            return true;
        }
    }
    return wrong(scan, "not a JSON value");
}

static bool open_bracket(struct scan *scan, bool object)
{
    if (scan->depth == NL_JSON_DEPTH)
        return wrong(scan, "nested deeper than 64 levels");
    uint64_t bit = (uint64_t)1 << scan->depth++;
    scan->objects = object ? scan->objects | bit : scan->objects & ~bit;
    scan->expected = object ? KEY_OR_END : VALUE_OR_END;
    scan->at++;
    return true;
}

static bool in_object(const struct scan *scan)
{
    return scan->objects >> (scan->depth - 1) & 1;
}

static void after_value(struct scan *scan)
{
    scan->expected = scan->depth ? COMMA_OR_END : NOTHING;
}

static bool close_bracket(struct scan *scan)
{
    if (in_object(scan) != (*scan->at == '}'))
        return wrong(scan, "the bracket closes another kind");
    scan->depth--;
    scan->at++;
    after_value(scan);
    return true;
}

static bool value(struct scan *scan)
{
    if (*scan->at == '{' || *scan->at == '[')
        return open_bracket(scan, *scan->at == '{');
    bool done = *scan->at == '"'                             ? string(scan)
                : *scan->at == '-' || nl_is_digit(*scan->at) ? number(scan)
                                                             : word(scan);
    after_value(scan);
    return done;
}

static bool step(struct scan *scan)
{
    unsigned char c = *scan->at;
    switch (scan->expected) {
    case VALUE_OR_END: return c == ']' ? close_bracket(scan) : value(scan);
    case VALUE: return value(scan);
    case KEY_OR_END:
        if (c == '}')
            return close_bracket(scan);
        __attribute__((fallthrough));
    case KEY:
        scan->expected = COLON;
        return c == '"' ? string(scan) : wrong(scan, "a key in quotes is expected");
    case COLON:
        scan->at += c == ':';
        scan->expected = VALUE;
        return c == ':' ? true : wrong(scan, "':' is expected");
    case COMMA_OR_END:
        if (c == '}' || c == ']')
            return close_bracket(scan);
        scan->at += c == ',';
        scan->expected = in_object(scan) ? KEY : VALUE;
        return c == ',' ? true : wrong(scan, "',' or a closing bracket is expected");
    default: return wrong(scan, "more text after the document");
    }
}

bool nl_json_check(const char *text, size_t size, struct nl_json_problem *problem)
{
    struct scan scan = {.at = (const unsigned char *)text,
                        .end = (const unsigned char *)text + size,
                        .expected = VALUE};
    bool good = true;
    while (good && scan.at < scan.end) {
        if (*scan.at == ' ' || *scan.at == '\n' || *scan.at == '\t' || *scan.at == '\r')
            scan.at++;
        else
            good = step(&scan);
    }
    if (good && scan.expected != NOTHING)
        good = wrong(&scan, "the text ends before the document does");
    problem->offset = (size_t)(scan.at - (const unsigned char *)text);
    problem->says = scan.says;
    return good;
}
