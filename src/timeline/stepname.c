/* Texts of ranges against the patterns of stepname.def. Called once per distinct text. */
#include "timeline/stepname.h"

#include <stdint.h>

#include "base/chars.h"

const struct nl_step_rule nl_step_rules[] = {
#define NL_STEP_RULE(pattern, marks, confidence) {pattern, sizeof(pattern) - 1, marks, confidence},
#include "timeline/stepname.def"
    {NULL, 0, NULL, 0}};

static size_t read_number(struct nl_str text, size_t at, int64_t *number)
{
    int64_t value = 0;
    bool fits = true;
    for (; at < text.len && nl_is_digit(text.ptr[at]); at++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, text.ptr[at] - '0', &value);
    if (*number == INT64_MIN && fits)
        *number = value;
    return at;
}

/* A glob without recursion: on a mismatch the latest '*' takes one byte more. */
static bool meets(struct nl_str text, const char *pattern, int64_t *number)
{
    const char *star = NULL;
    size_t at = 0, star_at = 0;
    int64_t star_number = INT64_MIN;
    *number = INT64_MIN;
    while (at < text.len || *pattern) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
            star_number = *number;
        } else if (*pattern == '#' && at < text.len && nl_is_digit(text.ptr[at])) {
            at = read_number(text, at, number);
            pattern++;
        } else if (*pattern && *pattern != '#' && at < text.len &&
                   *pattern == nl_lower(text.ptr[at])) {
            pattern++;
            at++;
        } else if (star && star_at < text.len) {
            at = ++star_at;
            pattern = star;
            *number = star_number;
        } else {
            return false;
        }
    }
    return true;
}

/* Whether the first and the last byte fit, which rules out most patterns for most texts. */
static inline bool may_meet(char begin, char end, const struct nl_step_rule *rule)
{
    char first = rule->pattern[0], last = rule->pattern[rule->length - 1];
    return (first == begin || first == '*' || first == '#') &&
           (last == end || last == '*' || (last == '#' && nl_is_digit(end)));
}

int nl_step_rule_of(struct nl_str text, int64_t *number)
{
    char begin = text.len ? nl_lower(text.ptr[0]) : '\0';
    char end = text.len ? nl_lower(text.ptr[text.len - 1]) : '\0';
    for (int i = 0; nl_step_rules[i].pattern; i++)
        if (may_meet(begin, end, &nl_step_rules[i]) &&
            meets(text, nl_step_rules[i].pattern, number))
            return i;
    *number = INT64_MIN;
    return -1;
}
