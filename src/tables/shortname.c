/* shortname — see shortname.h. */
#include "tables/shortname.h"

#include "base/chars.h"
#include "base/utf8.h"

/* Position of the parenthesis that opens what the last character closes, or -1. */
static ptrdiff_t opening(struct nl_str name)
{
    ptrdiff_t depth = 0;
    for (size_t i = name.len; i-- > 0;) {
        depth += name.ptr[i] == ')';
        depth -= name.ptr[i] == '(';
        if (depth == 0)
            return (ptrdiff_t)i;
    }
    return -1;
}

static bool ends_a_name(char c)
{
    return c == '>' || nl_is_word(c);
}

struct nl_str nl_short_kernel(struct nl_str name)
{
    struct nl_str out = name;
    if (nl_str_starts(out, "void ")) {
        out.ptr += 5;
        out.len -= 5;
    }
    if (!out.len || out.ptr[out.len - 1] != ')')
        return out;
    ptrdiff_t open = opening(out);
    if (open > 0 && ends_a_name(out.ptr[open - 1]))
        out.len = (size_t)open;
    return out;
}

void nl_elide_name(struct nl_buf *out, struct nl_str name, size_t width)
{
    size_t head = name.len, tail = name.len;
    if (name.len > width) {
        head = nl_utf8_cut(name.ptr, name.len, width * 2 / 3);
        tail = name.len - width / 3;
        while (tail < name.len && ((unsigned char)name.ptr[tail] & 0xC0) == 0x80)
            tail++;
    }
    nl_buf_add(out, name.ptr, head);
    if (head < tail)
        nl_buf_text(out, "…");
    if (tail < name.len) /* an empty text may have no place, which nothing is added to */
        nl_buf_add(out, name.ptr + tail, name.len - tail);
}

/* Length of the plain name at the front of `text` ("5alpha…"), its digits in
 * *digits; 0 when there is none. */
static size_t plain_part(struct nl_str text, size_t *digits)
{
    size_t length = 0, at = 0;
    while (at < text.len && at < 4 && nl_is_digit(text.ptr[at]))
        length = length * 10 + (size_t)(text.ptr[at++] - '0');
    *digits = at;
    return at && length && length <= text.len - at ? length : 0;
}

/* Rust ends a name with "h" and 16 hexadecimal digits. */
static bool is_hash(struct nl_str part)
{
    bool hash = part.len == 17 && part.ptr[0] == 'h';
    for (size_t i = 1; hash && i < part.len; i++)
        hash = nl_is_digit(part.ptr[i]) || (part.ptr[i] >= 'a' && part.ptr[i] <= 'f');
    return hash;
}

/* "_Z5alphav", "_ZN3foo3barEi"; false when the name is made of more than plain names. */
static bool plain_symbol(struct nl_buf *out, struct nl_str name)
{
    size_t before = out->len, digits, length;
    if (!nl_str_starts(name, "_Z"))
        return false;
    struct nl_str rest = {name.ptr + 2, name.len - 2};
    bool nested = rest.len && rest.ptr[0] == 'N';
    if (nested)
        rest = (struct nl_str){rest.ptr + 1, rest.len - 1};
    while ((length = plain_part(rest, &digits)) > 0) {
        struct nl_str part = {rest.ptr + digits, length};
        rest = (struct nl_str){part.ptr + length, rest.len - digits - length};
        if (!is_hash(part)) {
            nl_buf_text(out, out->len > before ? "::" : "");
            nl_buf_add(out, part.ptr, part.len);
        }
        if (!nested)
            break;
    }
    /* What follows a name that is whole: its parameters, which begin with no
     * template and no qualifier. */
    bool whole = out->len > before && (!nested || (rest.len && rest.ptr[0] == 'E')) &&
                 (nested || !rest.len || rest.ptr[0] != 'I');
    if (!whole)
        out->len = before;
    return whole;
}

void nl_plain_name(struct nl_buf *out, struct nl_str name)
{
    static const char mark[] = " at 0x";
    if (plain_symbol(out, name))
        return;
    for (size_t i = 0; i < name.len; i++) {
        struct nl_str rest = {name.ptr + i, name.len - i};
        if (!nl_str_starts(rest, mark)) {
            nl_buf_char(out, name.ptr[i]);
            continue;
        }
        i += sizeof mark - 1;
        while (i < name.len && nl_is_hex(name.ptr[i]))
            i++;
        i--;
    }
}
