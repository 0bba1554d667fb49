/* shortname — see shortname.h. */
#include "tables/shortname.h"

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
    return c == '>' || c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
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
        head = width * 2 / 3;
        tail = name.len - width / 3;
        while (head && ((unsigned char)name.ptr[head] & 0xC0) == 0x80)
            head--;
        while (tail < name.len && ((unsigned char)name.ptr[tail] & 0xC0) == 0x80)
            tail++;
    }
    nl_buf_add(out, name.ptr, head);
    if (head < tail)
        nl_buf_text(out, "…");
    nl_buf_add(out, name.ptr + tail, name.len - tail);
}
