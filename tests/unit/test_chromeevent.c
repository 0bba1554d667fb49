/*
 * Events of a Chrome trace as text (ingest/chrome/chrome_event.c): what a parser has learned of
 * the text between values changes nothing that it reads, wherever events before were cut.
 */
#include "check.h"

#include "ingest/chrome/chrome_event.h"
#include "ingest/chrome/chrome_scan.h"

#define BEFORE 8 /* bytes that may be read before a text */

/* The text with what has to stand behind it, BEFORE bytes into a block. */
static char *padded(const char *text, size_t len)
{
    char *block = nl_zalloc(BEFORE + len + CHROME_PAD);
    memcpy(block + BEFORE, text, len);
    memset(block + BEFORE + len, '"', CHROME_PAD);
    return block + BEFORE;
}

static bool same_value(const struct chrome_value *a, const struct chrome_value *b)
{
    struct nl_str one = chrome_text(a), other = chrome_text(b);
    return one.len == other.len && !memcmp(one.ptr, other.ptr, one.len);
}

static void check_same(const struct chrome_event *got, const struct chrome_event *want)
{
    CHECK_INT(got->seen, want->seen);
    CHECK_INT(got->args[0], want->args[0]);
    CHECK_INT(got->args[1], want->args[1]);
    for (int i = 0; i < CHROME_F_KEPT; i++)
        if (chrome_has(want, (enum chrome_field)i))
            CHECK(same_value(&got->field[i], &want->field[i]));
    for (int i = 0; i < CHROME_ARG_COUNT; i++)
        if (chrome_arg(want, (enum chrome_arg)i))
            CHECK(same_value(&got->arg[i], &want->arg[i]));
}

/* One parser sees the event cut at each byte, and whole twice after each cut; with the white space
 * that people's printers put there, behind which a cut may come. */
static void learns_nothing_wrong_from_a_cut(void)
{
    static const char *const texts[] = {
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":"
        "5,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":3}}",
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": 10, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 3}}",
        "{\n \"ph\" : \"X\" ,\n \"name\" :  \"gemm\" ,\n \"pid\" :  0 ,\n \"tid\" :  7 ,\n "
        "\"ts\" :  10 ,\n \"dur\" :  5 ,\n \"args\" :  {\n  \"device\" :  0 ,\n  \"stream\" :  7 } "
        "}"};
    static struct chrome_parser learned, fresh;
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++) {
        size_t len = strlen(texts[i]);
        char *whole = padded(texts[i], len);
        struct chrome_event want, got;
        const char *at = whole;
        chrome_parser_init(&fresh);
        REQUIRE(chrome_parse(&fresh, &want, &at, whole + len) == CHROME_OK);
        CHECK_INT(at - whole, len);
        for (size_t cut = 1; cut < len; cut++) {
            char *part = padded(texts[i], cut);
            check_case(texts[i] + cut);
            chrome_parser_init(&learned);
            at = part;
            CHECK_INT(chrome_parse(&learned, &got, &at, part + cut), CHROME_MORE);
            for (int time = 0; time < 2; time++) {
                at = whole;
                CHECK_INT(chrome_parse(&learned, &got, &at, whole + len), CHROME_OK);
                check_same(&got, &want);
            }
            nl_free(part - BEFORE);
        }
        nl_free(whole - BEFORE);
    }
}

CHECK_MAIN("chromeevent", {"learns nothing wrong from a cut", learns_nothing_wrong_from_a_cut})
