/* Words that mark a key as secret, and the shapes of secrets in free text; matching ignores case and
 * errs on the side of silence. */
#include "store/redact.h"

#include <ctype.h>

#define REDACTED "(redacted)"

static const char *const secret_words[] = {
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "auth",
    "cookie",
    "session_key",
    "environment_variable",
    "environ",
};

bool nl_is_secret_key(struct nl_str key)
{
    if (nl_str_is(key, "env"))
        return true;
    for (size_t i = 0; i < sizeof secret_words / sizeof secret_words[0]; i++)
        if (nl_str_find_nocase(key, secret_words[i]) >= 0)
            return true;
    return false;
}

/* How a name in free text ends when a secret follows. Narrower than the keys above: max_tokens=128
 * and author=… stand in many command lines. */
static const char *const secret_endings[] = {
    "token",       "secret",      "password",    "passwd",      "passphrase",    "credential",
    "credentials", "api_key",     "apikey",      "api-key",     "access_key",    "access-key",
    "accesskey",   "secret_key",  "secret-key",  "secretkey",   "auth",          "authorization",
    "cookie",      "session_key", "private_key", "private-key", "access_key_id",
};

/* How tokens of well-known services begin, and the least number of characters that follow: letters and
 * digits alone, where the service has it so (hf_decoder_layer_12 is a function). */
static const struct {
    const char *start;
    size_t least;
    bool plain;
} token_shapes[] = {
    {"hf_", 16, true},    {"ghp_", 20, true},         {"gho_", 20, true},
    {"ghs_", 20, true},   {"github_pat_", 20, false}, {"glpat-", 16, false},
    {"xoxb-", 16, false}, {"xoxp-", 16, false},       {"AKIA", 16, true},
    {"ASIA", 16, true},   {"AIza", 30, false},        {"dckr_pat_", 16, false},
    {"npm_", 30, true},   {"pypi-", 30, false},       {"eyJ", 40, false},
    {"sk-", 32, false},   {"nvapi-", 20, false},
};
#define TOKEN_STARTS "hgxAdnpes" /* their first characters */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_token(char c)
{
    return is_word(c) || c == '.' || c == '/' || c == '+' || c == '=';
}

/* Where a value stops. */
static bool ends_value(char c)
{
    return isspace((unsigned char)c) || (c && strchr("\"'\\,;&)}]", c));
}

/* Length of what is at the start of `text` and looks like a service's token, 0 = nothing does. */
static size_t token_length(struct nl_str text)
{
    if (!strchr(TOKEN_STARTS, text.ptr[0]))
        return 0;
    for (size_t i = 0; i < sizeof token_shapes / sizeof token_shapes[0]; i++) {
        size_t len = strlen(token_shapes[i].start);
        if (text.len < len || memcmp(text.ptr, token_shapes[i].start, len) != 0)
            continue;
        bool digit = false, plain = token_shapes[i].plain;
        for (; len < text.len &&
               (plain ? isalnum((unsigned char)text.ptr[len]) != 0 : is_token(text.ptr[len]));
             len++)
            digit = digit || isdigit((unsigned char)text.ptr[len]);
        if (digit && len >= strlen(token_shapes[i].start) + token_shapes[i].least)
            return len;
    }
    return 0;
}

static bool has_secret_ending(struct nl_str word)
{
    for (size_t i = 0; i < sizeof secret_endings / sizeof secret_endings[0]; i++) {
        size_t len = strlen(secret_endings[i]);
        if (word.len < len)
            continue;
        struct nl_str end = {word.ptr + word.len - len, len};
        if (nl_str_find_nocase(end, secret_endings[i]) == 0)
            return true;
    }
    return false;
}

static size_t skip(struct nl_str text, size_t at, const char *set)
{
    while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
        at++;
    return at;
}

static size_t value_end(struct nl_str text, size_t at)
{
    while (at < text.len && !ends_value(text.ptr[at]))
        at++;
    return at;
}

static bool is_scheme(struct nl_str word)
{
    return (word.len == 6 && nl_str_find_nocase(word, "bearer") == 0) ||
           (word.len == 5 && nl_str_find_nocase(word, "basic") == 0);
}

/* After a secret's name that ends at `at`: where its value begins; 0 when none follows. A name that
 * is an option takes the next word, too. */
