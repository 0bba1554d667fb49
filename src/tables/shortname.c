/* shortname — see shortname.h. */
#include "tables/shortname.h"

#include "base/chars.h"
#include "base/demangle.h"
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

static bool put_demangled(struct nl_buf *out, struct nl_str name)
{
    struct nl_buf whole;
    nl_buf_init(&whole, NL_MAX_DEMANGLED);
    bool known = nl_demangle(name, &whole);
    if (known) {
        struct nl_str shorter = nl_short_kernel((struct nl_str){whole.ptr, whole.len});
        nl_buf_add(out, shorter.ptr, shorter.len);
    }
    nl_buf_release(&whole);
    return known;
}

void nl_plain_name(struct nl_buf *out, struct nl_str name)
{
    static const char mark[] = " at 0x";
    if (put_demangled(out, name))
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
