/*
 * Tokens by their shapes (redact/secrettoken.c): those that are told by a whole shape beside
 * patterns of the C library, over all small changes of one of each; each shape of the list with as
 * many letters as it needs, and one less; limits of what looks random.
 */
#include <regex.h>

#include "check.h"

#include "redact/secrettoken.h"

#define WORD "[A-Za-z0-9_-]"
#define FULL "[A-Za-z0-9_./+=%-]"

static const struct {
    const char *pattern, *token;
} shaped[] = {
    /* a bot of Telegram: 8 to 10 digits, then 35 letters with AA at their start */
    {"^[0-9]{8,10}:AA" WORD "{33,}", "123456789:AAabcdefghijklmnopqrstuvwxyz-123456x"},
    {"^[0-9]{8,10}:AA" WORD "{33,}", "12345678:AAabcdefghijklmnopqrstuvwxyz-123456"},
    {"^[0-9]{8,10}:AA" WORD "{33,}", "1234567890:AAabcdefghijklmnopqrstuvwxyz-123456"},
    /* a secret of Azure: a word that ends with a digit and Q, then 31 letters */
    {"^" WORD "{3,62}[0-9]Q~" FULL "{31,}", "abc8Q~abcdefghijklmnopqrstuvwxyz.1234"},
    {"^" WORD "{3,62}[0-9]Q~" FULL "{31,}", "abc8Q~abcdefghijklmnopqrstuvwxyz.12345"},
    /* a key of Mailchimp: 32 hexadecimal digits, and where it is */
    {"^[0-9A-Fa-f]{32}-us" WORD "{1,2}", "0123456789abcdefABCDEF0123456789-us1"},
    {"^[0-9A-Fa-f]{32}-us" WORD "{1,2}", "0123456789abcdefABCDEF0123456789-us12"},
    /* a token of HCP */
    {"^" WORD "{0,64}[.]atlasv1[.]" WORD "*", "abcdefgh123456.atlasv1.abc-9"},
};

/* Length by the pattern; a key of Mailchimp is a whole word. */
static size_t matched(const regex_t *pattern, const char *text, bool whole)
{
    regmatch_t match[1];
    if (regexec(pattern, text, 1, match, 0) != 0)
        return 0;
    size_t len = (size_t)match[0].rm_eo;
    return whole && text[len] &&
                   (strchr("_-", text[len]) || (text[len] >= '0' && text[len] <= '9') ||
                    ((text[len] | 32) >= 'a' && (text[len] | 32) <= 'z'))
               ? 0
               : len;
}

static void shapes_beside_patterns(void)
{
    static const char letters[] = "a8QA~.:-%Z ";
    char text[128];
    for (size_t i = 0; i < CHECK_LENGTH(shaped); i++) {
        regex_t pattern;
        size_t len = strlen(shaped[i].token);
        bool whole = strstr(shaped[i].pattern, "-us") != NULL;
        REQUIRE(regcomp(&pattern, shaped[i].pattern, REG_EXTENDED) == 0);
        check_case(shaped[i].token);
        CHECK_INT(nl_token_length(nl_str(shaped[i].token), false), len);
        for (size_t at = 0; at <= len; at++)
            for (size_t k = 0; k < 2 * sizeof letters; k++) {
                /* a letter more, another letter, and, for the zero, none */
                size_t skip = k >= sizeof letters && at < len;
                char letter = letters[k % sizeof letters];
                char with[2] = {letter, 0};
                snprintf(text, sizeof text, "%.*s%s%s", (int)at, shaped[i].token, with,
                         shaped[i].token + at + skip);
                check_case(text);
                CHECK_INT(nl_token_length(nl_str(text), false), matched(&pattern, text, whole));
            }
        regfree(&pattern);
    }
    check_case(NULL);
}

/* ---- The list ---- */

/* Of each kind letters that are a digit, a capital and a small letter in turn, as
 * far as the kind has them. */
#define OF_ALNUM  "0aB"
#define OF_HEX    "0aB"
#define OF_UPPER  "0BC"
#define OF_LOWER  "0ab"
#define OF_DASHED "0B-"
#define OF_WORD   "0aB"
#define OF_DOTTED "0aB"
#define OF_FULL   "0aB"
enum proof { DIGIT, EXACT, RANDOM };

