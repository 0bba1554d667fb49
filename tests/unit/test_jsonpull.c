/* The pull reader of JSON: tokens, tolerance, damage, and windows that end anywhere. */
#include "check.h"
#include "parse/jsonpull.h"

/* All tokens as one line: { } [ ], k:key, s:string, n:number, t f 0 nan,
 * E:problem, and $ at the end. */
static void dump(struct jsonpull *r, struct nl_buf *out)
{
    for (int i = 0; i < 100000; i++) {
        enum jsonpull_type type = jsonpull_next(r);
        static const char *const plain[] = {
            [JSONPULL_OBJECT] = "{",    [JSONPULL_OBJECT_END] = "}", [JSONPULL_ARRAY] = "[",
            [JSONPULL_ARRAY_END] = "]", [JSONPULL_NAN] = "nan",      [JSONPULL_TRUE] = "t",
            [JSONPULL_FALSE] = "f",     [JSONPULL_NULL] = "0",       [JSONPULL_END] = "$"};
        if (out->len)
            nl_buf_char(out, ' ');
        if (type == JSONPULL_ERROR) {
            nl_buf_format(out, "E%s", r->cut ? "(cut)" : "");
            return;
        }
        if (type == JSONPULL_KEY || type == JSONPULL_STRING || type == JSONPULL_NUMBER) {
            nl_buf_text(out, type == JSONPULL_KEY ? "k:" : type == JSONPULL_STRING ? "s:" : "n:");
            nl_buf_add(out, r->text.ptr, r->text.len);
        } else {
            nl_buf_text(out, plain[type]);
        }
        if (type == JSONPULL_END)
            return;
    }
}

static const struct {
    const char *name, *text, *tokens;
    unsigned options;
} documents[] = {
    {"scalar", "12", "n:12 $", 0},
    {"nothing", "", "E(cut)", 0},
    {"spaces", " \n", "E(cut)", 0},
    {"empty", "{}", "{ } $", 0},
    {"nested", "{\"a\": [1, -2.5e3, {\"b\":null}], \"c\":true}",
     "{ k:a [ n:1 n:-2.5e3 { k:b 0 } ] k:c t } $", 0},
    {"escapes", "[\"a\\n\\\"\\u00e9\\ud83d\\ude00\\q\", \"\"]",
     "[ s:a\n\"\xc3\xa9\xf0\x9f\x98\x80\\q s: ] $", 0},
    {"escaped key", "{\"a\\\"b\" : 1}", "{ k:a\"b n:1 } $", 0},
    {"lone surrogate", "[\"\\ud800x\"]", "[ s:\xef\xbf\xbdx ] $", 0},
    {"byte order mark", "\xef\xbb\xbf[1]", "[ n:1 ] $", 0},
    {"trailing commas", "{\"a\":[1,],}", "{ k:a [ n:1 ] } $", 0},
    {"not numbers", "[NaN, -inf, Infinity, -nan(ind)]", "[ nan nan nan nan ] $", 0},
    {"missing comma", "[1 2]", "[ n:1 E", 0},
    {"missing colon", "{\"a\" 1}", "{ E", 0},
    {"missing value", "{\"a\":}", "{ k:a E", 0},
    {"missing key", "{1:2}", "{ E", 0},
    {"two commas", "[1,,2]", "[ n:1 E", 0},
    {"wrong bracket", "[1}", "[ n:1 E", 0},
    {"closing first", "]", "E", 0},
    {"word", "[nul]", "[ E", 0},
    {"more text", "{} x", "{ } E", 0},
    {"cut in string", "{\"a\":\"b", "{ k:a E(cut)", 0},
    {"cut in key", "{\"a", "{ E(cut)", 0},
    {"cut after key", "{\"a\"", "{ E(cut)", 0},
    {"cut in number", "[12", "[ E(cut)", 0},
    {"cut in escape", "[\"\\", "[ E(cut)", 0},
    {"cut after item", "[12,", "[ n:12 E(cut)", 0},
    {"lines", "{\"a\":1}\n{\"a\":2}\n", "{ k:a n:1 } { k:a n:2 } $", JSONPULL_MANY},
    {"no lines", "", "$", JSONPULL_MANY},
    {"paths", "[\"C:\\new\\table \\u0041 \\\"q\\\"\"]", "[ s:C:\\new\\table A \"q\" ] $",
     JSONPULL_PATHS},
    {"line in string", "[\"a\nb\"]", "[ E", JSONPULL_LINES},
    {"bare quotes", "{\"n\":\"say \"hi\", you\",\"k\"y\":[\"a\"b\"]}",
     "{ k:n s:say \"hi\", you k:k\"y [ s:a\"b ] } $", JSONPULL_QUOTES},
};

static void tokens_of_documents(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(documents); i++) {
        struct jsonpull r;
        struct nl_buf got;
        check_case(documents[i].name);
        nl_buf_init(&got, 4096);
        jsonpull_memory(&r, documents[i].text, strlen(documents[i].text), documents[i].options);
        dump(&r, &got);
        CHECK_STR(((struct nl_str){got.ptr, got.len}), documents[i].tokens);
        jsonpull_release(&r);
        nl_buf_release(&got);
    }
}

static void every_prefix_is_cut(void)
{
    static const char text[] = "{\"a\": [1, -2.5e3, {\"b\\n\":null}], \"c\": true}";
    for (size_t len = 0; len + 1 < sizeof text; len++) {
        struct jsonpull r;
        jsonpull_memory(&r, text, len, 0);
        while (jsonpull_next(&r) > JSONPULL_END)
            ;
        CHECK_INT(r.type, JSONPULL_ERROR);
        CHECK(r.cut);
        jsonpull_release(&r);
    }
}

