/*
 * Where the value behind the name of a secret begins and ends (redact/secretvalue.c): how each way
 * to write one is read, and each limit from both sides. Names are KEY but for those of headers.
 */
#include "check.h"

#include <stdlib.h>

#include "redact/secretvalue.h"

static const struct {
    const char *text, *name, *value; /* value: NULL: none follows */
} texts[] = {
    {"KEY=abc def", "KEY", "abc"},
    {"KEY=abc", "KEY", "abc"},
    {"KEY = abc x", "KEY", "abc"},
    {"KEY: abc", "KEY", "abc"},
    {"KEY:\tabc", "KEY", "abc"},
    {"KEY=>abc x", "KEY", "abc"},
    {"KEY=> abc x", "KEY", "abc"},
    {"KEY::abc", "KEY", NULL},
    {"KEY=", "KEY", NULL},
    {"KEY= ", "KEY", NULL},
    {"KEY", "KEY", NULL},
    {"KEY abc", "KEY", NULL},
    {"KEY%3Dabc&x=1", "KEY", "abc"},
    {"KEY%3dabc", "KEY", "abc"},
    {"KEY%3Aabc", "KEY", "abc"},
    {"KEY%3abc", "KEY", "bc"},
    {"KEY%3babc", "KEY", NULL},
    /* options */
    {"--KEY abc x", "--KEY", "abc"},
    {"--KEY=abc x", "--KEY", "abc"},
    {"-KEY \"a b\" x", "-KEY", "a b"},
    {"--KEY -abc", "--KEY", NULL},
    {"--KEY \"-abc\" x", "--KEY", "-abc"},
    {"--KEY", "--KEY", NULL},
    {"--KEY ", "--KEY", NULL},
    {"--KEYS", "--KEY", NULL},
    /* elements */
    {"<KEY>abc d</KEY>", "KEY", "abc d"},
    {"<KEY>abc", "KEY", "abc"},
    {"<KEY></KEY>", "KEY", NULL},
    {"<KEY", "KEY", NULL},
    {"KEY>abc", "KEY", NULL},
    /* quotes */
    {"KEY=\"a b\" c", "KEY", "a b"},
    {"KEY='a b' c", "KEY", "a b"},
    {"KEY=\"a'b\" c", "KEY", "a'b"},
    {"KEY='a\"b' c", "KEY", "a\"b"},
    {"{\"KEY\": \"a b\", \"x\": 1}", "KEY", "a b"},
    {"{\"KEY\": \"a\\\"b\", \"x\": 1}", "KEY", "a\\\"b"},
    {"{\"KEY\": \"a\\\\\", \"x\": 1}", "KEY", "a\\\\"},
    {"{\\\"KEY\\\": \\\"a b\\\", \\\"x\\\": 1}", "KEY", "a b"},
    {"KEY='a'\\''b' c", "KEY", "a'\\''b"},
    {"KEY='a'\\'b", "KEY", "a"},
    {"KEY='a\\' b", "KEY", "a\\"},
    {"KEY=\"a b", "KEY", "a b"},
    {"KEY='a b", "KEY", "a b"},
    /* marks that belong to a value where no new setting follows */
    {"KEY=a,b c", "KEY", "a,b"},
    {"KEY=a;b c", "KEY", "a;b"},
    {"KEY=a&b c", "KEY", "a&b"},
    {"KEY=a|b c", "KEY", "a|b"},
    {"KEY=a)b c", "KEY", "a)b"},
    {"KEY=a}b c", "KEY", "a}b"},
    {"KEY=a]b c", "KEY", "a]b"},
    {"KEY=a(b c", "KEY", "a(b"},
    {"KEY=a,b=c", "KEY", "a"},
    {"KEY=a,b:c", "KEY", "a"},
    {"KEY=a,b_-.9=c", "KEY", "a"},
    {"KEY=a,b+=c", "KEY", "a,b+=c"},
    {"KEY=a,=c", "KEY", "a,=c"},
    {"KEY=a,", "KEY", "a"},
    {"KEY=a, b", "KEY", "a"},
    {"KEY=a)}", "KEY", "a"},
    {"KEY=a)},b", "KEY", "a)},b"},
    {"KEY=a),\"b", "KEY", "a"},
    {"KEY=a,\\nb", "KEY", "a"},
    {"KEY=a\"b", "KEY", "a"},
    {"KEY=a'b", "KEY", "a"},
    {"KEY=a\tb", "KEY", "a"},
    {"KEY=a\\nb", "KEY", "a"},
    {"KEY=a\\rb", "KEY", "a"},
    {"KEY=a\\tb", "KEY", "a"},
    {"KEY=a\\\\\"b", "KEY", "a"},
    {"KEY=a\\'b", "KEY", "a"},
    {"KEY=a\\xb", "KEY", "a\\xb"},
    {"KEY=a\\", "KEY", "a"},
    /* headers */
    {"Authorization: Bearer abc x", "Authorization", "Bearer abc"},
    {"Authorization: bearer  abc x", "Authorization", "bearer  abc"},
    {"Authorization: Basic abc x", "Authorization", "Basic abc"},
    {"Authorization: token abc x", "Authorization", "token abc"},
    {"Authorization: ApiKey abc x", "Authorization", "ApiKey abc"},
    {"Authorization: SSWS abc x", "Authorization", "SSWS abc"},
    {"Authorization: Splunk abc x", "Authorization", "Splunk abc"},
    {"Authorization: Bot abc x", "Authorization", "Bot abc"},
    {"Authorization: SharedKey abc x", "Authorization", "SharedKey abc"},
    {"Authorization: Bearers abc x", "Authorization", "Bearers"},
    {"Authorization: Bearer", "Authorization", "Bearer"},
    {"Authorization: Bearer\tabc", "Authorization", "Bearer"},
    {"Authorization: Other abc x", "Authorization", "Other"},
    {"Authorization: Digest a=1, b=2 c\nd", "Authorization", "Digest a=1, b=2 c"},
    {"Authorization: AWS4-HMAC-SHA256 a=1 b", "Authorization", "AWS4-HMAC-SHA256 a=1 b"},
    {"Authorization: OAuth a=1 b", "Authorization", "OAuth a=1 b"},
    {"Authorization: Hawk a=1 b", "Authorization", "Hawk a=1 b"},
    {"Authorization: Signature a=1 b", "Authorization", "Signature a=1 b"},
    {"Authorization: digest a=1", "Authorization", "digest"},
    {"Authorization: Digest a=\"1 2\", b=\"3\" c\nd", "Authorization",
     "Digest a=\"1 2\", b=\"3\" c"},
    {"Authorization: Digest a=1 \"b", "Authorization", "Digest a=1 "},
    {"Authorization: Digest a\\nb c", "Authorization", "Digest a"},
    {"Cookie: a=1; b=2\nc", "Cookie", "a=1; b=2"},
    {"Set-Cookie: a=1; b=2\nc", "Set-Cookie", "a=1; b=2"},
    {"X-Cooki: a=1; b=2", "X-Cooki", "a=1"},
    {"ookie: a=1; b=2", "ookie", "a=1"},
    /* the quote around a name */
    {"'KEY=a b' c", "KEY", "a b"},
    {"x 'KEY=a b' c", "KEY", "a b"},
    {"'x.KEY=a b' c", "KEY", "a b"},
    {"'x KEY=a b' c", "KEY", "a"},
    {"\"KEY=a b\" c", "KEY", "a"},
    {"\"KEY: a b\" c", "KEY", "a b"},
    {"'KEY: a b' c", "KEY", "a b"},
    {"sh -c 'KEY=a b'", "KEY", "a"},
    {"sh -lc 'KEY=a b'", "KEY", "a"},
    {"sh -c  'KEY=a b'", "KEY", "a"},
    {"sh -c'KEY=a b'", "KEY", "a b"},
    {"sh -d 'KEY=a b'", "KEY", "a b"},
    {"abc 'KEY=a b'", "KEY", "a b"},
    {"sh -xlc 'KEY=a b'", "KEY", "a b"},
    {"-c 'KEY=a b'", "KEY", "a b"},
};

