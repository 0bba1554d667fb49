/* Words that mark a key as secret, and the shapes of secrets in free text; matching ignores case and
 * errs on the side of silence. */
#define _GNU_SOURCE
#include "store/redact.h"

#include <ctype.h>
#include <string.h>

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
 * and author=… stand in many command lines. What is added here or below has a row in CORES, too. */
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct nl_str secret_endings[] = {
    TEXT("token"),       TEXT("secret"),        TEXT("password"),      TEXT("passwd"),
    TEXT("passphrase"),  TEXT("credential"),    TEXT("credentials"),   TEXT("api_key"),
    TEXT("apikey"),      TEXT("api-key"),       TEXT("access_key"),    TEXT("access-key"),
    TEXT("accesskey"),   TEXT("secret_key"),    TEXT("secret-key"),    TEXT("secretkey"),
    TEXT("auth"),        TEXT("authorization"), TEXT("cookie"),        TEXT("session_key"),
    TEXT("private_key"), TEXT("private-key"),   TEXT("access_key_id"), TEXT("accountkey"),
    TEXT("account_key"), TEXT("sharedkey"),
};

/* How tokens of well-known services begin, and the least number of characters that follow: letters and
 * digits alone, where the service has it so (hf_decoder_layer_12 is a function). */
static const struct {
    struct nl_str start;
    size_t least;
    bool plain;
} token_shapes[] = {
    {TEXT("hf_"), 16, true},      {TEXT("ghp_"), 20, true},         {TEXT("gho_"), 20, true},
    {TEXT("ghs_"), 20, true},     {TEXT("github_pat_"), 20, false}, {TEXT("glpat-"), 16, false},
    {TEXT("xoxb-"), 16, false},   {TEXT("xoxp-"), 16, false},       {TEXT("AKIA"), 16, true},
    {TEXT("ASIA"), 16, true},     {TEXT("AIza"), 30, false},        {TEXT("dckr_pat_"), 16, false},
    {TEXT("npm_"), 30, true},     {TEXT("pypi-"), 30, false},       {TEXT("eyJ"), 40, false},
    {TEXT("sk-"), 32, false},     {TEXT("nvapi-"), 20, false},      {TEXT("ghu_"), 20, true},
    {TEXT("ghr_"), 20, true},     {TEXT("xapp-"), 16, false},       {TEXT("xoxa-"), 16, false},
    {TEXT("xoxr-"), 16, false},   {TEXT("xoxs-"), 16, false},       {TEXT("GOCSPX-"), 20, false},
    {TEXT("sk_live_"), 16, true}, {TEXT("sk_test_"), 16, true},     {TEXT("rk_live_"), 16, true},
    {TEXT("glsa_"), 20, false},   {TEXT("hvs."), 20, false},
};
#define TOKEN_STARTS "hgxAdnpesGr" /* their first characters */

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
        struct nl_str start = token_shapes[i].start;
        size_t len = start.len;
        if (text.len < len || text.ptr[0] != start.ptr[0] || memcmp(text.ptr, start.ptr, len) != 0)
            continue;
        bool digit = false, plain = token_shapes[i].plain;
        for (; len < text.len &&
               (plain ? isalnum((unsigned char)text.ptr[len]) != 0 : is_token(text.ptr[len]));
             len++)
            digit = digit || isdigit((unsigned char)text.ptr[len]);
        if (digit && len >= start.len + token_shapes[i].least)
            return len;
    }
    return 0;
}

/* Equal but for the bit that letters of both cases differ in. From the end, where words differ. */
static bool is_folded(const char *text, const char *wanted, size_t len)
{
    while (len && (text[len - 1] | 0x20) == (wanted[len - 1] | 0x20))
        len--;
    return len == 0;
}