static void walks_and_skips(void)
{
    static const char text[] = "{\"skip\":{\"x\":[\"]}\",{}]},\"n\": 1.5 ,\"raw\":[1, \"a\"],"
                               "\"list\":[1,[2],3],\"last\":\"7\"}";
    struct jsonpull r;
    struct nl_str raw = {"", 0};
    int64_t ns = 0, sum = 0, last = 0, value = 0;
    jsonpull_memory(&r, text, sizeof text - 1, 0);
    REQUIRE(jsonpull_next(&r) == JSONPULL_OBJECT);
    while (jsonpull_member(&r)) {
        if (nl_str_is(r.text, "n")) {
            jsonpull_next(&r);
            CHECK(jsonpull_ns(&r, 6, &ns));
        } else if (nl_str_is(r.text, "raw")) {
            CHECK(jsonpull_raw(&r, &raw));
        } else if (nl_str_is(r.text, "list")) {
            jsonpull_next(&r);
            while (jsonpull_item(&r)) {
                if (jsonpull_i64(&r, &value))
                    sum += value;
                jsonpull_skip(&r);
            }
        } else if (nl_str_is(r.text, "last")) {
            jsonpull_next(&r);
            CHECK(jsonpull_i64(&r, &last));
        } else {
            jsonpull_skip(&r);
        }
    }
    CHECK_INT(r.type, JSONPULL_OBJECT_END);
    CHECK_INT(jsonpull_next(&r), JSONPULL_END);
    CHECK_INT(ns, 1500000);
    CHECK_STR(raw, "[1, \"a\"]");
    CHECK_INT(sum, 4);
    CHECK_INT(last, 7);
    jsonpull_release(&r);
}

/* A long document through a stream: the tokens are those of the same text in memory, with strings
 * longer than the window and ends of the window in every kind of token. */
static void streams_like_memory(void)
{
    struct nl_buf text, want, got;
    nl_buf_init(&text, 64 << 20);
    nl_buf_init(&want, 64 << 20);
    nl_buf_init(&got, 64 << 20);
    nl_buf_char(&text, '[');
    for (unsigned i = 0; i < 900; i++) {
        nl_buf_format(&text, "{\"key \\\" %u\" : \"", i);
        for (unsigned j = 0; j < (i == 450 ? 700000 : i * 13 % 1201); j++)
            nl_buf_char(&text, (char)('a' + (i + j) % 26));
        nl_buf_format(&text, "\", \"v\" : -%u.25e1 , \"w\":[true,null,NaN,]},", i);
    }
    nl_buf_text(&text, "0]  ");
    for (int streamed = 0; streamed < 2; streamed++) {
        struct jsonpull r;
        struct nl_err err;
        struct nl_stream *stream = NULL;
        nl_err_clear(&err);
        if (streamed) {
            REQUIRE((stream = nl_stream_memory(text.ptr, text.len, &err)));
            jsonpull_stream(&r, stream, JSONPULL_QUOTES, &err);
        } else {
            jsonpull_memory(&r, text.ptr, text.len, JSONPULL_QUOTES);
        }
        dump(&r, streamed ? &got : &want);
        CHECK_INT(r.repairs, 1800);
        CHECK_INT(jsonpull_offset(&r), text.len);
        jsonpull_release(&r);
        nl_stream_close(stream);
    }
    CHECK_INT(got.len, want.len);
    CHECK(got.len == want.len && memcmp(got.ptr, want.ptr, got.len) == 0);
    nl_buf_release(&text);
    nl_buf_release(&want);
    nl_buf_release(&got);
}

static void resumes_at_a_mark(void)
{
    static const char text[] =
        "[\n{\"id\":1},\n{\"id\":2,\"x\":[{\"y\n{\"id\":3},\n{\"id\":]},\n{\"id\":5}]";
    struct jsonpull r;
    int64_t sum = 0, id = 0;
    unsigned resumed = 0;
    jsonpull_memory(&r, text, sizeof text - 1, JSONPULL_LINES | JSONPULL_QUOTES);
    REQUIRE(jsonpull_next(&r) == JSONPULL_ARRAY);
    for (;;) {
        while (jsonpull_item(&r)) {
            while (jsonpull_member(&r)) {
                bool is_id = nl_str_is(r.text, "id");
                jsonpull_next(&r);
                if (is_id && jsonpull_i64(&r, &id))
                    sum += id;
                jsonpull_skip(&r);
            }
        }
        if (!r.problem || !jsonpull_resume(&r, 1, "{\"id\""))
            break;
        resumed++;
    }
    CHECK_INT(resumed, 2);
    CHECK_INT(sum, 1 + 2 + 3 + 5);
    CHECK_INT(jsonpull_next(&r), JSONPULL_END);
    jsonpull_release(&r);
}

static void deep_nesting_is_an_error(void)
{
    char text[JSONPULL_DEPTH + 10];
    struct jsonpull r;
    memset(text, '[', sizeof text);
    jsonpull_memory(&r, text, sizeof text, 0);
    while (jsonpull_next(&r) > JSONPULL_END)
        ;
    CHECK_TEXT(r.problem, "nested too deeply");
    jsonpull_release(&r);
}

CHECK_MAIN("jsonpull", {"tokens of documents", tokens_of_documents},
           {"every prefix is cut", every_prefix_is_cut}, {"walks and skips", walks_and_skips},
           {"streams like memory", streams_like_memory}, {"resumes at a mark", resumes_at_a_mark},
           {"deep nesting is an error", deep_nesting_is_an_error})
