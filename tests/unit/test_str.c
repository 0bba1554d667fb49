/* str: views, the bounded builder, hashes; and arenas, which the texts live in. */
#include "check.h"

#include <ctype.h>

#include "base/chars.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/utf8.h"

static void views_compare(void)
{
    CHECK(nl_str_eq(nl_str("ab"), nl_str("ab")));
    CHECK(!nl_str_eq(nl_str("ab"), nl_str("abc")));
    CHECK(nl_str_eq(nl_str(NULL), nl_str("")));
    CHECK(nl_str_starts(nl_str("kernel"), "ker"));
    CHECK(nl_str_starts(nl_str("kernel"), ""));
    CHECK(!nl_str_starts(nl_str("ke"), "ker"));
    CHECK(nl_str_contains(nl_str("a nccl kernel"), "nccl"));
    CHECK(!nl_str_contains(nl_str(""), "x"));
}

/* As the C library says of ASCII in the locale "C"; of other bytes nothing. */
static void characters_have_kinds(void)
{
    for (int byte = -128; byte < 256; byte++) {
        char c = (char)byte;
        int ascii = byte >= 0 && byte < 128 ? byte : 128;
        check_case(byte >= 0 && isgraph(ascii) ? (char[]){c, 0} : "no ASCII");
        CHECK(nl_is_digit(c) == (isdigit(ascii) != 0));
        CHECK(nl_is_lower(c) == (islower(ascii) != 0));
        CHECK(nl_is_upper(c) == (isupper(ascii) != 0));
        CHECK(nl_is_letter(c) == (isalpha(ascii) != 0));
        CHECK(nl_is_alnum(c) == (isalnum(ascii) != 0));
        CHECK(nl_is_word(c) == (isalnum(ascii) || c == '_'));
        CHECK(nl_is_hex(c) == (isxdigit(ascii) != 0));
        CHECK(nl_is_space(c) == (isspace(ascii) != 0));
        CHECK(nl_lower(c) == (char)(ascii < 128 ? tolower(ascii) : byte));
        CHECK(nl_upper(c) == (char)(ascii < 128 ? toupper(ascii) : byte));
    }
}

/* As a shell reads it: an empty word is one, and ~ is a folder only where it begins a word. */
static void quotes_for_a_shell(void)
{
    static const char *const cases[][2] = {
        {"train.py", "train.py"},
        {"", "''"},
        {"~", "'~'"},
        {"~/x", "'~/x'"},
        {"a~", "a~"},
        {"--x=1,2:@%+", "--x=1,2:@%+"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"$HOME", "'$HOME'"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf word;
        check_case(cases[i][0]);
        nl_buf_init(&word, 100);
        nl_buf_shell_word(&word, nl_str(cases[i][0]));
        CHECK_TEXT(word.ptr ? word.ptr : "", cases[i][1]);
        nl_buf_release(&word);
    }
}

static void finds_file_names(void)
{
    static const char *const cases[][2] = {
        {"", ""},        {"a.py", "a.py"}, {"/a/b.py", "b.py"}, {"C:\\a\\b.exe", "b.exe"},
        {"a\\b/c", "c"}, {"a/", ""}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i][0]);
        CHECK(nl_str_is(nl_str_file_name(nl_str(cases[i][0])), cases[i][1]));
    }
}

static void finds_without_case(void)
{
    static const struct {
        const char *text, *part;
        ptrdiff_t at;
    } cases[] = {
        {"NCCL_AllReduce", "allreduce", 5},
        {"abc", "c", 2},
        {"abc", "abcd", -1},
        {"abc", "", 0},
        {"", "a", -1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        CHECK_INT(nl_str_find_nocase(nl_str(cases[i].text), cases[i].part), cases[i].at);
    }
}

static void starts_without_case(void)
{
    CHECK(nl_str_starts_nocase(nl_str("MemSet32"), "memset"));
    CHECK(nl_str_starts_nocase(nl_str("memset"), "MEMSET"));
    CHECK(nl_str_starts_nocase(nl_str("x"), ""));
    CHECK(nl_str_starts_nocase((struct nl_str){NULL, 0}, ""));
    CHECK(!nl_str_starts_nocase(nl_str("memse"), "memset"));
    CHECK(!nl_str_starts_nocase(nl_str("a memset"), "memset"));
    CHECK(!nl_str_starts_nocase((struct nl_str){"memset", 3}, "memset"));
}

static void builder_appends(void)
{
    struct nl_buf buf;
    nl_buf_init(&buf, 100);
    nl_buf_text(&buf, "a");
    nl_buf_char(&buf, 'b');
    nl_buf_add(&buf, "cd", 1);
    nl_buf_format(&buf, "%d-%s", 12, "x");
    CHECK_TEXT(buf.ptr, "abc12-x");
    CHECK_INT(buf.len, 7);
    CHECK(!buf.overflow);
    nl_buf_clear(&buf);
    CHECK_INT(buf.len, 0);
    CHECK_TEXT(buf.ptr, "");
    nl_buf_release(&buf);
}

static void builder_is_bounded(void)
{
    struct nl_buf buf;
    nl_buf_init(&buf, 4);
    nl_buf_text(&buf, "abc");
    nl_buf_text(&buf, "de"); /* does not fit: dropped whole */
    CHECK_TEXT(buf.ptr, "abc");
    CHECK(buf.overflow);
    nl_buf_char(&buf, 'd');
    CHECK_TEXT(buf.ptr, "abcd");
    nl_buf_format(&buf, "%s", "more");
    CHECK_TEXT(buf.ptr, "abcd");
    nl_buf_release(&buf);
}

static void hashes_differ(void)
{
    char text[64];
    uint64_t seen[65];
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len <= sizeof text; len++) {
        seen[len] = nl_hash(text, len);
        for (size_t k = 0; k < len; k++)
            CHECK(seen[k] != seen[len]);
    }
    /* What lies around the bytes does not count, at any length. */
    static const char apart[2][32] = {"<0123456789abcdefghijklm>", "[[0123456789abcdefghijklm]]"};
    for (size_t len = 0; len <= 23; len++)
        CHECK(nl_hash(apart[0] + 1, len) == nl_hash(apart[1] + 2, len));
    for (size_t len = 1; len <= 23; len++)
        for (size_t k = 0; k < len; k++) {
            memcpy(text, apart[0] + 1, len);
            text[k] ^= 1;
            CHECK(nl_hash(text, len) != nl_hash(apart[0] + 1, len));
        }
    CHECK(nl_hash("abc", 3) == nl_hash("abc", 3));
    CHECK(nl_hash("abc", 3) != nl_hash("abd", 3));
    CHECK(nl_hash("0123456789abcdefX", 17) != nl_hash("0123456789abcdefY", 17));
}

