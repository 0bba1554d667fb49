/* Tokens by their start, what follows it, and what distinguishes them from the names of functions
 * and files. */
#define _GNU_SOURCE
#include "redact/secrettoken.h"

#include <string.h>

#include "base/chars.h"

enum letters { ALNUM, HEX, UPPER, LOWER, DASHED, WORD, DOTTED, FULL };
enum proof { DIGIT, EXACT, RANDOM };

static const struct shape {
    struct nl_str start;
    size_t least;
    enum letters letters;
    enum proof proof;
    bool text_only; /* not looked for in names of events */
} shapes[] = {
#define TOKEN(start, least, letters, proof)                                                        \
    {{start, sizeof(start) - 1}, least, letters, proof, false},
#define SHORT(start, least, letters, proof)                                                        \
    {{start, sizeof(start) - 1}, least, letters, proof, true},
#include "redact/secretshapes.def"
};

#define SHORTEST 19 /* hf_ and 16 letters */
#define MAX_WORD 64 /* no shape below has a longer first word */
#define MAX_BODY 4096

bool nl_token_is_word(char c)
{
    return nl_is_word(c) || c == '-';
}

bool nl_token_has_char(char c)
{
    return nl_token_is_word(c) || c == '.' || c == '/' || c == '+' || c == '=';
}

static bool is_of(enum letters letters, char c)
{
    switch (letters) {
    case ALNUM: return nl_is_alnum(c);
    case HEX: return nl_is_hex(c);
    case UPPER: return nl_is_upper(c) || nl_is_digit(c);
    case LOWER: return nl_is_lower(c) || nl_is_digit(c);
    case DASHED: return nl_is_upper(c) || nl_is_digit(c) || c == '-';
    case WORD: return nl_token_is_word(c);
    case DOTTED: return nl_is_alnum(c) || c == '.';
    case FULL: return nl_token_has_char(c) || c == '%';
    }
    return false;
}

/* What a word is made of. */
struct mix {
    size_t upper, lower, digits;
};

static struct mix mix_of(const char *text, size_t len)
{
    struct mix mix = {0, 0, 0};
    for (size_t i = 0; i < len; i++) {
        mix.upper += nl_is_upper(text[i]);
        mix.lower += nl_is_lower(text[i]);
        mix.digits += nl_is_digit(text[i]);
    }
    return mix;
}

/* Of the letters of words in camel case one of six is a capital, of those
 * that are random, one of two. */
static bool is_mixed(struct mix mix)
{
    size_t cased = mix.upper + mix.lower;
    return mix.upper * 4 >= cased && mix.lower * 4 >= cased;
}

static bool is_proved(const struct shape *shape, const char *body, size_t len)
{
    struct mix mix = mix_of(body, len);
    switch (shape->proof) {
    case EXACT: return len == shape->least && mix.digits;
    case DIGIT: return mix.digits || (len >= 20 && is_mixed(mix));
    case RANDOM: return mix.digits && is_mixed(mix);
    }
    return false;
}

static size_t length_of(const struct shape *shape, struct nl_str text)
{
    size_t start = shape->start.len, len = start;
    if (text.len < start || memcmp(text.ptr, shape->start.ptr, start) != 0)
        return 0;
    while (len < text.len && len < MAX_BODY && is_of(shape->letters, text.ptr[len]))
        len++;
    if (len - start < shape->least || !is_proved(shape, text.ptr + start, len - start))
        return 0;
    while (len < text.len && (nl_token_is_word(text.ptr[len]) || len >= MAX_BODY) &&
           is_of(FULL, text.ptr[len]))
        len++; /* what belongs to the word, if not to the token */
    return len;
}

static size_t count(struct nl_str text, size_t at, enum letters letters)
{
    size_t from = at;
    while (at < text.len && at - from < MAX_BODY && is_of(letters, text.ptr[at]))
        at++;
    return at - from;
}

/* A bot of Telegram: 1234567890:AA…; the text after its first word, which has `word` letters. */
static size_t telegram_length(struct nl_str text, size_t word)
{
    struct nl_str rest = {text.ptr + word, text.len - word};
    size_t more = word >= 8 && word <= 10 && nl_str_starts(rest, ":AA") ? count(rest, 1, WORD) : 0;
    return more >= 35 && mix_of(text.ptr, word).digits == word ? 1 + more : 0;
}

/* A secret of Azure: abc8Q~… */
static size_t azure_length(struct nl_str text, size_t word)
{
    struct nl_str rest = {text.ptr + word, text.len - word};
    if (word < 5 || !nl_str_starts(rest, "~") || rest.ptr[-1] != 'Q' || !nl_is_digit(rest.ptr[-2]))
        return 0;
    size_t more = count(rest, 1, FULL);
    return more >= 31 ? 1 + more : 0;
}

/* Told by their whole shape: the above, a key of Mailchimp: 32 digits, -us12; a token of
 * HCP: 14 letters, .atlasv1.… */
static size_t shaped_length(struct nl_str text)
{
    struct nl_str start = {text.ptr, text.len < MAX_WORD ? text.len : MAX_WORD};
    size_t word = count(start, 0, WORD), more = telegram_length(text, word);
    struct nl_str rest = {text.ptr + word, text.len - word};
    more = more ? more : azure_length(text, word);
    if (nl_str_starts(rest, ".atlasv1."))
        more = 9 + count(rest, 9, WORD);
    bool mailchimp = word >= 36 && word <= 37 && count(text, 0, HEX) == 32 &&
                     memcmp(text.ptr + 32, "-us", 3) == 0;
    return more || mailchimp ? word + more : 0;
}

size_t nl_token_length(struct nl_str text, bool name)
{
    size_t letters = 0; /* of tokens, in all shapes: most words are shorter */
    while (letters < SHORTEST && letters < text.len &&
           (nl_token_has_char(text.ptr[letters]) || text.ptr[letters] == '%' ||
            text.ptr[letters] == ':' || text.ptr[letters] == '~'))
        letters++;
    if (letters < SHORTEST)
        return 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (shapes[i].start.ptr[0] != text.ptr[0] || (name && shapes[i].text_only))
            continue;
        size_t len = length_of(&shapes[i], text);
        if (len)
            return len;
    }
    return shaped_length(text);
}

bool nl_token_is_random(struct nl_str text)
{
    uint64_t seen[2] = {0, 0};
    if (text.len < 20)
        return false;
    size_t len = text.len < 64 ? text.len : 64;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (!nl_token_has_char((char)c) && c != '%' && c != '~')
            return false;
        seen[c >> 6 & 1] |= (uint64_t)1 << (c & 63);
    }
    struct mix mix = mix_of(text.ptr, len);
    size_t different = (size_t)(__builtin_popcountll(seen[0]) + __builtin_popcountll(seen[1]));
    return mix.upper && mix.lower && mix.digits && different >= 10 && different * 4 >= len;
}

bool nl_token_may_be_secret(struct nl_str text)
{
    return text.len >= 16 && text.ptr[0] != '/' && text.ptr[0] != '.' && text.ptr[0] != '~' &&
           mix_of(text.ptr, text.len).digits > 0;
}
