/*
 * Kernel names against the rules of kernelcategory.def. Called once per distinct name: the name is
 * put into lower case once, so that a rule costs one search.
 */
#include "derive/kernelcategory.h"

#include <string.h>

#include "base/chars.h"

#define MAX_NAME_BYTES 4096 /* of a name that are looked at: mangled templates run longer */

enum how { START, HAS, WORD, ONLY };

struct category_rule {
    enum how how;
    const char *pattern;
    enum nl_category category;
};

struct tensor_rule {
    enum how how;
    const char *pattern;
    enum nl_tensorcore use;
};

struct dtype_rule {
    enum how how;
    const char *pattern, *dtype;
};

static const struct category_rule category_rules[] = {
#define NL_CATEGORY_RULE(how, pattern, category) {how, pattern, NL_CATEGORY_##category},
#define NL_TENSOR_RULE(how, pattern, use)
#define NL_DTYPE_RULE(how, pattern, dtype)
#include "derive/kernelcategory.def"
};

static const struct tensor_rule tensor_rules[] = {
#define NL_CATEGORY_RULE(how, pattern, category)
#define NL_TENSOR_RULE(how, pattern, use) {how, pattern, NL_TENSORCORE_##use},
#define NL_DTYPE_RULE(how, pattern, dtype)
#include "derive/kernelcategory.def"
};

static const struct dtype_rule dtype_rules[] = {
#define NL_CATEGORY_RULE(how, pattern, category)
#define NL_TENSOR_RULE(how, pattern, use)
#define NL_DTYPE_RULE(how, pattern, dtype) {how, pattern, dtype},
#include "derive/kernelcategory.def"
};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* A name and which pairs of letters are in it: most patterns begin with one that is not. */
struct name {
    struct nl_str text;
    uint64_t pairs[16];
};

static unsigned pair_of(const char *text)
{
    return ((unsigned char)text[0] * 33u + (unsigned char)text[1]) & 1023;
}

static bool may_have(const struct name *name, const char *pattern)
{
    if (!pattern[0] || !pattern[1] || pattern[0] == '*' || pattern[1] == '*')
        return true;
    unsigned pair = pair_of(pattern);
    return name->pairs[pair / 64] >> pair % 64 & 1;
}

/* First place of `part` in [text, end); NULL when there is none. Not memmem, which sets up a table
 * of 256 bytes for each search: names are short, and there are hundreds of searches per name. */
static const char *find_part(const char *text, const char *end, const char *part, size_t length)
{
    if (!length)
        return text;
    for (; (size_t)(end - text) >= length; text++) {
        text = memchr(text, part[0], (size_t)(end - text) - length + 1);
        if (!text)
            return NULL;
        if (memcmp(text, part, length) == 0)
            return text;
    }
    return NULL;
}

static bool begins(const char *text, const char *end, const char *part, size_t length)
{
    return (size_t)(end - text) >= length && memcmp(text, part, length) == 0;
}

/* Whether the '*'-separated parts of `pattern` follow each other in the text; the first one at its
 * very beginning for `anchored`. *tail is what follows the last part. */
static bool follows(struct nl_str text, const char *pattern, bool anchored, const char **tail)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (bool first = true;; first = false) {
        size_t length = strcspn(pattern, "*");
        const char *hit = !first || !anchored                ? find_part(at, end, pattern, length)
                          : begins(at, end, pattern, length) ? at
                                                             : NULL;
        if (!hit)
            return false;
        *tail = at = hit + length;
        if (!pattern[length])
            return true;
        pattern += length + 1;
    }
}

static bool has_word(struct nl_str text, const char *word)
{
    size_t length = strlen(word);
    const char *end = text.ptr + text.len;
    for (const char *at = text.ptr; (at = find_part(at, end, word, length)); at++) {
        bool is_begin = at == text.ptr || !nl_is_lower(at[-1]);
        bool is_end = at + length == end || !nl_is_lower(at[length]);
        if (is_begin && is_end)
            return true;
    }
    return false;
}

static bool hits(enum how how, const struct name *name, const char *pattern)
{
    struct nl_str text = name->text;
    const char *tail = NULL;
    if (!may_have(name, pattern))
        return false;
    switch (how) {
    case START: return follows(text, pattern, true, &tail);
    case HAS: return follows(text, pattern, false, &tail);
    case WORD: return has_word(text, pattern);
    case ONLY:
        if (!follows(text, pattern, true, &tail))
            return false;
        while (tail < text.ptr + text.len && (*tail == '_' || nl_is_digit(*tail)))
            tail++;
        return tail == text.ptr + text.len;
    }
    return false;
}

/* ---- the element type that a C++ lambda is applied to ---- */

