/*
 * Words that mark a key as secret, and secrets in free text; matching ignores case and errs
 * on the side of silence. What is looked for stands in secretshapes.def; tokens by themselves
 * are secrettoken's, options of commands secretoption's. Here are values after names,
 * addresses and private keys: a text is read word by word, and each is asked whether a secret
 * begins there or follows.
 */
#define _GNU_SOURCE
#include "redact/redact.h"

#include <string.h>

#include "base/chars.h"
#include "redact/secretoption.h"
#include "redact/secretsift.h"
#include "redact/secrettoken.h"
#include "redact/secretvalue.h"

#define REDACTED    "(redacted)"
#define MAX_ADDRESS ((size_t)1024) /* its user part is longer nowhere */
#define MAX_HOST    ((size_t)128)
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

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

enum strength { NONE, ALWAYS, LONG, CAPITALS, CAPITALS_LONG };

static const struct ending {
    struct nl_str text;
    enum strength strength;
} endings[] = {
#define ENDING(text, strength) {TEXT(text), strength},
#include "redact/secretshapes.def"
};

static bool ends_with(struct nl_str word, struct nl_str ending)
{
    return word.len >= ending.len &&
           nl_sift_is_folded(word.ptr + word.len - ending.len, ending.ptr, ending.len);
}

static bool is_small(struct nl_str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (nl_is_lower(word.ptr[i]))
            return true;
    return false;
}

/* What is known of names that end so: is any value a secret, or a long one only? */
static enum strength strength_of(struct nl_str word)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        enum strength strength = endings[i].strength;
        bool capitals = strength == CAPITALS || strength == CAPITALS_LONG;
        if (!ends_with(word, endings[i].text) || (capitals && is_small(word)))
            continue;
        if (capitals && (word.len == endings[i].text.len || nl_str_is(word, "OLD_PWD")))
            continue;
        return strength == CAPITALS ? ALWAYS : strength == CAPITALS_LONG ? LONG : strength;
    }
    return NONE;
}

/* Whose password: db_pass, --user-pwd, DBPASS; but not forward_pass, bypass, --pwd. */
static bool is_pass_of_somebody(struct nl_str word)
{
    static const struct nl_str ends[] = {TEXT("pass"), TEXT("pwd"), TEXT("pw")};
    static const char *const owners[] = {"db",    "user",  "admin", "root",  "smtp",  "mail",
                                         "ftp",   "http",  "ssh",   "redis", "pg",    "mysql",
                                         "sql",   "ldap",  "imap",  "login", "proxy", "postgres",
                                         "mongo", "basic", "auth",  "rabbit"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (!ends_with(word, ends[i]))
            continue;
        struct nl_str owner = {word.ptr, word.len - ends[i].len};
        while (owner.len && strchr("-_", owner.ptr[owner.len - 1]))
            owner.len--;
        if (!owner.len)
            return word.ptr[0] == '-' && i != 1; /* --pass, --pw; --pwd is a folder */
        for (size_t k = 0; k < sizeof owners / sizeof owners[0]; k++)
            if (ends_with(owner, nl_str(owners[k])))
                return true;
    }
    return false;
}

/* A word of an address's query, or of a list of settings: ?sig=…, &pass=…, ;Pwd=… */
static bool is_secret_setting(struct nl_str text, size_t start, size_t end)
{
    static const char *const words[] = {"sig", "pass", "pwd"};
    struct nl_str word = {text.ptr + start, end - start};
    if (!start || !strchr("?&;", text.ptr[start - 1]))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word.len == strlen(words[i]) && nl_str_find_nocase(word, words[i]) == 0)
            return true;
    return word.len >= 9 && nl_str_find_nocase(word, "signature") >= 0;
}

/* The second net: what is random and follows a name that only sounds like a secret's. */
static bool sounds_secret(struct nl_str word)
{
    static const char *const parts[] = {"key",  "token", "secret", "auth",
                                        "pass", "cred",  "pwd",    "sess"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_find_nocase(word, parts[i]) >= 0)
            return true;
    return false;
}

/* Of settings whose names end like a secret's: sizes, switches, and the
 * special tokens of models. */
static bool is_plain(struct nl_str word, struct nl_str value)
{
    static const char *const switches[] = {"true", "false", "yes",  "no",
                                           "on",   "off",   "none", "null"};
    size_t digits = 0;
    while (digits < value.len && nl_is_digit(value.ptr[digits]))
        digits++;
    if (ends_with(word, nl_str("token")) &&
        ((digits == value.len && digits < 10) || (value.len && strchr("<[", value.ptr[0]))))
        return true;
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (value.len == strlen(switches[i]) && nl_str_find_nocase(value, switches[i]) == 0)
            return true;
    return false;
}

