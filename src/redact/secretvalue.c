/*
 * A value in quotes ends with its quote. One without ends at a space; at a comma, a bracket and the
 * like only when a new setting or the end follows, as passwords have these too. Names of events are
 * code: there it ends at any of them.
 */
#include "redact/secretvalue.h"
#include "base/chars.h"

#include <string.h>

#define MAX_MARKS  16  /* one after the other; more are none */
#define MAX_BEFORE 256 /* letters between a quote and the name in it */

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static size_t window_end(struct nl_str text, size_t at)
{
    return text.len - at < NL_MAX_SECRETVALUE ? text.len : at + NL_MAX_SECRETVALUE;
}

static size_t skip(struct nl_str text, size_t at, const char *set)
{
    while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
        at++;
    return at;
}

/* Where the text in quotes ends that begins after the quote at `quote`; 0 = it has no end. What is
 * escaped goes on: \" in JSON, '\'' in a shell; where the quote is itself escaped, the next one
 * that is ends it. */
static size_t quoted_end(struct nl_str text, size_t quote)
{
    text.len = window_end(text, quote);
    char mark = text.ptr[quote];
    bool escaped = quote && text.ptr[quote - 1] == '\\';
    for (size_t at = quote + 1; at < text.len; at++) {
        if (text.ptr[at] == '\\') {
            size_t next = skip(text, at, "\\");
            if (escaped && next < text.len && text.ptr[next] == mark)
                return at;
            at = mark == '"' ? at + 1 : at;
        } else if (text.ptr[at] == mark) {
            if (mark != '\'' ||
                !nl_str_starts((struct nl_str){text.ptr + at, text.len - at}, "'\\''"))
                return at;
            at += 3;
        }
    }
    return 0;
}

static bool is_mark(char c)
{
    switch (c) {
    case ',':
    case ';':
    case '&':
    case '|':
    case ')':
    case '}':
    case ']': return true;
    default: return false;
    }
}

/* Behind these marks the value is over: a new setting, a space, a quote or nothing follows. */
static bool is_over(struct nl_str text, size_t at)
{
    struct nl_str near = {text.ptr, text.len - at < MAX_MARKS ? text.len : at + MAX_MARKS};
    size_t next = at;
    while (next < near.len && is_mark(near.ptr[next]))
        next++;
    if (next == near.len || next == text.len || nl_is_space(text.ptr[next]) ||
        is_quote(text.ptr[next]) || text.ptr[next] == '\\')
        return true;
    size_t end = next;
    while (end < text.len && end - next < MAX_MARKS &&
           (nl_is_alnum(text.ptr[end]) || strchr("_-.", text.ptr[end])))
        end++;
    return end > next && end < text.len && strchr("=:", text.ptr[end]);
}

/* Where a value without quotes ends. */
static size_t bare_end(struct nl_str text, size_t at, bool name)
{
    size_t most = window_end(text, at);
    for (; at < most; at++) {
        char c = text.ptr[at];
        if (nl_is_space(c) || is_quote(c))
            break;
        if (c == '\\') {
            size_t next = skip(text, at, "\\");
            if (name || next == text.len || strchr("\"'nrt", text.ptr[next]))
                break;
        } else if (is_mark(c) && (name || is_over(text, at))) {
            break;
        }
    }
    return at;
}

/* The quote that the name at `start` stands in without a space before it,
 * 'X-Api-Key: …'; text.len = none. */
static size_t quote_around(struct nl_str text, size_t start, size_t value)
{
    size_t at = start;
    while (at && start - at < MAX_BEFORE && !nl_is_space(text.ptr[at - 1]) &&
           !is_quote(text.ptr[at - 1]))
        at--;
    if (!at || !is_quote(text.ptr[at - 1]) || memchr(text.ptr + at, text.ptr[at - 1], value - at))
        return text.len;
    return at - 1;
}

/* sh -c '…', where other words follow a value. */
static bool is_script(struct nl_str text, size_t quote)
{
    size_t at = quote;
    while (at && nl_is_space(text.ptr[at - 1]))
        at--;
    return at >= 3 && at < quote && text.ptr[at - 1] == 'c' &&
           (text.ptr[at - 2] == '-' || text.ptr[at - 3] == '-');
}

size_t nl_secretvalue_end(struct nl_str text, size_t start, size_t from, bool name)
{
    char before = text.ptr[from - 1];
    size_t end = 0, around = quote_around(text, start, from);
    if (is_quote(before))
        end = quoted_end(text, from - 1);
    else if (around < text.len && (memchr(text.ptr + start, ':', from - start) ||
                                   (text.ptr[around] == '\'' && !name && !is_script(text, around))))
        end = quoted_end(text, around); /* a header, or an argument that is a name and its value */
    if (end)
        return end;
    return is_quote(before) && !name ? text.len : bare_end(text, from, name);
}

