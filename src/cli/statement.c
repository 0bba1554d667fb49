/* Statements: one pass that jumps over whatever may hide a semicolon. */
#include "cli/statement.h"
#include "base/chars.h"

#include <string.h>

/* What opens at a position, and what closes it. A doubled quote inside a quoted text closes and
 * opens again, which comes to the same. */
static const struct {
    const char *open, *close;
    bool comment;
} spans[] = {
    {"'", "'", false}, {"\"", "\"", false}, {"`", "`", false},
    {"[", "]", false}, {"--", "\n", true},  {"/*", "*/", true},
};
#define SPANS (sizeof spans / sizeof spans[0])

/* Index of the span that opens at `text`, or SPANS. */
static size_t span_at(const char *text)
{
    size_t i = 0;
    while (i < SPANS && strncmp(text, spans[i].open, strlen(spans[i].open)) != 0)
        i++;
    return i;
}

/* Behind the span that opens at `text`; NULL when it does not close. */
static const char *behind(const char *text, size_t span)
{
    const char *end = strstr(text + strlen(spans[span].open), spans[span].close);
    return end ? end + strlen(spans[span].close) : NULL;
}

size_t nl_statement_length(const char *text)
{
    const char *at = text;
    while (*at) {
        if (*at == ';')
            return (size_t)(at - text) + 1;
        size_t span = span_at(at);
        at = span < SPANS ? behind(at, span) : at + 1;
        if (!at)
            return 0;
    }
    return 0;
}

bool nl_statement_empty(const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        size_t span = span_at(text);
        if (span < SPANS && spans[span].comment) {
            text = behind(text, span);
            if (!text)
                return true;
        } else if (nl_is_space(*text) || *text == ';') {
            text++;
        } else {
            return false;
        }
    }
    return true;
}
