/*
 * A pattern is walked in parallel with the text, without going back: every element takes as much as
 * it can.
 */
#include "timeline/fold.h"

#include "base/chars.h"
#include "base/hex.h"
#include "base/mem.h"

#define CODE_LETTERS 20 /* no word of a program's author is so long without a '_' */
#define HASH_DIGITS  16

struct rule {
    const char *pattern;
    bool keep;
    enum nl_fold_level level; /* from which it is used */
    const char *doc;
};

static const struct rule rules[] = {
#define NL_FOLD(pattern, keep, doc)          {pattern, keep, NL_FOLD_INSTANCES, doc},
#define NL_FOLD_FOR_EYES(pattern, keep, doc) {pattern, keep, NL_FOLD_EYES, doc},
#include "timeline/foldrules.def"
#undef NL_FOLD
#undef NL_FOLD_FOR_EYES
};
#define RULES (sizeof rules / sizeof rules[0])
_Static_assert(RULES <= NL_MAX_FOLD_RULES, "more rules than counters");

static size_t skip_while(struct nl_str text, size_t at, bool (*is)(char))
{
    while (at < text.len && is(text.ptr[at]))
        at++;
    return at;
}

/* A list in brackets, lists inside it included. */
static size_t take_list(struct nl_str text, size_t at)
{
    size_t depth = 0;
    for (size_t i = at; i < text.len; i++) {
        depth += text.ptr[i] == '[';
        depth -= text.ptr[i] == ']' && depth;
        if (!depth)
            return i > at ? i + 1 : at;
    }
    return at;
}

/* A word up to the '_' before the digits it ends with. */
static size_t take_word(struct nl_str text, size_t at)
{
    size_t end = at;
    while (end < text.len && nl_is_word(text.ptr[end]))
        end++;
    while (end > at && nl_is_digit(text.ptr[end - 1]))
        end--;
    return end > at && text.ptr[end - 1] == '_' ? end - 1 : at;
}

static bool is_id(char c)
{
    return nl_is_digit(c) || c == '/' || c == '_' || c == '!';
}

/* At least `least` of such characters with a digit among them. */
static size_t take_code(struct nl_str text, size_t at, bool (*is)(char), size_t least)
{
    size_t end = skip_while(text, at, is), digit = at;
    while (digit < end && !nl_is_digit(text.ptr[digit]))
        digit++;
    return end - at >= least && digit < end ? end : at;
}

/* 8-4-4-4-12 hex digits with '-' or '_' between them. */
static size_t take_uuid(struct nl_str text, size_t at)
{
    static const unsigned char parts[] = {8, 4, 4, 4, 12};
    size_t end = at;
    for (size_t i = 0; i < sizeof parts; i++) {
        if (i && (end == text.len || !strchr("-_", text.ptr[end++])))
            return at;
        size_t next = skip_while(text, end, nl_is_hex);
        if (next - end != parts[i])
            return at;
        end = next;
    }
    return end;
}

/* A whole word of hex digits, with a digit among them, or a UUID. */
static size_t take_hash(struct nl_str text, size_t at)
{
    if (at && nl_is_alnum(text.ptr[at - 1]))
        return at;
    size_t end = take_uuid(text, at);
    if (end == at)
        end = take_code(text, at, nl_is_hex, HASH_DIGITS);
    return end < text.len && nl_is_alnum(text.ptr[end]) ? at : end;
}

/* Folders up to the last '/' of a path. */
static size_t take_folders(struct nl_str text, size_t at)
{
    size_t end = at;
    for (size_t i = at; i < text.len && !strchr(" ():", text.ptr[i]); i++)
        if (text.ptr[i] == '/')
            end = i + 1;
    return end;
}

/* Where the element `what` of a pattern ends in the text; `at` when it does not fit. */
static size_t take_element(char what, struct nl_str text, size_t at)
{
    switch (what) {
    case 'd': return skip_while(text, at, nl_is_digit);
    case 'x': return skip_while(text, at, nl_is_hex);
    case 'l': return take_list(text, at);
    case 'w': return take_word(text, at);
    case 'c': return skip_while(text, at, is_id);
    case 'h': return take_code(text, at, nl_is_alnum, CODE_LETTERS);
    case 'u': return take_hash(text, at);
    case 'f': return take_folders(text, at);
    default: return at < text.len && strchr(" _.#=:-", text.ptr[at]) ? at + 1 : at;
    }
}

/* End of the match of `pattern` at `at`, 0 when there is none. */
static size_t match(const char *pattern, struct nl_str text, size_t at, char before)
{
    if (*pattern == '~') {
        if (nl_is_letter(before))
            return 0;
        pattern++;
    }
    for (; *pattern; pattern++) {
        if (*pattern == '%') {
            size_t end = take_element(*++pattern, text, at);
            if (end == at && *pattern != 'o')
                return 0;
            at = end;
        } else if (*pattern == '$') {
            return at == text.len ? at : 0;
        } else if (at < text.len && nl_lower(text.ptr[at]) == nl_lower(*pattern)) {
            at++;
        } else {
            return 0;
        }
    }
    return at;
}

/* A number between dots counts modules only where a name stands before: 1.5 is a value. */
static bool is_value(const struct rule *rule, char before)
{
    return rule->pattern[0] == '.' && !nl_is_letter(before) && before != '_' && before != '*';
}

static bool is_number(char what)
{
    return what != 'w' && what != 'o';
}