static const struct row {
    const char *start, *letters;
    size_t least;
    enum proof proof;
    bool short_start;
} rows[] = {
#define TOKEN(start, least, letters, proof) {start, OF_##letters, least, proof, false},
#define SHORT(start, least, letters, proof) {start, OF_##letters, least, proof, true},
#undef WORD
#undef FULL
#include "redact/secretshapes.def"
};

/* Whether a second row may tell the same text. */
static bool is_alone(size_t row)
{
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++)
        if (i != row && (strncmp(rows[i].start, rows[row].start, strlen(rows[i].start)) == 0 ||
                         strncmp(rows[i].start, rows[row].start, strlen(rows[row].start)) == 0))
            return false;
    return true;
}

static struct nl_str token_of(const struct row *row, size_t letters, char *text)
{
    size_t start = strlen(row->start), of = strlen(row->letters);
    memcpy(text, row->start, start);
    for (size_t k = 0; k < letters; k++)
        text[start + k] = row->letters[k % of];
    text[start + letters] = ' ';
    text[start + letters + 1] = 0;
    return (struct nl_str){text, start + letters + 1};
}

static void every_shape(void)
{
    char text[600];
    size_t tried = 0;
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        size_t start = strlen(row->start);
        check_case(row->start);
        REQUIRE(start + row->least < 500);
        bool known = start + row->least >= 19; /* no token is shorter */
        struct nl_str token = token_of(row, row->least, text);
        if (known)
            CHECK_INT(nl_token_length(token, false), start + row->least);
        if (!is_alone(i))
            continue;
        tried++;
        CHECK_INT(nl_token_length(token, true),
                  known && !row->short_start ? start + row->least : 0);
        CHECK_INT(nl_token_length(token_of(row, row->least - 1, text), false), 0);
        token = token_of(row, row->least + 1, text);
        CHECK_INT(nl_token_length(token, false),
                  row->proof == EXACT || start + row->least + 1 < 19 ? 0 : start + row->least + 1);
        text[0] = '='; /* another start */
        CHECK_INT(nl_token_length(token, false), 0);
    }
    CHECK(tried > 100);
}

/* ---- What looks random ---- */

static void what_looks_random(void)
{
    static const struct {
        const char *text;
        bool random;
    } cases[] = {{"aB0aB0aB0cdefgh12345", true},
                 {"aB0aB0aB0cdefgh1234", false},
                 {"aB012345aB012345aB01", false}, /* nine different ones: aB0 to 5 and … */
                 {"aB01234567aB01234567", true},  /* ten */
                 {"abcdefghij0123456789", false},
                 {"ABCDEFGHIJ0123456789", false},
                 {"abcdefghijABCDEFGHIJ", false},
                 {"aB0aB0aB0 cdefgh12345", false},
                 {"aB0aB0%~./+=cdefgh1", false},
                 {"aB0aB0%~./+=cdefgh12", true},
                 {"aB01234567aB01234567aB01234567aB01234567", true},   /* ten of 40: a quarter */
                 {"aB01234567aB01234567aB01234567aB01234567a", false}, /* ten of 41 */
                 /* only the first 64 are looked at, 16 of them different */
                 {"aB0123456789cdefaB0123456789cdefaB0123456789cdefaB0123456789cdef"
                  "aaaaaaaaaaaaaaaaaaaaaaaa(",
                  true},
                 {"", false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        CHECK_INT(nl_token_is_random(nl_str(cases[i].text)), cases[i].random);
    }
    static const struct {
        const char *text;
        bool is_long;
    } words[] = {{"abcdefghijklmno1", true},  {"abcdefghijklmn1", false},
                 {"abcdefghijklmnop", false}, {"/bcdefghijklmno1", false},
                 {".bcdefghijklmno1", false}, {"~bcdefghijklmno1", false},
                 {"-bcdefghijklmno1", true},  {"1bcdefghijklmnop", true}};
    for (size_t i = 0; i < CHECK_LENGTH(words); i++) {
        check_case(words[i].text);
        CHECK_INT(nl_token_may_be_secret(nl_str(words[i].text)), words[i].is_long);
    }
}

static void which_letters(void)
{
    for (int c = 1; c < 256; c++) {
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
        CHECK_INT(nl_token_is_word((char)c), word);
        CHECK_INT(nl_token_has_char((char)c), word || (c < 128 && strchr("./+=", c)));
    }
}

CHECK_MAIN("secrettoken", {"shapes beside patterns", shapes_beside_patterns},
           {"every shape", every_shape}, {"what looks random", what_looks_random},
           {"which letters", which_letters})