/* In the name of an event a value ends at any mark, and nothing is an element. */
static const struct {
    const char *text, *value;
} names[] = {
    {"KEY=a,b c", "a"},       {"KEY=a)b", "a"},        {"KEY=a;b", "a"},
    {"KEY=a&b", "a"},         {"KEY=a|b", "a"},        {"KEY=a}b", "a"},
    {"KEY=a]b", "a"},         {"KEY=a(b", "a(b"},      {"KEY=a\\xb", "a"},
    {"KEY=\"a b\" c", "a b"}, {"KEY=\"a b", "a"},      {"<KEY>abc</KEY>", NULL},
    {"'KEY=a b' c", "a"},     {"'KEY: a b' c", "a b"}, {"KEY: Bearer abc x", "Bearer abc"},
};

/* What stands before and behind the text must not matter. */
static const char *const around[][2] = {
    {"", ""},        {"<", ">x<"},    {"'", "'y'"},   {"-", " -z"},  {"\\", "\\'"},
    {"\"", "\"x\""}, {"x", "kie: x"}, {" ", ",y=1"},  {"q", "=abc"}, {"=", ":abc"},
    {"-c ", "\\n"},  {"c ", " abc"},  {"\n", "%3Dx"}, {"a", "a"},    {"e", ";;,b"},
};

