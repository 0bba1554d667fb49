/* json: what is written is JSON, whatever the values. */
#include "check.h"

#include "base/json.h"

static void writes_structure(void)
{
    struct nl_buf buf;
    struct nl_json json;
    nl_buf_init(&buf, 4096);
    nl_json_to_buf(&json, &buf, 0);
    nl_json_open(&json, '{');
    nl_json_key(&json, "a");
    nl_json_i64(&json, INT64_MIN);
    nl_json_key(&json, "b");
    nl_json_open(&json, '[');
    nl_json_u64(&json, UINT64_MAX);
    nl_json_null(&json);
    nl_json_bool(&json, true);
    nl_json_open(&json, '{');
    nl_json_close(&json, '}');
    nl_json_open(&json, '[');
    nl_json_close(&json, ']');
    nl_json_close(&json, ']');
    nl_json_key(&json, "c");
    nl_json_text(&json, NULL);
    nl_json_close(&json, '}');
    /* Blanks are free; compare without them. */
    char packed[512];
    size_t len = 0;
    for (size_t i = 0; i < buf.len && len < sizeof packed - 1; i++)
        if (buf.ptr[i] != ' ' && buf.ptr[i] != '\n')
            packed[len++] = buf.ptr[i];
    packed[len] = '\0';
    CHECK_TEXT(packed, "{\"a\":-9223372036854775808,\"b\":[18446744073709551615,null,true,{},[]],"
                       "\"c\":null}");
    nl_buf_release(&buf);
}

static void escapes_text(void)
{
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } cases[] = {
        {"plain", 5, "\"plain\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\n\t\r", 3, "\"\\n\\t\\r\""},
        {"\x01", 1, "\"\\u0001\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\xc3\xa9", 2, "\"\xc3\xa9\""},
        {"\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\""},
        {"\xff", 1, "\"\xef\xbf\xbd\""},   /* not UTF-8 at all */
        {"x\xc3", 2, "\"x\xef\xbf\xbd\""}, /* cut */
        {"\xed\xa0\x80", 3, NULL},         /* a lone surrogate */
        {"\xc0\x80", 2, NULL},             /* overlong */
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf buf;
        struct nl_json json;
        nl_buf_init(&buf, 4096);
        nl_json_to_buf(&json, &buf, 0);
        nl_json_str(&json, (struct nl_str){cases[i].in, cases[i].len});
        if (cases[i].out)
            CHECK_TEXT(buf.ptr, cases[i].out);
        else
            CHECK(strstr(buf.ptr, "\xef\xbf\xbd") != NULL);
        nl_buf_release(&buf);
    }
}

static void doubles_round_trip(void)
{
    static const double values[] = {0, 1, -1, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.125, 1e15};
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        struct nl_buf buf;
        struct nl_json json;
        nl_buf_init(&buf, 4096);
        nl_json_to_buf(&json, &buf, 0);
        nl_json_f64(&json, values[i]);
        CHECK(strtod(buf.ptr, NULL) == values[i]);
        nl_buf_release(&buf);
    }
}

/* Texts are looked at eight bytes at a time: every byte at every place, among all others. */
static void escapes_bytes_anywhere(void)
{
    static const unsigned char fills[] = {' ', '!', '#', '[', ']', '~', 'a', 0x21, 0x5d};
    for (unsigned c = 1; c < 0x80; c++)
        for (size_t at = 0; at < 20; at++)
            for (size_t f = 0; f < CHECK_LENGTH(fills); f++) {
                char text[20], want[64], escaped[8];
                memset(text, fills[f], sizeof text);
                text[at] = (char)c;
                static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
                const char *known = strchr(named, (int)c);
                if (known)
                    snprintf(escaped, sizeof escaped, "\\%c", letters[known - named]);
                else
                    snprintf(escaped, sizeof escaped, c < 0x20 || c == 0x7f ? "\\u%04x" : "%c", c);
                snprintf(want, sizeof want, "\"%.*s%s%.*s\"", (int)at, text, escaped,
                         (int)(sizeof text - at - 1), text + at + 1);
                struct nl_buf buf;
                struct nl_json json;
                nl_buf_init(&buf, 4096);
                nl_json_to_buf(&json, &buf, 0);
                nl_json_str(&json, (struct nl_str){text, sizeof text});
                CHECK_TEXT(buf.ptr, want);
                nl_buf_release(&buf);
            }
}

static void no_number_is_null(void)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        struct nl_buf buf;
        struct nl_json json;
        nl_buf_init(&buf, 4096);
        nl_json_to_buf(&json, &buf, 0);
        nl_json_f64(&json, values[i]);
        CHECK_TEXT(buf.ptr, "null");
        nl_buf_release(&buf);
    }
}

CHECK_MAIN("json", {"writes structure", writes_structure}, {"escapes text", escapes_text},
           {"escapes bytes anywhere", escapes_bytes_anywhere},
           {"doubles round-trip", doubles_round_trip}, {"no number is null", no_number_is_null})
