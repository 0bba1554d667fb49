/*
 * readname — see readname.h. The distinguishing template argument is found by how libraries name
 * things: functors end in Functor or Ops, PyTorch's lambdas sit in NAME_kernel_cuda or NAME_kernel,
 * CUTLASS and CK wrap one type in a generic Kernel.
 */
#include "tables/readname.h"

#include "base/chars.h"
#include "derive/kernelname.h"
#include "tables/shortname.h"

#define MAX_NAME     4096
#define TILE_NUMBERS 3  /* of a tile: of attention there are up to nine */
#define ONE_TYPE     48 /* longer arguments of one-argument templates are cut */

static struct nl_str cut_end(struct nl_str text, const char *end)
{
    if (nl_str_ends(text, end))
        text.len -= strlen(end);
    return text;
}

/* The next identifier from *at on; empty at the end. */
static struct nl_str next_word(struct nl_str text, size_t *at)
{
    while (*at < text.len && !nl_is_word(text.ptr[*at]))
        ++*at;
    size_t start = *at;
    while (*at < text.len && nl_is_word(text.ptr[*at]))
        ++*at;
    return (struct nl_str){text.ptr + start, *at - start};
}

/* Wrappers of functors say nothing themselves. */
static bool is_wrapper(struct nl_str word)
{
    static const char *const wrappers[] = {"BinaryFunctor",
                                           "AUnaryFunctor",
                                           "BUnaryFunctor",
                                           "UnaryFunctor",
                                           "ReduceOp",
                                           "BinaryOpScalarFunctor",
                                           "UnaryOpFunctor",
                                           "PointwiseOpScalarFunctor",
                                           "BinaryOpListAlphaFunctor",
                                           "TensorListScalarListMetadata",
                                           "func_wrapper_t"};
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        if (nl_str_is(word, wrappers[i]))
            return true;
    return false;
}

/* "CUDAFunctor_add" → "add", "FillFunctor" → "Fill", "MeanOps" → "Mean", "direct_copy_kernel_cuda"
 * → "direct_copy"; empty when the word is no functor. */
