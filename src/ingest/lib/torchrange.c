/* The parts stand in one order, and each may be missing but the name and the sizes. */
#include "ingest/lib/torchrange.h"
#include "base/chars.h"

static bool skip_word(struct nl_str *rest, const char *word)
{
    if (!nl_str_starts(*rest, word))
        return false;
    size_t len = strlen(word);
    *rest = (struct nl_str){rest->ptr + len, rest->len - len};
    return true;
}

/* A whole number of up to 18 digits, or INT64_MIN. */
static int64_t take_number(struct nl_str *rest)
{
    int64_t value = 0;
    size_t at = 0;
    while (at < rest->len && at < 18 && nl_is_digit(rest->ptr[at]))
        value = value * 10 + (rest->ptr[at++] - '0');
    *rest = (struct nl_str){rest->ptr + at, rest->len - at};
    return at ? value : INT64_MIN;
}

/* Length of a list of lists of numbers that the text begins with; 0 when it is none. */
static size_t list_length(struct nl_str text)
{
    unsigned depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '[')
            depth++;
        else if (c == ']' && depth > 0)
            depth--;
        else if (depth == 0 || !(nl_is_digit(c) || c == ',' || c == ' ' || c == '-'))
            return 0;
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* Where the name ends; *rest begins there. The text's length when nothing follows a name. */
static size_t details_begin(struct nl_str text, struct nl_str *rest)
{
    const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
    while (comma) {
        *rest = (struct nl_str){comma, (size_t)(text.ptr + text.len - comma)};
        if (nl_str_starts(*rest, ", seq = ") || nl_str_starts(*rest, ", op_id = ") ||
            nl_str_starts(*rest, ", sizes = "))
            return (size_t)(comma - text.ptr);
        comma = rest->len > 1 ? memchr(comma + 1, ',', rest->len - 1) : NULL;
    }
    return text.len;
}

bool torch_range_read(struct nl_str text, struct torch_range *range)
{
    *range = (struct torch_range){.sequence = INT64_MIN, .op_id = INT64_MIN};
    struct nl_str rest = text;
    size_t at = details_begin(text, &rest);
    if (at == 0 || at == text.len)
        return false;
    range->name = (struct nl_str){text.ptr, at};
    if (skip_word(&rest, ", seq = "))
        range->sequence = take_number(&rest);
    if (skip_word(&rest, ", op_id = "))
        range->op_id = take_number(&rest);
    if (!skip_word(&rest, ", sizes = "))
        return false;
    range->sizes = (struct nl_str){rest.ptr, list_length(rest)};
    rest = (struct nl_str){rest.ptr + range->sizes.len, rest.len - range->sizes.len};
    return range->sizes.len > 0 && (!rest.len || nl_str_starts(rest, ", input_op_ids = ["));
}