/* ATen's elementwise kernels end in `{lambda(T, …)#1}` or `[lambda(T) (instance 1)]`; the outermost
 * one only takes an index. A `double` elsewhere in such names is a scalar parameter. */
static const char *lambda_dtype(struct nl_str text)
{
    static const struct {
        const char *type, *dtype;
    } types[] = {{"float)", "fp32"},     {"float,", "fp32"},
                 {"double)", "fp64"},    {"double,", "fp64"},
                 {"c10::half", "fp16"},  {"c10::bfloat16", "bf16"},
                 {"c10::float8", "fp8"}, {"long)", "int64"},
                 {"long,", "int64"},     {"c10::complex<float", "complex64"}};
    const char *found = NULL, *end = text.ptr + text.len;
    for (const char *at = text.ptr; (at = find_part(at, end, "lambda(", 7));) {
        at += 7;
        for (size_t i = 0; i < LENGTH(types); i++)
            if (nl_str_starts((struct nl_str){at, (size_t)(end - at)}, types[i].type))
                found = types[i].dtype;
    }
    return found;
}

static const char *dtype_of(const struct name *name, enum nl_category category)
{
    if (category == NL_CATEGORY_QUANTISATION) /* names also say what it converts to */
        return NULL;
    bool lambda = hits(HAS, name, "elementwise");
    for (size_t i = 0; i < LENGTH(dtype_rules); i++) {
        const struct dtype_rule *rule = &dtype_rules[i];
        if (rule->dtype && lambda) { /* after the rules that say "unknown" */
            const char *dtype = lambda_dtype(name->text);
            if (dtype)
                return dtype;
            lambda = false;
        }
        if (hits(rule->how, name, rule->pattern))
            return rule->dtype;
    }
    return NULL;
}

/* The name without its argument list, which says what it gets, not what it does. */
static struct nl_str without_arguments(struct nl_str text)
{
    size_t depth = 0;
    if (!text.len || text.ptr[text.len - 1] != ')')
        return text;
    for (size_t i = text.len; i-- > 1;) {
        depth += text.ptr[i] == ')';
        depth -= text.ptr[i] == '(';
        if (!depth)
            return (struct nl_str){text.ptr, i};
    }
    return text;
}

static enum nl_category category_of(const struct name *name, enum nl_class class)
{
    switch (class) {
    case NL_CLASS_COMMUNICATION: return NL_CATEGORY_COMMUNICATION;
    case NL_CLASS_COPY: return NL_CATEGORY_COPY_LIKE;
    case NL_CLASS_MEMSET: return NL_CATEGORY_FILL;
    default: break;
    }
    for (size_t i = 0; i < LENGTH(category_rules); i++)
        if (hits(category_rules[i].how, name, category_rules[i].pattern))
            return category_rules[i].category;
    return NL_CATEGORY_UNKNOWN;
}

bool nl_category_is_matrix(unsigned category)
{
    return category == NL_CATEGORY_GEMM || category == NL_CATEGORY_CONVOLUTION ||
           category == NL_CATEGORY_ATTENTION || category == NL_CATEGORY_MOE ||
           category == NL_CATEGORY_RNN;
}

static enum nl_tensorcore tensor_core_of(const struct name *name, enum nl_category category)
{
    if (category != NL_CATEGORY_UNKNOWN && !nl_category_is_matrix(category))
        return NL_TENSORCORE_NO;
    for (size_t i = 0; i < LENGTH(tensor_rules); i++)
        if (hits(tensor_rules[i].how, name, tensor_rules[i].pattern))
            return tensor_rules[i].use;
    return NL_TENSORCORE_UNKNOWN;
}

struct nl_kernel_facts nl_kernel_facts(struct nl_str name, enum nl_class class)
{
    char lower[MAX_NAME_BYTES];
    if (nl_str_starts(name, "void ")) {
        name.ptr += 5;
        name.len -= 5;
    }
    size_t length = name.len < sizeof lower ? name.len : sizeof lower;
    for (size_t i = 0; i < length; i++) {
        char c = name.ptr[i];
        lower[i] = nl_lower(c);
    }
    struct name text = {.text = {lower, length}};
    for (size_t i = 0; i + 1 < length; i++) {
        unsigned pair = pair_of(lower + i);
        text.pairs[pair / 64] |= (uint64_t)1 << pair % 64;
    }
    struct name bare = text; /* the pairs of letters of all of it will do */
    bare.text = without_arguments(text.text);
    struct nl_kernel_facts facts = {.category = category_of(&bare, class)};
    facts.tensor_core = tensor_core_of(&text, facts.category);
    facts.dtype = dtype_of(&text, facts.category);
    return facts;
}
