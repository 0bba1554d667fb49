/*
 * Lines of roctracer's text traces. Each line identifies itself: calls have a bracket after the
 * name of an API, work ends with a colon and its correlation id. Older releases wrote arguments as
 * name(value) and no correlation ids after calls, newer ones name=value.
 */
#include <string.h>

#include "base/chars.h"
#include "base/units.h"
#include "ingest/amd/roctext.h"
#include "store/schema.h"

/* A number without sign and what follows it. */
static bool take_number(struct nl_str *text, int64_t *value)
{
    size_t digits = 0;
    while (digits < text->len && nl_is_digit(text->ptr[digits]))
        digits++;
    if (digits == 0 || digits > 19 || !nl_parse_i64((struct nl_str){text->ptr, digits}, value))
        return false;
    *text = (struct nl_str){text->ptr + digits, text->len - digits};
    return true;
}

static bool take_char(struct nl_str *text, char wanted)
{
    if (text->len == 0 || text->ptr[0] != wanted)
        return false;
    *text = (struct nl_str){text->ptr + 1, text->len - 1};
    return true;
}

/* ":number" or " :number" off the end. */
static bool drop_number(struct nl_str *text, int64_t *value)
{
    size_t at = text->len;
    while (at > 0 && nl_is_digit(text->ptr[at - 1]))
        at--;
    struct nl_str digits = {text->ptr + at, text->len - at};
    if (at < 1 || (text->ptr[at - 1] != ':' && text->ptr[at - 1] != ' ') || digits.len > 19 ||
        !nl_parse_i64(digits, value))
        return false;
    at--;
    while (at > 0 && text->ptr[at - 1] == ' ')
        at--;
    text->len = at;
    return true;
}

/* Length of the name of an API's function in front of a bracket, 0 = there is none. */
static size_t call_name(struct nl_str text)
{
    static const char *const apis[] = {"hip", "__hip", "hsa", "kfd"};
    size_t len = 0;
    while (len < text.len && nl_is_word(text.ptr[len]))
        len++;
    if (len == text.len || text.ptr[len] != '(')
        return 0;
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++)
        if (nl_str_starts(text, apis[i]))
            return len;
    return 0;
}

static void parse_call(struct roctext_line *line, struct nl_str rest, size_t name)
{
    line->kind = ROCTEXT_CALL;
    line->name = (struct nl_str){rest.ptr, name};
    rest = (struct nl_str){rest.ptr + name, rest.len - name};
    size_t colon = rest.len;
    while (colon > 0 && rest.ptr[colon - 1] != ':')
        colon--;
    if (colon > 1 && rest.ptr[colon - 2] == ' ')
        (void)drop_number(&rest, &line->correlation);
    line->arguments = rest;
}

static void parse_work(struct roctext_line *line, struct nl_str rest)
{
    int64_t last, before;
    if (!drop_number(&rest, &last))
        return;
    line->correlation = last;
    if (drop_number(&rest, &before)) {
        line->correlation = before;
        line->pid = last;
    }
    if (rest.len == 0)
        return;
    line->kind = ROCTEXT_WORK;
    line->name = rest;
}

/* "async-copy:7:4242", "async-copy:7 4242" and the older "async-copy7". */
static void parse_copy(struct roctext_line *line, struct nl_str rest)
{
    (void)take_char(&rest, ':');
    if (!take_number(&rest, &line->correlation))
        return;
    if (take_char(&rest, ':') || take_char(&rest, ' '))
        (void)take_number(&rest, &line->pid);
    line->kind = ROCTEXT_COPY;
}

/* "1:0:\"text\"" and the older "1:text". */
static void parse_mark(struct roctext_line *line, struct nl_str rest)
{
    if (!take_number(&rest, &line->operation) || line->operation > ROCTEXT_STOPPED ||
        !take_char(&rest, ':'))
        return;
    struct nl_str newer = rest;
    if (take_number(&newer, &line->id) && take_char(&newer, ':'))
        rest = newer;
    if (rest.len >= 2 && rest.ptr[0] == '"' && rest.ptr[rest.len - 1] == '"')
        rest = (struct nl_str){rest.ptr + 1, rest.len - 2};
    line->kind = ROCTEXT_MARK;
    line->name = rest;
}

static bool take_pair(struct nl_str *text, int64_t *first, int64_t *second)
{
    return take_number(text, first) && take_char(text, ':') && take_number(text, second);
}

void roctext_parse(struct roctext_line *line, struct nl_str text)
{
    static const char copy[] = "async-copy";
    *line = (struct roctext_line){.correlation = NL_NULL_I64, .pid = NL_NULL_I64};
    if (!take_number(&text, &line->begin))
        return;
    line->end = line->begin;
    if (take_char(&text, ' ')) {
        if (take_pair(&text, &line->first, &line->second) && take_char(&text, ' '))
            parse_mark(line, text);
        return;
    }
    if (!take_char(&text, ':') || !take_number(&text, &line->end) || !take_char(&text, ' '))
        return;
    if (nl_str_starts(text, copy)) {
        parse_copy(line, (struct nl_str){text.ptr + sizeof copy - 1, text.len - (sizeof copy - 1)});
        return;
    }
    if (!take_pair(&text, &line->first, &line->second) || !take_char(&text, ' '))
        return;
    size_t name = call_name(text);
    if (name)
        parse_call(line, text, name);
    else
        parse_work(line, text);
}

/* Names of kernels contain commas and brackets: theirs ends where the arguments do. */
static struct nl_str value_at(struct nl_str text, bool bracketed)
{
    size_t end = 0;
    int depth = 0;
    for (; end < text.len; end++) {
        char c = text.ptr[end];
        depth += (c == '(') - (c == ')');
        if (depth < 0 || (!bracketed && depth == 0 && c == ','))
            break;
    }
    return (struct nl_str){text.ptr, end};
}

struct nl_str roctext_argument(struct nl_str arguments, const char *name)
{
    size_t len = strlen(name);
    for (size_t at = 0; at + len + 1 < arguments.len; at++) {
        char after = arguments.ptr[at + len];
        if (memcmp(arguments.ptr + at, name, len) != 0 || (after != '=' && after != '(') ||
            (at > 0 && nl_is_word(arguments.ptr[at - 1])))
            continue;
        struct nl_str rest = {arguments.ptr + at + len + 1, arguments.len - at - len - 1};
        if (after == '=' && strcmp(name, "kernel") == 0)
            return rest;
        return value_at(rest, after == '(');
    }
    return (struct nl_str){"", 0};
}