static size_t value_begin(struct nl_str text, size_t at, bool option)
{
    size_t mark = skip(text, at, "\"'\\ ");
    bool joined = mark < text.len && (text.ptr[mark] == '=' || text.ptr[mark] == ':');
    bool twice = mark + 1 < text.len && text.ptr[mark] == ':' && text.ptr[mark + 1] == ':';
    if (joined && !twice)
        return skip(text, mark + 1, " \t\"'\\");
    if (option && at < text.len && text.ptr[at] == ' ') {
        mark = skip(text, at, " \"'\\");
        return mark < text.len && text.ptr[mark] != '-' ? mark : 0;
    }
    return 0;
}

/* The user part of a URL that starts at `at` (behind "://"); its length, 0 = there is none. */
static size_t user_length(struct nl_str text, size_t at)
{
    bool colon = false;
    for (size_t i = at; i < text.len && !isspace((unsigned char)text.ptr[i]); i++) {
        if (text.ptr[i] == '@')
            return colon ? i - at : 0;
        if (text.ptr[i] == '/' || text.ptr[i] == '"' || text.ptr[i] == '\'')
            return 0;
        colon = colon || text.ptr[i] == ':';
    }
    return 0;
}

/* Where the secret that follows the word [start, end) lies; *to is 0 when none does. */
static void secret_after(struct nl_str text, size_t start, size_t end, size_t *from, size_t *to)
{
    struct nl_str word = {text.ptr + start, end - start};
    size_t at;
    *from = *to = 0;
    if (is_scheme(word) && end < text.len && text.ptr[end] == ' ') {
        *from = skip(text, end, " ");
        *to = value_end(text, *from);
    } else if ((at = value_begin(text, end, word.ptr[0] == '-')) && has_secret_ending(word)) {
        size_t stop = value_end(text, at);
        if (is_scheme((struct nl_str){text.ptr + at, stop - at}))
            stop = value_end(text, skip(text, stop, " "));
        *from = at;
        *to = stop;
    } else if (nl_str_starts((struct nl_str){text.ptr + end, text.len - end}, "://")) {
        size_t len = user_length(text, end + 3);
        *from = end + 3;
        *to = len ? end + 3 + len : 0;
    }
    if (*to <= *from ||
        nl_str_starts((struct nl_str){text.ptr + *from, text.len - *from}, REDACTED))
        *to = 0;
}

/* In the name of an event `token = token[]`, `n_token=128` and `Basic Block` are what they say: a
 * value is none when it is a number, has brackets, or has no digit and is shorter than `least`. */
static bool is_code(struct nl_str value, size_t least)
{
    size_t digits = 0, numeric = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (strchr("[(<{%", value.ptr[i]))
            return true;
        bool digit = isdigit((unsigned char)value.ptr[i]);
        digits += digit;
        numeric += digit || strchr("+-.eE", value.ptr[i]);
    }
    return numeric == value.len || (digits == 0 && value.len < least);
}

static size_t redact(struct nl_buf *out, struct nl_str text, bool name)
{
    size_t at = 0, copied = 0, count = 0;
    while (at < text.len) {
        if (!is_word(text.ptr[at])) {
            at++;
            continue;
        }
        size_t from = at, to = at + token_length((struct nl_str){text.ptr + at, text.len - at});
        size_t end = at;
        while (end < text.len && is_word(text.ptr[end]))
            end++;
        if (to == at) {
            secret_after(text, at, end, &from, &to);
            size_t least = is_scheme((struct nl_str){text.ptr + at, end - at}) ? 16 : 5;
            if (name && to > from && is_code((struct nl_str){text.ptr + from, to - from}, least))
                to = 0;
        }
        if (to > from) {
            nl_buf_add(out, text.ptr + copied, from - copied);
            nl_buf_text(out, REDACTED);
            count++;
            copied = end = to;
        }
        at = end;
    }
    if (copied < text.len && (count || !name))
        nl_buf_add(out, text.ptr + copied, text.len - copied);
    return count;
}

size_t nl_redact_text(struct nl_buf *out, struct nl_str text)
{
    return redact(out, text, false);
}

size_t nl_redact_name(struct nl_buf *out, struct nl_str text)
{
    return redact(out, text, true);
}