static void arena_keeps_texts(void)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    char *first = nl_arena_text(&arena, "first", 5);
    char *big = nl_arena_alloc(&arena, 1 << 20);
    memset(big, 1, 1 << 20);
    CHECK_INT((uintptr_t)nl_arena_alloc(&arena, 3) % 16, 0);
    char *zeroed = nl_arena_alloc(&arena, 100);
    for (size_t i = 0; i < 100; i++)
        CHECK_INT(zeroed[i], 0);
    CHECK_TEXT(first, "first");
    CHECK_TEXT(nl_arena_format(&arena, "%d %s", 7, "seven"), "7 seven");
    CHECK(arena.used >= 1 << 20);
    nl_arena_free(&arena);
    CHECK_INT(arena.used, 0);
}

static void grows(void)
{
    int *numbers = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 1000; i++) {
        nl_grow(&numbers, &cap, i + 1);
        numbers[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++)
        CHECK_INT(numbers[i], i);
    nl_free(numbers);
}

/* "a", an e with an accent (2 bytes), a euro sign (3), a clef (4). */
static void cuts_between_characters(void)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t most = 0; most < CHECK_LENGTH(kept); most++)
        CHECK_INT(nl_utf8_cut(text, sizeof text - 1, most), kept[most]);
    CHECK_INT(nl_utf8_cut("\x80\x80\x80", 3, 2), 0);
    CHECK_INT(nl_utf8_cut(NULL, 0, 5), 0);
    char shown[16];
    struct nl_str whole = nl_str(text), none = {NULL, 0};
    snprintf(shown, sizeof shown, "%.*s|%.*s|", NL_UP_TO(5, whole), NL_UP_TO(5, none));
    CHECK_TEXT(shown, "a\xc3\xa9||");
    snprintf(shown, sizeof shown, "%.*s", NL_UP_TO(10, whole));
    CHECK_TEXT(shown, text);
}

/* First and last of each length, put and measured. */
static void puts_characters(void)
{
    static const uint32_t codes[] = {0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
    static const char *const texts[] = {"\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
                                        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    char text[5];
    CHECK_INT(nl_utf8_put(text, 'a'), 1);
    CHECK_INT(text[0], 'a');
    for (size_t i = 0; i < CHECK_LENGTH(codes); i++) {
        size_t len = nl_utf8_put(text, codes[i]);
        text[len] = 0;
        CHECK_TEXT(text, texts[i]);
        CHECK_INT(nl_utf8_length((const unsigned char *)text, len), len);
    }
}

static void reads_hexadecimal(void)
{
    static const char digits[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    uint64_t value;
    for (int c = -128; c < 128; c++) {
        const char *low = c ? strchr(digits, c) : NULL, *high = c ? strchr(upper, c) : NULL;
        CHECK_INT(nl_hex_digit((char)c), low ? low - digits : high ? high - upper : -1);
    }
    CHECK(nl_hex_u64(nl_str("fEdcBA9876543210"), &value) && value == 0xfedcba9876543210u);
    CHECK(nl_hex_u64(nl_str("0"), &value) && value == 0);
    CHECK(!nl_hex_u64(nl_str(""), &value));
    CHECK(!nl_hex_u64(nl_str("0x1"), &value));
    CHECK(!nl_hex_u64(nl_str("12 "), &value));
    CHECK(!nl_hex_u64(nl_str("00000000000000001"), &value));
    static const char unit[] = "20aCx";
    CHECK_INT(nl_hex_unit(unit, unit + 4), 0x20ac);
    CHECK_INT(nl_hex_unit(unit, unit + 3), -1);
    CHECK_INT(nl_hex_unit(unit + 1, unit + 5), -1);
}

CHECK_MAIN("str", {"views compare", views_compare},
           {"characters have kinds", characters_have_kinds},
           {"quotes for a shell", quotes_for_a_shell}, {"finds file names", finds_file_names},
           {"finds without case", finds_without_case}, {"starts without case", starts_without_case},
           {"builder appends", builder_appends}, {"builder is bounded", builder_is_bounded},
           {"hashes differ", hashes_differ}, {"cuts between characters", cuts_between_characters},
           {"puts characters", puts_characters}, {"reads hexadecimal", reads_hexadecimal},
           {"arena keeps texts", arena_keeps_texts}, {"arrays grow", grows})