/* The matched text with '*' for its numbers; an ending that the next match may need is left. */
static size_t write_folded(struct nl_str text, size_t at, const char *pattern, struct nl_buf *out)
{
    bool list = pattern[0] == '.';
    for (pattern += *pattern == '~'; *pattern && *pattern != '$'; pattern++) {
        if (list && pattern[0] != '%' && !pattern[1] && out->ptr[out->len - 1] == '*')
            break;
        bool element = *pattern == '%';
        size_t end = element ? take_element(*++pattern, text, at) : at + 1;
        if (!element || !is_number(*pattern))
            nl_buf_add(out, text.ptr + at, end - at);
        else if (!out->len || out->ptr[out->len - 1] != '*')
            nl_buf_char(out, '*');
        at = end;
    }
    return at;
}

/* Only a hash may come first without a letter. */
static bool may_start(const char *pattern, char c)
{
    pattern += *pattern == '~';
    return *pattern == '%' ? nl_is_hex(c) : nl_lower(*pattern) == nl_lower(c);
}

static void find_starts(uint64_t starts[256], enum nl_fold_level level)
{
    memset(starts, 0, 256 * sizeof *starts);
    for (size_t rule = 0; rule < RULES; rule++)
        for (unsigned c = 0; c < 256 && rules[rule].level <= level; c++)
            if (may_start(rules[rule].pattern, (char)c))
                starts[c] |= (uint64_t)1 << rule;
}

/* End of the first rule's match at `at`, 0 when none fits. */
static size_t match_any(uint64_t candidates, struct nl_str name, size_t at, char before,
                        size_t *found)
{
    for (size_t rule = 0; rule < RULES && candidates >> rule; rule++) {
        if (!(candidates >> rule & 1) || is_value(&rules[rule], before))
            continue;
        *found = rule;
        size_t end = match(rules[rule].pattern, name, at, before);
        if (end)
            return end;
    }
    return 0;
}

static void fold_text(struct nl_str name, const uint64_t *starts, struct nl_buf *out,
                      uint64_t *used)
{
    for (size_t at = 0; at < name.len;) {
        uint64_t candidates = starts[(unsigned char)name.ptr[at]];
        char before = out->len ? out->ptr[out->len - 1] : ' ';
        size_t rule = 0, end = candidates ? match_any(candidates, name, at, before, &rule) : 0;
        if (!end) {
            nl_buf_char(out, name.ptr[at++]);
            continue;
        }
        used[rule]++;
        at = rules[rule].keep ? write_folded(name, at, rules[rule].pattern, out) : end;
    }
}

void nl_fold_starts_init(struct nl_fold_starts *starts, enum nl_fold_level level)
{
    memset(starts, 0, sizeof *starts);
    find_starts(starts->rules, level);
}

void nl_fold_text(const struct nl_fold_starts *starts, struct nl_str name, struct nl_buf *out)
{
    uint64_t used[NL_MAX_FOLD_RULES] = {0};
    fold_text(name, starts->rules, out, used);
}

void nl_fold_name(struct nl_str name, enum nl_fold_level level, struct nl_buf *out)
{
    struct nl_fold_starts starts;
    nl_fold_starts_init(&starts, level);
    nl_fold_text(&starts, name, out);
}

#define MAX_STACK_BYTES ((size_t)1 << 26)

void nl_fold_init(struct nl_fold *fold, const struct nl_trace *trace, enum nl_fold_level level)
{
    *fold = (struct nl_fold){.trace = trace, .level = level};
    nl_dict_init(&fold->texts);
    nl_buf_init(&fold->text, MAX_STACK_BYTES);
    find_starts(fold->starts, level);
    fold->ids = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *fold->ids);
}

void nl_fold_release(struct nl_fold *fold)
{
    nl_dict_release(&fold->texts);
    nl_buf_release(&fold->text);
    nl_free(fold->ids);
    *fold = (struct nl_fold){0};
}

/* Every rule needs a digit. */
static bool may_fold(struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (nl_is_digit(text.ptr[i]))
            return true;
    return false;
}

uint32_t nl_fold_id(struct nl_fold *fold, uint32_t name)
{
    if (name == NL_NO_NAME)
        return 0;
    if (!fold->ids[name]) {
        struct nl_str text = nl_trace_name(fold->trace, name);
        if (fold->level && may_fold(text)) {
            nl_buf_clear(&fold->text);
            fold_text(text, fold->starts, &fold->text, fold->used);
            text = (struct nl_str){fold->text.ptr, fold->text.len};
        }
        fold->ids[name] = nl_dict_add(&fold->texts, text) + 1;
        fold->before++;
    }
    return fold->ids[name] - 1;
}

const char *nl_fold_note(const struct nl_fold *fold, struct nl_arena *arena)
{
    struct nl_buf text;
    size_t after = fold->texts.count - 1;
    bool any = false;
    nl_buf_init(&text, 4096);
    if (after < fold->before)
        nl_buf_format(&text, "%zu names shown as %zu, without", fold->before, after);
    else
        nl_buf_text(&text, "names shown without");
    for (size_t rule = 0; rule < RULES; rule++) {
        bool told = rule && !strcmp(rules[rule].doc, rules[rule - 1].doc) && fold->used[rule - 1];
        if (fold->used[rule] && !told)
            nl_buf_format(&text, "%s %s", any ? "," : "", rules[rule].doc);
        any |= fold->used[rule] != 0;
    }
    const char *note = any ? nl_arena_text(arena, text.ptr, text.len) : NULL;
    nl_buf_release(&text);
    return note;
}