static bool is_secret_value(struct nl_str text, size_t start, size_t end, struct nl_str value)
{
    struct nl_str word = {text.ptr + start, end - start};
    enum strength strength = strength_of(word);
    if (is_secret_setting(text, start, end) && value.len && value.ptr[0] != '/') /* PWD=/home/me */
        return true;
    if (strength == ALWAYS || is_pass_of_somebody(word))
        return !is_plain(word, value);
    return (strength == LONG && nl_token_may_be_secret(value)) ||
           (sounds_secret(word) && nl_token_is_random(value));
}

static bool ends_address(char c)
{
    return nl_is_space(c) || c == '"' || c == '\'' || c == '<' || c == '>' || !c;
}

/* Where the address at `at` ends; a quote ends it, too. */
static size_t address_end(struct nl_str text, size_t at)
{
    size_t most = text.len - at < MAX_ADDRESS ? text.len : at + MAX_ADDRESS;
    while (at < most && !ends_address(text.ptr[at]))
        at++;
    return at;
}

static bool ends_host(char c)
{
    return c == '/' || c == '?' || c == '#' || !c;
}

/* Where the host in front of the path may end: at the first slash, unless what stands before it is
 * user:word with a slash in the word (a port has digits alone). */
static size_t authority_end(struct nl_str text, size_t at, size_t end)
{
    size_t path = at;
    while (path < end && !ends_host(text.ptr[path]))
        path++;
    const char *slash = path < end ? text.ptr + path : NULL;
    const char *colon = memchr(text.ptr + at, ':', end - at), *port = colon ? colon + 1 : NULL;
    if (!slash || !colon || colon > slash || text.ptr[at] == '[' ||
        memchr(text.ptr + at, '@', (size_t)(slash - text.ptr) - at))
        return slash ? (size_t)(slash - text.ptr) : end;
    while (port < slash && nl_is_digit(*port))
        port++;
    return port == slash ? (size_t)(slash - text.ptr) : end;
}

/* The user part of an address that starts at `at` (after "://"); its length, 0 = none. Without a
 * password it may be a token; a password may have any letter, so that the last @ counts. */
static size_t user_length(struct nl_str text, size_t at, bool web)
{
    size_t end = authority_end(text, at, address_end(text, at));
    const char *mark = memrchr(text.ptr + at, '@', end - at);
    size_t user = mark ? (size_t)(mark - text.ptr) - at : 0, digits = 0;
    for (size_t i = 0; i < user; i++)
        digits += nl_is_digit(text.ptr[at + i]);
    bool password = user && memchr(text.ptr + at, ':', user);
    return password || user >= 20 || (web && user >= 12 && digits) ? user : 0;
}

static const struct nl_str secret_paths[] = {
#define ADDRESS(text) TEXT(text),
#include "redact/secretshapes.def"
};

/* Where the secret in the address whose "://" ends at `at` begins and ends; *to
 * is 0 when there is none. */
static void secret_in_address(struct nl_str text, size_t at, bool web, size_t *from, size_t *to)
{
    size_t len = user_length(text, at, web), end = address_end(text, at);
    *from = at;
    *to = len ? at + len : 0;
    struct nl_str rest = {text.ptr + at, end - at < MAX_HOST ? end - at : MAX_HOST};
    for (size_t i = 0; !len && i < sizeof secret_paths / sizeof secret_paths[0]; i++) {
        ptrdiff_t found = nl_str_find_nocase(rest, secret_paths[i].ptr);
        size_t begin = at + (size_t)found + secret_paths[i].len;
        if (found >= 0 && begin < end &&
            !nl_str_starts((struct nl_str){text.ptr + begin, end - begin}, REDACTED)) {
            *from = begin;
            *to = end;
        }
    }
}

/* A private key in PEM or of PuTTY, from its first line to its last, or to the end of the text. */
static void secret_key(struct nl_str text, size_t at, size_t end, size_t *from, size_t *to)
{
    static const char begin[] = "-----BEGIN", finish[] = "-----END ", putty[] = "Private-Lines";
    *to = 0;
    if (end - at < sizeof begin - 1)
        return;
    const char *here = memmem(text.ptr + at, end - at, begin, sizeof begin - 1);
    const char *lines = memmem(text.ptr + at, end - at, putty, sizeof putty - 1);
    if (!here && !lines)
        return;
    *from = (size_t)((here ? here : lines) - text.ptr);
    size_t left = text.len - *from, line = left < 80 ? left : 80;
    if (here && !memmem(here, line, "PRIVATE KEY", 11))
        return;
    const char *last = here ? memmem(here, left, finish, sizeof finish - 1)
                            : memmem(lines, left, "Private-MAC", 11);
    const char *stop = last && here
                           ? memmem(last + 9, (size_t)(text.ptr + text.len - last) - 9, "-----", 5)
                           : last;
    *to = stop ? (size_t)(stop - text.ptr) + (here ? 5 : 0) : text.len;
}