static bool has_secret_ending(struct nl_str word)
{
    for (size_t i = 0; i < sizeof secret_endings / sizeof secret_endings[0]; i++) {
        struct nl_str ending = secret_endings[i];
        if (word.len >= ending.len &&
            is_folded(word.ptr + word.len - ending.len, ending.ptr, ending.len))
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

/* As keys are: 20 characters or more that tokens consist of, with capitals, small letters and digits, and
 * at least half of them different ones. A digest (small letters and digits) or a name is not. */
static bool is_random(struct nl_str text)
{
    uint64_t seen[2] = {0, 0};
    bool upper = false, lower = false, digit = false;
    if (text.len < 20)
        return false;
    size_t len = text.len < 64 ? text.len : 64;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (!is_token((char)c) && c != '%' && c != '~')
            return false;
        upper = upper || isupper(c);
        lower = lower || islower(c);
        digit = digit || isdigit(c);
        seen[c >> 6 & 1] |= (uint64_t)1 << (c & 63);
    }
    int different = __builtin_popcountll(seen[0]) + __builtin_popcountll(seen[1]);
    return upper && lower && digit && different >= 10 && (size_t)different * 4 >= len;
}

/* The user part of a URL that starts at `at` (behind "://"); its length, 0 = there is none. Without a
 * password it may be a token. */
static size_t user_length(struct nl_str text, size_t at)
{
    bool colon = false;
    for (size_t i = at; i < text.len && !isspace((unsigned char)text.ptr[i]); i++) {
        if (text.ptr[i] == '@')
            return colon || i - at >= 20 ? i - at : 0;
        if (text.ptr[i] == '/' || text.ptr[i] == '"' || text.ptr[i] == '\'')
            return 0;
        colon = colon || text.ptr[i] == ':';
    }
    return 0;
}

/* Addresses whose path is the secret. */
static const struct nl_str secret_paths[] = {
    TEXT("hooks.slack.com/"),
    TEXT("discord.com/api/webhooks/"),
    TEXT("discordapp.com/api/webhooks/"),
    TEXT("outlook.office.com/webhook/"),
};

/* Where the secret in the URL whose "://" ends at `at` begins and ends; *to is 0 when there is none. */
static void secret_in_url(struct nl_str text, size_t at, size_t *from, size_t *to)
{
    size_t len = user_length(text, at);
    *from = at;
    *to = len ? at + len : 0;
    struct nl_str rest = {text.ptr + at, text.len - at};
    for (size_t i = 0; !len && i < sizeof secret_paths / sizeof secret_paths[0]; i++)
        if (rest.len > secret_paths[i].len &&
            is_folded(rest.ptr, secret_paths[i].ptr, secret_paths[i].len)) {
            *from = at + secret_paths[i].len;
            *to = value_end(text, *from);
        }
}

/* A name as of environment variables: DB_PASS, but not forward_pass. */
static bool is_pass_variable(struct nl_str word)
{
    static const struct nl_str endings[] = {TEXT("_PASS"), TEXT("_PWD")};
    for (size_t i = 0; i < word.len; i++)
        if (islower((unsigned char)word.ptr[i]))
            return false;
    for (size_t i = 0; i < 2; i++)
        if (word.len > endings[i].len &&
            memcmp(word.ptr + word.len - endings[i].len, endings[i].ptr, endings[i].len) == 0 &&
            !nl_str_is(word, "OLD_PWD"))
            return true;
    return false;
}

/* The signature of a signed URL: a word of its query. */
static bool is_signature(struct nl_str text, size_t start, size_t end)
{
    struct nl_str word = {text.ptr + start, end - start};
    if (!start || !strchr("?&;", text.ptr[start - 1]))
        return false;
    return (word.len == 3 && nl_str_find_nocase(word, "sig") == 0) ||
           (word.len >= 9 && nl_str_find_nocase(word, "signature") >= 0);
}

/* The second net: what is random and follows a name that only sounds like a secret's. */
static bool sounds_secret(struct nl_str word, struct nl_str value)
{
    static const char *const parts[] = {"key", "token", "secret", "auth", "pass", "cred", "pwd"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_find_nocase(word, parts[i]) >= 0)
            return is_random(value);
    return false;
}

/* Commands whose passwords are options of one letter. */
static const struct command {
    struct nl_str name;
    char letter;
    bool apart; /* the next word may be it */
} commands[] = {
    {TEXT("mysql"), 'p', false},      {TEXT("mysqldump"), 'p', false},
    {TEXT("mysqladmin"), 'p', false}, {TEXT("mariadb"), 'p', false},
    {TEXT("sshpass"), 'p', true},     {TEXT("curl"), 'u', true},
    {TEXT("redis-cli"), 'a', true},
};

static const struct command *command_of(struct nl_str word)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (word.len == commands[i].name.len &&
            memcmp(word.ptr, commands[i].name.ptr, word.len) == 0)
            return &commands[i];
    return NULL;
}

/* Is the word at `at` that option, by itself or with its value? */
static bool is_option(struct nl_str text, const struct command *command, size_t at, size_t end)
{
    return end - at >= 2 && text.ptr[at] == '-' && text.ptr[at + 1] == command->letter &&
           (end > at + 2 || command->apart || (end < text.len && strchr("\"'", text.ptr[end]))) &&
           (!at || isspace((unsigned char)text.ptr[at - 1]) || strchr("\"'", text.ptr[at - 1]));
}