/* To the end of the line, or of the text in quotes that it stands in;
 * name="value" does not end it. */
static size_t list_end(struct nl_str text, size_t at)
{
    bool within = false;
    text.len = window_end(text, at);
    for (; at < text.len && text.ptr[at] != '\n'; at++) {
        if (nl_str_starts((struct nl_str){text.ptr + at, text.len - at}, "\\n"))
            return at;
        if (is_quote(text.ptr[at])) {
            char before = text.ptr[at - 1];
            if (!within && before != '=' && before != '\\')
                return at;
            within = !within;
        }
    }
    return at;
}

/* Authorization: Scheme value, and those that are a list to the end of the
 * line; cookies are one, too. */
static size_t header_end(struct nl_str text, size_t end, struct nl_str word, struct nl_str first)
{
    static const char *const lists[] = {"Digest", "AWS4-HMAC-SHA256", "OAuth", "Hawk", "Signature"};
    static const char *const schemes[] = {"Bearer", "Basic",  "token", "ApiKey",
                                          "SSWS",   "Splunk", "Bot",   "SharedKey"};
    bool line = word.len >= 6 &&
                nl_str_starts_nocase((struct nl_str){word.ptr + word.len - 6, 6}, "cookie");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        line = line || nl_str_is(first, lists[i]);
    if (line) {
        return list_end(text, end);
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (first.len == strlen(schemes[i]) && nl_str_starts_nocase(first, schemes[i]) &&
            end < text.len && text.ptr[end] == ' ')
            return bare_end(text, skip(text, end, " "), false);
    return end;
}

/* An option takes the next word unless that is an option. */
static size_t next_word(struct nl_str text, size_t end)
{
    size_t mark = skip(text, end, " \"'\\");
    return mark < text.len && (text.ptr[mark] != '-' || is_quote(text.ptr[mark - 1])) ? mark : 0;
}

static bool is_element(struct nl_str text, size_t start, size_t end)
{
    return start && text.ptr[start - 1] == '<' && end < text.len && text.ptr[end] == '>';
}

/* Where the value after the name [start, end) begins, 0 = none follows. */
static size_t begin_of(struct nl_str text, size_t start, size_t end)
{
    size_t mark = skip(text, end, "\"'\\ ");
    struct nl_str rest = {text.ptr + mark, text.len - mark};
    if (nl_str_starts_nocase(rest, "%3d") || nl_str_starts_nocase(rest, "%3a"))
        return mark + 3;
    if (nl_str_starts(rest, "=") || nl_str_starts(rest, ":")) {
        if (nl_str_starts(rest, "::"))
            return 0;
        return skip(text, mark + (nl_str_starts(rest, "=>") ? 2 : 1), " \t\"'\\");
    }
    bool option = text.ptr[start] == '-' && end < text.len && text.ptr[end] == ' ';
    return option ? next_word(text, end) : 0;
}

bool nl_secretvalue_of(struct nl_str text, size_t start, size_t end, bool name,
                       struct nl_secretvalue *value)
{
    struct nl_str word = {text.ptr + start, end - start};
    if (!name && is_element(text, start, end)) {
        value->from = value->to = end + 1;
        while (value->to < text.len && text.ptr[value->to] != '<')
            value->to++;
        return value->to > value->from;
    }
    value->from = begin_of(text, start, end);
    if (!value->from || value->from >= text.len)
        return false;
    value->to = nl_secretvalue_end(text, start, value->from, name);
    if (!is_quote(text.ptr[value->from - 1]))
        value->to = header_end(text, value->to, word,
                               (struct nl_str){text.ptr + value->from, value->to - value->from});
    return value->to > value->from;
}

void nl_secretvalue_next(struct nl_str text, size_t at, struct nl_secretvalue *value)
{
    value->from = skip(text, at, " ");
    value->to = bare_end(text, value->from, true);
}

bool nl_secretvalue_is_code(struct nl_str value, size_t least)
{
    size_t digits = 0, numeric = 0;
    if (value.len && value.ptr[0] == '%')
        return true;
    for (size_t i = 0; i < value.len; i++) {
        if (strchr("[(<{", value.ptr[i]))
            return true;
        bool digit = nl_is_digit(value.ptr[i]);
        digits += digit;
        numeric += digit || strchr("+-.eE", value.ptr[i]);
    }
    return numeric == value.len || (digits == 0 && value.len < least);
}