static bool is_scheme(struct nl_str word)
{
    return (word.len == 6 && nl_str_find_nocase(word, "bearer") == 0) ||
           (word.len == 5 && nl_str_find_nocase(word, "basic") == 0) || nl_str_is(word, "SSWS");
}

/* Where the secret is that follows the word [start, end); *to is 0 if there is none. */
static void secret_after(struct nl_str text, size_t start, size_t end, bool name, size_t *from,
                         size_t *to)
{
    struct nl_str word = {text.ptr + start, end - start};
    struct nl_secretvalue value;
    *from = *to = 0;
    if (is_scheme(word) && end < text.len && text.ptr[end] == ' ') {
        nl_secretvalue_next(text, end, &value);
    } else if (nl_str_starts((struct nl_str){text.ptr + end, text.len - end}, "://")) {
        secret_in_address(text, end + 3, nl_str_contains(word, "http"), from, to);
        return;
    } else if (!nl_secretvalue_of(text, start, end, name, &value) ||
               !is_secret_value(text, start, end,
                                (struct nl_str){text.ptr + value.from, value.to - value.from})) {
        return;
    }
    struct nl_str found = {text.ptr + value.from, value.to - value.from};
    bool code = name && !is_secret_setting(text, start, end) &&
                nl_secretvalue_is_code(found, is_scheme(word) ? 16 : 5);
    if (!code && !nl_str_starts((struct nl_str){found.ptr, text.len - value.from}, REDACTED)) {
        *from = value.from;
        *to = value.to;
    }
}

/* A token after another part of the word: x-hf_…, and after an escape: \nhf_…, %20hf_… */
static void token_within(struct nl_str text, size_t at, size_t end, bool name, size_t *from,
                         size_t *to)
{
    *to = 0;
    for (size_t i = at + 1; i < end && !*to; i++) {
        char before = text.ptr[i - 1];
        bool escaped = i >= 2 && text.ptr[i - 2] == '\\' && strchr("nrt", before);
        bool coded = i >= 3 && text.ptr[i - 3] == '%' && nl_is_hex(before);
        if (before != '_' && before != '-' && !escaped && !coded)
            continue;
        *from = i;
        *to = nl_token_length((struct nl_str){text.ptr + i, text.len - i}, name);
        *to += *to ? i : 0;
    }
}

/* The end of a secret in a text whose end was not looked for any further. */
static size_t far_end(struct nl_str text, size_t from, size_t to)
{
    while (to - from >= NL_MAX_SECRETVALUE && to < text.len && !nl_is_space(text.ptr[to]))
        to++;
    return to;
}

/* The secret that begins at the word [at, end), is in it, or follows it; *to is 0 if there is
 * none. */
static void find_secret(struct nl_str text, size_t at, size_t end, bool name,
                        struct nl_secretoption *reading, size_t *from, size_t *to)
{
    secret_key(text, at, end, from, to);
    if (*to)
        return;
    *to = at + nl_token_length((struct nl_str){text.ptr + at, text.len - at}, name);
    *from = at;
    if (*to > at)
        return;
    nl_secretoption_read(reading, text, at, end, from);
    *to = *from ? nl_secretvalue_end(text, at, *from, false) : 0;
    if (*from && nl_str_starts((struct nl_str){text.ptr + *from, text.len - *from}, REDACTED))
        *to = 0;
    if (!*to)
        secret_after(text, at, end, name, from, to);
    if (!*to)
        token_within(text, at, end, name, from, to);
    if (*to) { /* "private_key": "-----BEGIN … */
        size_t key, stop;
        secret_key(text, *from, *to, &key, &stop);
        *to = stop > *to ? stop : *to;
        if (!name)
            *to = far_end(text, *from, *to);
    }
}

static size_t redact(struct nl_buf *out, struct nl_str text, bool name)
{
    struct nl_secretoption reading = {.login = false};
    size_t at = !name || nl_sift_may_hold(text) ? 0 : text.len, copied = 0, count = 0;
    while (at < text.len) {
        if (!nl_token_is_word(text.ptr[at])) {
            at++;
            continue;
        }
        size_t from, to, end = at;
        while (end < text.len && nl_token_is_word(text.ptr[end]))
            end++;
        find_secret(text, at, end, name, &reading, &from, &to);
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