/* The value of the command's option when the word at `at` is that option: the rest of the word, a text in
 * quotes, or the next word unless it is an option. */
static void secret_of_option(struct nl_str text, const struct command *command, size_t at,
                             size_t end, size_t *from, size_t *to)
{
    *to = 0;
    if (!is_option(text, command, at, end))
        return;
    size_t begin = skip(text, at + 2, command->apart ? " \t\"'\\=" : "\"'\\");
    struct nl_str rest = {text.ptr + begin, text.len - begin};
    bool next_option = begin > at + 2 && rest.len && rest.ptr[0] == '-';
    if (!rest.len || next_option || nl_str_starts(rest, REDACTED))
        return;
    char quote = text.ptr[begin - 1];
    const char *close = quote == '"' || quote == '\'' ? memchr(rest.ptr, quote, rest.len) : NULL;
    *from = begin;
    *to = close ? (size_t)(close - text.ptr) : value_end(text, begin);
}

/* A private key in PEM, from its first line to its last, or to the end of the text. */
static void secret_key(struct nl_str text, size_t at, size_t end, size_t *from, size_t *to)
{
    static const char begin[] = "-----BEGIN ", finish[] = "-----END ";
    *to = 0;
    const char *here = memmem(text.ptr + at, end - at, "-----BEGIN", sizeof begin - 2);
    if (!here || (size_t)(text.ptr + text.len - here) < sizeof begin)
        return;
    size_t left = (size_t)(text.ptr + text.len - here), line = left < 80 ? left : 80;
    if (!memmem(here, line, "PRIVATE KEY", 11))
        return;
    *from = (size_t)(here - text.ptr);
    const char *last = memmem(here, left, finish, sizeof finish - 1);
    const char *stop =
        last ? memmem(last + 9, (size_t)(text.ptr + text.len - last) - 9, "-----", 5) : NULL;
    *to = stop ? (size_t)(stop + 5 - text.ptr) : text.len;
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
    } else if ((at = value_begin(text, end, word.ptr[0] == '-')) &&
               (has_secret_ending(word) || is_pass_variable(word) ||
                is_signature(text, start, end) ||
                sounds_secret(word, (struct nl_str){text.ptr + at, value_end(text, at) - at}))) {
        size_t stop = value_end(text, at);
        if (is_scheme((struct nl_str){text.ptr + at, stop - at}))
            stop = value_end(text, skip(text, stop, " "));
        *from = at;
        *to = stop;
    } else if (nl_str_starts((struct nl_str){text.ptr + end, text.len - end}, "://")) {
        secret_in_url(text, end + 3, from, to);
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

/* A part of everything that is looked for: a text with none of these holds no secret, and most are
 * seen to have none this way. Texts are read two letters at a time, so that each part has two rows: with
 * a pair of its letters that starts at an even place of it, and one that starts at an odd place. ALSO
 * is a row for the pair of the row before it. */
#define CORES                                                                                      \
    CORE(token0, 't', 'o', "token", 0)                                                             \
    CORE(token1, 'o', 'k', "token", 1)                                                             \
    ALSO(cookie2, "cookie", 2)                                                                     \
    CORE(cookie1, 'o', 'o', "cookie", 1)                                                           \
    CORE(url0, ':', '/', "://", 0)                                                                 \
    CORE(url1, '/', '/', "://", 1)                                                                 \
    CORE(cre0, 'c', 'r', "cre", 0)                                                                 \
    CORE(secret1, 'e', 'c', "secret", 1)                                                           \
    CORE(credential7, 'i', 'a', "credential", 7)                                                   \
    CORE(passw2, 's', 's', "passw", 2)                                                             \
    ALSO(passp2, "passp", 2)                                                                       \
    ALSO(pass3, "_pass", 3)                                                                        \
    ALSO(sshpass5, "sshpass", 5)                                                                   \
    CORE(passw1, 'a', 's', "passw", 1)                                                             \
    ALSO(passp1, "passp", 1)                                                                       \
    ALSO(pass2, "_pass", 2)                                                                        \
    ALSO(sshpass4, "sshpass", 4)                                                                   \
    ALSO(basic1, "basic", 1)                                                                       \
    ALSO(asia0, "asia", 0)                                                                         \
    CORE(asia1, 's', 'i', "asia", 1)                                                               \
    ALSO(sig0, "sig=", 0)                                                                          \
    ALSO(signature0, "signature=", 0)                                                              \
    CORE(sig1, 'i', 'g', "sig=", 1)                                                                \
    ALSO(signature1, "signature=", 1)                                                              \
    CORE(basic0, 'b', 'a', "basic", 0)                                                             \
    CORE(bearer0, 'b', 'e', "bearer", 0)                                                           \
    CORE(bearer1, 'e', 'a', "bearer", 1)                                                           \
    CORE(key0, 'k', 'e', "key", 0)                                                                 \
    CORE(key1, 'e', 'y', "key", 1)                                                                 \
    ALSO(eyj0, "eyj", 0)                                                                           \
    CORE(eyj1, 'y', 'j', "eyj", 1)                                                                 \
    CORE(auth0, 'a', 'u', "auth", 0)                                                               \
    CORE(auth1, 'u', 't', "auth", 1)                                                               \
    CORE(hf0, 'h', 'f', "hf_", 0)                                                                  \
    CORE(hf1, 'f', '_', "hf_", 1)                                                                  \
    CORE(ghp0, 'g', 'h', "ghp_", 0)                                                                \
    ALSO(gho0, "gho_", 0)                                                                          \
    ALSO(ghs0, "ghs_", 0)                                                                          \
    ALSO(ghu0, "ghu_", 0)                                                                          \
    ALSO(ghr0, "ghr_", 0)                                                                          \
    CORE(ghp1, 'h', 'p', "ghp_", 1)                                                                \
    CORE(gho1, 'h', 'o', "gho_", 1)                                                                \
    CORE(ghs1, 'h', 's', "ghs_", 1)                                                                \
    CORE(github_pat0, 'g', 'i', "github_pat_", 0)                                                  \
    CORE(github_pat3, 'h', 'u', "github_pat_", 3)                                                  \
    ALSO(ghu1, "ghu_", 1)                                                                          \
    CORE(ghr1, 'h', 'r', "ghr_", 1)                                                                \
    CORE(glpat0, 'g', 'l', "glpat-", 0)                                                            \
    ALSO(glsa0, "glsa_", 0)                                                                        \
    CORE(glsa1, 'l', 's', "glsa_", 1)                                                              \
    CORE(glpat1, 'l', 'p', "glpat-", 1)                                                            \
    CORE(xox0, 'x', 'o', "xox", 0)                                                                 \
    CORE(xox1, 'o', 'x', "xox", 1)                                                                 \
    CORE(akia0, 'a', 'k', "akia", 0)                                                               \
    CORE(akia1, 'k', 'i', "akia", 1)                                                               \
    CORE(aiza0, 'a', 'i', "aiza", 0)                                                               \
    CORE(aiza1, 'i', 'z', "aiza", 1)                                                               \
    CORE(dckr_pat0, 'd', 'c', "dckr_pat_", 0)                                                      \
    CORE(dckr_pat1, 'c', 'k', "dckr_pat_", 1)                                                      \
    CORE(npm0, 'n', 'p', "npm_", 0)                                                                \
    CORE(npm1, 'p', 'm', "npm_", 1)                                                                \
    CORE(pypi0, 'p', 'y', "pypi-", 0)                                                              \
    CORE(pypi1, 'y', 'p', "pypi-", 1)                                                              \
    CORE(sk0, 's', 'k', "sk-", 0)                                                                  \
    ALSO(sk_live0, "sk_live_", 0)                                                                  \
    ALSO(sk_test0, "sk_test_", 0)                                                                  \
    CORE(k_live1, 'k', '_', "k_live_", 0)                                                          \
    ALSO(k_test1, "k_test_", 0)                                                                    \
    CORE(rk_live0, 'r', 'k', "rk_live_", 0)                                                        \
    CORE(gocspx2, 'c', 's', "gocspx-", 2)                                                          \
    CORE(gocspx3, 's', 'p', "gocspx-", 3)                                                          \
    CORE(xapp0, 'x', 'a', "xapp-", 0)                                                              \
    CORE(xapp1, 'a', 'p', "xapp-", 1)                                                              \
    CORE(hvs0, 'h', 'v', "hvs.", 0)                                                                \
    CORE(hvs1, 'v', 's', "hvs.", 1)                                                                \
    CORE(pwd2, 'w', 'd', "_pwd", 2)                                                                \
    CORE(pwd1, 'p', 'w', "_pwd", 1)                                                                \
    CORE(mysql0, 'm', 'y', "mysql", 0)                                                             \
    CORE(mysql1, 'y', 's', "mysql", 1)                                                             \
    CORE(mariadb2, 'r', 'i', "mariadb", 2)                                                         \
    CORE(mariadb5, 'd', 'b', "mariadb", 5)                                                         \
    CORE(curl2, 'r', 'l', "curl", 2)                                                               \
    CORE(curl1, 'u', 'r', "curl", 1)                                                               \
    CORE(redis_cli4, 's', '-', "redis-cli", 4)                                                     \
    CORE(redis_cli5, '-', 'c', "redis-cli", 5)                                                     \
    CORE(sk1, 'k', '-', "sk-", 1)                                                                  \
    CORE(nvapi0, 'n', 'v', "nvapi-", 0)                                                            \
    CORE(nvapi1, 'v', 'a', "nvapi-", 1)

enum core_number {
#define CORE(name, a, b, text, at) core_##name,
#define ALSO(name, text, at)       core_##name,
    CORES
#undef CORE
#undef ALSO
};

static const struct core {
    struct nl_str text;
    uint8_t at; /* of the pair in it */
    bool also;
} cores[] = {
#define CORE(name, a, b, text, at) {TEXT(text), at, false},
#define ALSO(name, text, at)       {TEXT(text), at, true},
    CORES
#undef CORE
#undef ALSO
    {{"", 0}, 0, false},
};

#define PAIR(a, b) (((b)&0x5f) << 7 | ((a)&0x5f))

/* Number of the first row of a pair, + 1. Letters are distinguished but for their case. */
static const uint8_t core_of_pair[1 << 14] = {
#define CORE(name, a, b, text, at) [PAIR(a, b)] = core_##name + 1,
#define ALSO(name, text, at)
    CORES
#undef CORE
#undef ALSO
};

/* One of the rows of the pair at `at` is there. */
static bool is_core(struct nl_str text, size_t at, uint8_t number)
{
    const struct core *core = &cores[number - 1];
    do {
        if (at >= core->at && text.len - at >= core->text.len - core->at &&
            is_folded(text.ptr + at - core->at, core->text.ptr, core->text.len))
            return true;
    } while ((++core)->also);
    return false;
}

static bool may_hold_secret(struct nl_str text)
{
    size_t at = 0;
    for (; at + 8 <= text.len; at += 8) {
        uint64_t pairs; /* the first letter of each in its low bits: little-endian */
        memcpy(&pairs, text.ptr + at, 8);
        pairs = (pairs & 0x005f005f005f005f) | (pairs >> 1 & 0x2f802f802f802f80);
        uint8_t numbers[] = {core_of_pair[pairs & 0xffff], core_of_pair[pairs >> 16 & 0xffff],
                             core_of_pair[pairs >> 32 & 0xffff], core_of_pair[pairs >> 48]};
        if (!(numbers[0] | numbers[1] | numbers[2] | numbers[3]))
            continue;
        for (size_t i = 0; i < 4; i++)
            if (numbers[i] && is_core(text, at + 2 * i, numbers[i]))
                return true;
    }
    for (; at + 2 <= text.len; at += 2) {
        uint8_t number = core_of_pair[PAIR(text.ptr[at], text.ptr[at + 1])];
        if (number && is_core(text, at, number))
            return true;
    }
    return false;
}

/* The secret that begins at the word [at, end) or follows it; *to is 0 when none does. */
static void find_secret(struct nl_str text, size_t at, size_t end, bool name,
                        const struct command **command, size_t *from, size_t *to)
{
    struct nl_str word = {text.ptr + at, end - at};
    secret_key(text, at, end, from, to);
    if (*to)
        return;
    if (*command)
        secret_of_option(text, *command, at, end, from, to);
    if (*to)
        return;
    const struct command *named = command_of(word);
    *command = named ? named : *command;
    secret_after(text, at, end, from, to);
    size_t least = is_scheme(word) ? 16 : 5;
    if (name && *to > *from && is_code((struct nl_str){text.ptr + *from, *to - *from}, least))
        *to = 0;
}

static size_t redact(struct nl_buf *out, struct nl_str text, bool name)
{
    const struct command *command = NULL;
    size_t at = may_hold_secret(text) ? 0 : text.len, copied = 0, count = 0;
    while (at < text.len) {
        if (!is_word(text.ptr[at])) {
            at++;
            continue;
        }
        size_t from = at, to = at + token_length((struct nl_str){text.ptr + at, text.len - at});
        size_t end = at;
        while (end < text.len && is_word(text.ptr[end]))
            end++;
        if (to == at)
            find_secret(text, at, end, name, &command, &from, &to);
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