static struct nl_str functor_of(struct nl_str word)
{
    static const char *const ends[] = {"Functor",      "_functor",          "Ops",
                                       "_kernel_cuda", "_kernel_cuda_impl", "_kernel",
                                       "_kernel_impl"};
    if (is_wrapper(word))
        return (struct nl_str){NULL, 0};
    if (nl_str_starts(word, "CUDAFunctor") || nl_str_starts(word, "CUDAFunctorOn")) {
        ptrdiff_t mark = nl_str_find_nocase(word, "_");
        if (mark > 0)
            return (struct nl_str){word.ptr + mark + 1, word.len - (size_t)mark - 1};
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (nl_str_ends(word, ends[i]) && word.len > strlen(ends[i]))
            return cut_end(word, ends[i]);
    if (nl_str_is(word, "plus") || nl_str_is(word, "multiplies") || nl_str_is(word, "minus"))
        return word;
    return (struct nl_str){NULL, 0};
}

/* The innermost functor among a template's arguments. */
static struct nl_str telling(struct nl_str arguments)
{
    struct nl_str best = {NULL, 0};
    for (size_t at = 0; at < arguments.len;) {
        struct nl_str found = functor_of(next_word(arguments, &at));
        if (found.len)
            best = found;
    }
    return best;
}

/* Position of the '<' that belongs to the last '>' of the text, or -1. */
static ptrdiff_t template_start(struct nl_str text)
{
    ptrdiff_t depth = 0;
    for (size_t i = text.len; i-- > 0;) {
        depth += text.ptr[i] == '>';
        depth -= text.ptr[i] == '<';
        if (depth == 0)
            return (ptrdiff_t)i;
    }
    return -1;
}

static struct nl_str last_part(struct nl_str function)
{
    size_t at = function.len;
    while (at && (nl_is_word(function.ptr[at - 1]) || function.ptr[at - 1] == '~'))
        at--;
    if (at == function.len)
        return function;
    return (struct nl_str){function.ptr + at, function.len - at};
}

/* Kernel<the type that says it all>. */
static bool is_shell(struct nl_str function)
{
    return nl_str_is(function, "Kernel") || nl_str_is(function, "Kernel2") ||
           nl_str_is(function, "device_kernel") || nl_str_is(function, "kentry");
}

/* Numbers are none. */
static struct nl_str longest_word(struct nl_str text)
{
    struct nl_str best = {NULL, 0};
    for (size_t at = 0; at < text.len;) {
        struct nl_str word = next_word(text, &at);
        if (word.len > best.len && !nl_is_digit(word.ptr[0]))
            best = word;
    }
    return best;
}

/* The first argument when it is short and says more than a number. */
static struct nl_str first_argument(struct nl_str arguments)
{
    size_t end = 0;
    while (end < arguments.len && !strchr(",<(", arguments.ptr[end]))
        end++;
    struct nl_str first = last_part((struct nl_str){arguments.ptr, end});
    bool word = first.len && !nl_is_digit(first.ptr[0]) &&
                nl_str_find_nocase(first, "traits") < 0 && nl_str_find_nocase(first, "params") < 0;
    return word && end < ONE_TYPE ? first : (struct nl_str){NULL, 0};
}

static void put_template(struct nl_buf *out, struct nl_str function, struct nl_str arguments)
{
    struct nl_str told = telling(arguments);
    if (!told.len && is_shell(function)) {
        struct nl_str type = longest_word(arguments);
        nl_buf_add(out, type.len ? type.ptr : function.ptr, type.len ? type.len : function.len);
        return;
    }
    if (!told.len)
        told = first_argument(arguments);
    nl_buf_add(out, function.ptr, function.len);
    if (!told.len)
        return;
    nl_buf_char(out, '<');
    nl_buf_add(out, told.ptr, told.len);
    nl_buf_char(out, '>');
}

/* Tensile: what the kernel multiplies is in its macro tile. */
static bool put_tensile(struct nl_buf *out, struct nl_str name)
{
    ptrdiff_t tile = nl_str_find_nocase(name, "_MT");
    if (!nl_str_starts(name, "Cijk_") || tile < 0)
        return false;
    size_t at = (size_t)tile + 1, end = at;
    while (end < name.len && name.ptr[end] != '_')
        end++;
    nl_buf_text(out, "Cijk…");
    nl_buf_add(out, name.ptr + at, end - at);
    return true;
}

/* ---- Composable Kernel: ck_tile::kentry<numbers, what runs<… sequence<tile> …>> ---- */

/* A number at *at, which moves past it and its separator; -1 when there is none. */
static long next_number(struct nl_str text, size_t *at)
{
    long value = -1;
    while (*at < text.len && (text.ptr[*at] == ' ' || text.ptr[*at] == ','))
        ++*at;
    if (*at + 1 < text.len && text.ptr[*at] == 'L' && text.ptr[*at + 1] == 'i')
        *at += 2;
    for (; *at < text.len && nl_is_digit(text.ptr[*at]) && value < 1000000; ++*at)
        value = (value < 0 ? 0 : value * 10) + (text.ptr[*at] - '0');
    if (value >= 0 && *at < text.len && text.ptr[*at] == 'E')
        ++*at;
    return value;
}

/* The first tile: "<256x128x64>". */
static void put_tile(struct nl_buf *out, struct nl_str arguments)
{
    static const char *const starts[] = {"sequence<", "8sequenceIJ"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        ptrdiff_t found = nl_str_find_nocase(arguments, starts[i]);
        if (found < 0)
            continue;
        size_t at = (size_t)found + strlen(starts[i]);
        const char *before = "<";
        long number = 0;
        for (unsigned k = 0; k < TILE_NUMBERS && (number = next_number(arguments, &at)) >= 0; k++) {
            nl_buf_format(out, "%s%ld", before, number);
            before = "x";
        }
        nl_buf_text(out, *before != 'x'                     ? ""
                         : number < 0                       ? ">"
                         : next_number(arguments, &at) >= 0 ? "…>"
                                                            : ">");
        return;
    }
}

/* The source name at *at of mangled text ("12Rmsnorm2dFwd"), which moves past it; empty when there
 * is none. */
static struct nl_str source_name(struct nl_str text, size_t *at)
{
    size_t length = 0;
    for (; *at < text.len && nl_is_digit(text.ptr[*at]) && length < text.len; ++*at)
        length = length * 10 + (size_t)(text.ptr[*at] - '0');
    if (!length || length > text.len - *at)
        return (struct nl_str){NULL, 0};
    *at += length;
    return (struct nl_str){text.ptr + *at - length, length};
}

/* After "N", or after "NS_" or "NS3_", which refer to an earlier name. */
static bool is_qualified(struct nl_str text, size_t at)
{
    if (at && text.ptr[at - 1] == '_') {
        at--;
        while (at && (nl_is_upper(text.ptr[at - 1]) || nl_is_digit(text.ptr[at - 1])) &&
               text.ptr[at - 1] != 'S')
            at--;
        if (!at || text.ptr[at - 1] != 'S')
            return false;
        at--;
    }
    return at && text.ptr[at - 1] == 'N';
}

/* The name of the next type at *at, which moves past it: the last part of a qualified one
 * ("N3foo10GemmKernelI"). */
static struct nl_str next_type(struct nl_str text, size_t *at, bool mangled)
{
    if (!mangled) {
        size_t start = *at;
        while (*at < text.len && (nl_is_word(text.ptr[*at]) || text.ptr[*at] == ':'))
            ++*at;
        return last_part((struct nl_str){text.ptr + start, *at - start});
    }
    bool qualified = is_qualified(text, *at);
    struct nl_str best = source_name(text, at);
    for (struct nl_str next = best; qualified && next.len;) {
        next = source_name(text, at);
        best = next.len ? next : best;
    }
    return best;
}

/* Neither a number nor an architecture. */
static bool says_what_runs(struct nl_str type)
{
    return type.len && !nl_is_digit(type.ptr[0]) && !nl_str_starts(type, "gfx") &&
           !nl_str_is(type, "void");
}

static bool put_composable(struct nl_buf *out, struct nl_str name)
{
    bool mangled = nl_str_starts(name, "_Z");
    const char *start = mangled ? "7ck_tile6kentryI" : "ck_tile::kentry<";
    ptrdiff_t found = nl_str_find_nocase(name, start);
    if (found < 0)
        return false;
    struct nl_str rest = {name.ptr + found + strlen(start),
                          name.len - (size_t)found - strlen(start)};
    for (size_t at = 0; at < rest.len && rest.ptr[at] != '>';) {
        size_t from = at;
        if (mangled && rest.ptr[at] == 'L') { /* a literal: its type and value up to E */
            while (at < rest.len && rest.ptr[at++] != 'E')
                continue;
            continue;
        }
        struct nl_str type = next_type(rest, &at, mangled);
        if (says_what_runs(type)) {
            nl_buf_add(out, type.ptr, type.len);
            put_tile(out, (struct nl_str){rest.ptr + at, rest.len - at});
            return true;
        }
        at += at == from;
    }
    return false;
}

/* ROCm's code objects add these. */
static struct nl_str without_marks(struct nl_str name)
{
    return cut_end(cut_end(name, " [clone .kd]"), ".kd");
}

static void put_readable(struct nl_buf *out, struct nl_str name)
{
    struct nl_str whole = nl_short_kernel(without_marks(name));
    if (put_tensile(out, whole))
        return;
    while (whole.len && whole.ptr[whole.len - 1] == ' ')
        whole.len--;
    if (!whole.len || whole.ptr[whole.len - 1] != '>') {
        struct nl_str function = nl_str_contains(whole, "::") ? last_part(whole) : whole;
        nl_buf_add(out, function.ptr, function.len);
        return;
    }
    ptrdiff_t open = template_start(whole);
    if (open <= 0) {
        nl_buf_add(out, whole.ptr, whole.len);
        return;
    }
    struct nl_str function = last_part((struct nl_str){whole.ptr, (size_t)open});
    struct nl_str arguments = {whole.ptr + open + 1, whole.len - (size_t)open - 2};
    put_template(out, function, arguments);
}

void nl_read_kernel(struct nl_buf *out, struct nl_str name)
{
    if (put_composable(out, name))
        return;
    if (nl_str_starts(name, "_Z")) {
        struct nl_buf base;
        nl_buf_init(&base, MAX_NAME);
        nl_kernel_name_form(&base, name, NL_NAME_BASE);
        if (base.len)
            nl_buf_add(out, base.ptr, base.len);
        else
            nl_buf_add(out, name.ptr, name.len);
        nl_buf_release(&base);
        return;
    }
    put_readable(out, name);
}
