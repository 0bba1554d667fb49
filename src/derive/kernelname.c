/* Forms of kernel names: a scan over tokens, no demangler. See kernelname.h. */
#include "derive/kernelname.h"
#include "base/chars.h"

static bool is_word(char c)
{
    return nl_is_word(c) || c == '$' || (unsigned char)c >= 0x80;
}

static struct nl_str from(struct nl_str text, size_t at)
{
    return (struct nl_str){text.ptr + at, text.len - at};
}

static bool is_mangled(struct nl_str name)
{
    return name.len > 3 && nl_str_starts(name, "_Z");
}

/* The last identifier before template arguments, parameters or the end of the nested name. */
static struct nl_str mangled_base(struct nl_str name)
{
    struct nl_str base = name;
    size_t at = 2 + (name.ptr[2] == 'N');
    while (at < name.len) {
        size_t len = 0, digits = at;
        while (digits < name.len && name.ptr[digits] == 'L')
            digits++; /* internal linkage */
        at = digits;
        while (digits < name.len && nl_is_digit(name.ptr[digits]) && len < name.len)
            len = len * 10 + (size_t)(name.ptr[digits++] - '0');
        if (digits == at || len == 0 || len > name.len - digits)
            break;
        base = (struct nl_str){name.ptr + digits, len};
        at = digits + len;
        if (name.ptr[2] != 'N')
            break;
    }
    return base;
}

static ptrdiff_t nesting(char c)
{
    return (c == '(' || c == '<' || c == '[' || c == '{') -
           (c == ')' || c == '>' || c == ']' || c == '}');
}

/* Position of the parenthesis that opens the list of parameters at the end; the length without. */
static size_t parameters(struct nl_str name)
{
    ptrdiff_t depth = 0;
    if (!name.len || name.ptr[name.len - 1] != ')')
        return name.len;
    for (size_t i = name.len; i-- > 0;) {
        depth += name.ptr[i] == ')';
        depth -= name.ptr[i] == '(';
        if (depth == 0)
            return i && (is_word(name.ptr[i - 1]) || name.ptr[i - 1] == '>') ? i : name.len;
    }
    return name.len;
}

/* Where the name begins after its return type. */
static size_t behind_type(struct nl_str name, size_t end)
{
    ptrdiff_t depth = 0;
    size_t start = 0;
    for (size_t i = 0; i < end; i++) {
        depth += nesting(name.ptr[i]);
        if (depth == 0 && name.ptr[i] == ' ' && i + 1 < end)
            start = i + 1;
    }
    return start;
}

/* Length of an unnamed scope at the start of `text`, "::" included; 0 = none. */
static size_t unnamed_scope(struct nl_str text)
{
    static const char *const scopes[] = {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::"};
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (nl_str_starts(text, scopes[i]))
            return strlen(scopes[i]);
    return 0;
}

/* Length of "(int)" before a number, as template arguments have it; 0 = none. */
static size_t cast(struct nl_str text)
{
    const char *close = text.len && text.ptr[0] == '(' ? memchr(text.ptr, ')', text.len) : NULL;
    size_t len = close ? (size_t)(close - text.ptr) + 1 : 0;
    if (!close || len >= text.len || !(nl_is_digit(text.ptr[len]) || text.ptr[len] == '-'))
        return 0;
    for (size_t i = 1; i + 1 < len; i++)
        if (!is_word(text.ptr[i]) && text.ptr[i] != ' ')
            return 0;
    return len;
}

/* A word at the start of `text`: namespaces are left out, literals made
 * alike. Returns its length. */
static size_t add_word(struct nl_buf *out, struct nl_str text)
{
    size_t len = 0, keep;
    while (len < text.len && is_word(text.ptr[len]))
        len++;
    if (len + 1 < text.len && text.ptr[len] == ':' && text.ptr[len + 1] == ':')
        return len + 2;
    if (out->len && is_word(out->ptr[out->len - 1]))
        nl_buf_char(out, ' ');
    struct nl_str word = {text.ptr, len};
    keep = len;
    while (nl_is_digit(text.ptr[0]) && keep > 1 && strchr("uUlL", text.ptr[keep - 1]))
        keep--;
    if (nl_str_is(word, "true") || nl_str_is(word, "false"))
        nl_buf_char(out, word.len == 4 ? '1' : '0');
    else
        nl_buf_add(out, text.ptr, keep);
    return len;
}

static void add_tokens(struct nl_buf *out, struct nl_str text)
{
    for (size_t at = 0; at < text.len;) {
        struct nl_str rest = from(text, at);
        char before = out->len ? out->ptr[out->len - 1] : '\0';
        size_t skip = rest.ptr[0] == ' ' ? 1 : unnamed_scope(rest);
        if (!skip && (before == '<' || before == ','))
            skip = cast(rest);
        if (!skip && is_word(rest.ptr[0])) {
            at += add_word(out, rest);
            continue;
        }
        if (!skip)
            nl_buf_char(out, rest.ptr[0]);
        at += skip ? skip : 1;
    }
}

/* The function's own name within a qualified one: "A<int>::f<4>" → "f". */
static struct nl_str own_name(struct nl_str name)
{
    ptrdiff_t depth = 0;
    size_t start = 0, end = name.len;
    for (size_t i = 0; i < name.len; i++) {
        depth += nesting(name.ptr[i]);
        if (depth == 0 && name.ptr[i] == ':')
            start = i + 1;
    }
    for (size_t i = start; i < name.len; i++)
        if (name.ptr[i] == '<' && i > start) {
            end = i;
            break;
        }
    return (struct nl_str){name.ptr + start, end - start};
}

void nl_kernel_name_form(struct nl_buf *out, struct nl_str name, enum nl_name_level level)
{
    nl_buf_clear(out);
    if (is_mangled(name)) {
        struct nl_str base = level == NL_NAME_BASE ? mangled_base(name) : name;
        nl_buf_add(out, base.ptr, base.len);
        return;
    }
    size_t end = parameters(name), start = behind_type(name, end);
    struct nl_str core = {name.ptr + start, end - start};
    if (level == NL_NAME_BASE) {
        struct nl_str base = own_name(core);
        nl_buf_add(out, base.ptr, base.len);
        return;
    }
    add_tokens(out, core);
    if (level == NL_NAME_WHOLE)
        add_tokens(out, from(name, end));
}

bool nl_kernel_name_is_base(struct nl_str name)
{
    if (is_mangled(name))
        return true;
    size_t end = parameters(name);
    for (size_t i = 0; i < end; i++)
        if (!is_word(name.ptr[i]))
            return false;
    return end == name.len;
}