static void check_value(const char *text, const char *name, bool event, const char *want)
{
    size_t len = strlen(text), start = (size_t)(strstr(text, name) - text);
    char *room = malloc(len + 20);
    check_case(len < 200 ? text : name);
    for (size_t i = 0; room && i < CHECK_LENGTH(around); i++) {
        size_t before = strlen(around[i][0]);
        struct nl_secretvalue value = {0, 0};
        memcpy(room, around[i][0], before);
        memcpy(room + before, text, len);
        strcpy(room + before + len, around[i][1]);
        struct nl_str whole = {room + before, len};
        bool found = nl_secretvalue_of(whole, start, start + strlen(name), event, &value);
        CHECK_INT(found, want != NULL);
        if (found && want)
            CHECK_STR(((struct nl_str){whole.ptr + value.from, value.to - value.from}), want);
    }
    free(room);
}

static void ways_to_write_one(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++)
        check_value(texts[i].text, texts[i].name, false, texts[i].value);
    for (size_t i = 0; i < CHECK_LENGTH(names); i++)
        check_value(names[i].text, "KEY", true, names[i].value);
}

/* `count` times c between two texts. */
static char *repeated(const char *head, char c, size_t count, const char *tail)
{
    size_t len = strlen(head);
    char *text = malloc(len + count + strlen(tail) + 1);
    if (!text)
        abort();
    memcpy(text, head, len);
    memset(text + len, c, count);
    strcpy(text + len + count, tail);
    return text;
}

static void check_repeated(const char *head, char c, size_t count, const char *tail,
                           const char *want)
{
    char *text = repeated(head, c, count, tail);
    check_value(text, "KEY", false, want);
    free(text);
}

static void check_length(const char *head, size_t count, const char *tail, size_t length)
{
    char *text = repeated(head, 'a', count, tail), *want = repeated("", 'a', count, tail);
    want[length] = '\0';
    check_value(text, "KEY", false, want);
    free(text);
    free(want);
}

static void limits(void)
{
    /* sixteen marks end a value whatever follows, fifteen do not */
    check_repeated("KEY=a", ',', 16, "b c", "a");
    check_repeated("KEY=a", ',', 15, "b c", "a,,,,,,,,,,,,,,,b");
    /* a new setting has sixteen letters at most */
    check_repeated("KEY=a,", 'n', 16, "=1", "a");
    check_repeated("KEY=a,", 'n', 17, "=1", "a,nnnnnnnnnnnnnnnnn=1");
    /* 256 letters between the quote and the name */
    check_repeated("'", 'x', 256, "KEY=a b' c", "a b");
    check_repeated("'", 'x', 257, "KEY=a b' c", "a");
    /* 4096 letters of a value; of one in quotes with its first quote, so that
     * the last must be the 4096th */
    check_length("KEY=", 4096, "", 4096);
    check_length("KEY=", 4097, "", 4096);
    check_length("KEY=\"", 4094, "\" c", 4094);
    check_length("KEY=\"", 4095, "\" c", 4098);
}

static void what_is_code(void)
{
    static const struct {
        const char *text;
        size_t least;
        bool code;
    } cases[] = {{"", 8, true},     {"%x1", 8, true},       {"128", 8, true},  {"0.5e-3", 8, true},
                 {"+1E5", 8, true}, {"a1", 8, false},       {"1a", 8, false},  {"abc", 4, true},
                 {"abc", 3, false}, {"secret[1]", 3, true}, {"a1(", 3, true},  {"a1<b", 3, true},
                 {"a1{", 3, true},  {"a1]", 3, false},      {"a%1", 3, false}, {"1_2", 3, false},
                 {"e", 1, true},    {"x", 1, false},        {"1,2", 3, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        CHECK_INT(nl_secretvalue_is_code(nl_str(cases[i].text), cases[i].least), cases[i].code);
    }
}

static void next_words(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"KEY  abc,def x", "abc"},
                 {"KEY abc", "abc"},
                 {"KEYabc d", "abc"},
                 {"KEY", ""},
                 {"KEY \tabc", ""}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_secretvalue value;
        nl_secretvalue_next(nl_str(cases[i].text), 3, &value);
        check_case(cases[i].text);
        CHECK_STR(((struct nl_str){cases[i].text + value.from, value.to - value.from}),
                  cases[i].want);
    }
}

CHECK_MAIN("secretvalue", {"ways to write one", ways_to_write_one}, {"limits", limits},
           {"what is code", what_is_code}, {"the next word", next_words})
