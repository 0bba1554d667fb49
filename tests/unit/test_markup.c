/* markup, flame: text of profiles in pages, and stacks as a tree that adds up. */
#include "check.h"

#include "base/mem.h"
#include "pages/flame.h"
#include "pages/markup.h"

static char text[65536];

static FILE *begin(void)
{
    memset(text, 0, sizeof text);
    return fmemopen(text, sizeof text - 1, "w");
}

static void html_has_no_markup(void)
{
    static const struct {
        const char *given, *want;
    } cases[] = {
        {"plain", "plain"},
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"a & \"b\" 'c'", "a &amp; &quot;b&quot; &#39;c&#39;"},
        {"&lt;", "&amp;lt;"},
        {"x\033[31my\xE2\x80\xAEz", "x\xEF\xBF\xBD[31my\xEF\xBF\xBDz"}, /* steering, reordering */
        {"bad \xFF byte", "bad \xEF\xBF\xBD byte"},
        {"", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        FILE *out = begin();
        check_case(cases[i].given);
        nl_markup_html(out, nl_str(cases[i].given));
        fclose(out);
        CHECK_TEXT(text, cases[i].want);
    }
}

static void json_cannot_end_its_element(void)
{
    struct nl_err err = {0};
    struct nl_json json;
    FILE *out = begin(), *stream = nl_markup_json(out, &err);
    REQUIRE(stream != NULL);
    nl_json_to_stream(&json, stream, 0);
    nl_json_text(&json, "</script><!--<script>");
    CHECK(fclose(stream) == 0);
    fclose(out);
    CHECK_TEXT(text, "\"\\u003c/script>\\u003c!--\\u003cscript>\"");
}

/* Of `openssl dgst -sha256 -binary | base64`. */
static void hashes_are_as_policies_write_them(void)
{
    static const struct {
        const char *given, *want;
    } cases[] = {
        {"", "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
        {"abc", "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_err err = {0};
        char hash[NL_MARKUP_HASH];
        CHECK(nl_markup_hash(hash, cases[i].given, strlen(cases[i].given), &err));
        CHECK_TEXT(hash, cases[i].want);
    }
}

static struct nl_flame three_stacks(void)
{
    struct nl_flame flame;
    nl_flame_init(&flame, nl_flame_source("device"));
    uint32_t a = nl_flame_below(&flame, 0, nl_str("a"));
    uint32_t b = nl_flame_below(&flame, a, nl_str("b;<c>"));
    uint32_t d = nl_flame_below(&flame, 0, nl_str("d"));
    nl_flame_weigh(&flame, b, 5);
    nl_flame_weigh(&flame, a, 2);
    nl_flame_weigh(&flame, d, 10);
    nl_flame_weigh(&flame, nl_flame_below(&flame, a, nl_str("b;<c>")), 1);
    nl_flame_finish(&flame);
    return flame;
}

static void a_flame_adds_up(void)
{
    struct nl_flame flame = three_stacks();
    uint32_t *first, *next;
    CHECK_INT(flame.count, 4);
    CHECK_INT(flame.nodes[0].total, 18);
    CHECK_INT(flame.nodes[1].total, 8);
    CHECK_INT(flame.nodes[1].self, 2);
    CHECK_INT(flame.nodes[2].count, 2);
    nl_flame_order(&flame, &first, &next); /* the heaviest first */
    CHECK_INT(first[0], 3);
    CHECK_INT(next[3], 1);
    CHECK_INT(next[1], 0);
    CHECK_INT(first[1], 2);
    nl_free(first);
    nl_free(next);
    FILE *out = begin();
    nl_flame_folded(out, &flame);
    fclose(out);
    CHECK_TEXT(text, "a 2\na;b,<c> 6\nd 10\n");
    nl_flame_release(&flame);
}

/* Deep and wide trees are walked without recursion and keep their sums. */
static void deep_and_wide(void)
{
    struct nl_flame flame;
    uint32_t node = 0;
    nl_flame_init(&flame, nl_flame_source("samples"));
    for (int i = 0; i < 5000; i++)
        node = nl_flame_below(&flame, node, nl_str(i % 2 ? "odd" : "even"));
    nl_flame_weigh(&flame, node, 7);
    for (int i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof name, "leaf %d", i);
        nl_flame_weigh(&flame, nl_flame_below(&flame, 0, nl_str(name)), i);
    }
    nl_flame_finish(&flame);
    CHECK_INT(flame.nodes[0].total, 7 + 4999 * 5000 / 2);
    FILE *sink = fopen("/dev/null", "w");
    struct nl_json json;
    REQUIRE(sink != NULL);
    nl_json_to_stream(&json, sink, 0);
    nl_flame_json(&json, &flame);
    nl_flame_svg(sink, &flame, "deep");
    nl_flame_folded(sink, &flame);
    CHECK(fclose(sink) == 0);
    nl_flame_release(&flame);
}

static void an_svg_has_boxes_and_no_markup_of_names(void)
{
    struct nl_flame flame = three_stacks();
    FILE *out = begin();
    nl_flame_svg(out, &flame, "<heading>");
    fclose(out);
    size_t boxes = 0;
    for (const char *at = strstr(text, "<rect x="); at; at = strstr(at + 1, "<rect x="))
        boxes++;
    CHECK_INT(boxes, 4);
    CHECK(strstr(text, "&lt;heading&gt;") != NULL);
    CHECK(strstr(text, "b;&lt;c&gt;") != NULL);
    CHECK(strstr(text, "<c>") == NULL);
    nl_flame_release(&flame);
}

CHECK_MAIN("markup", {"HTML has no markup of names", html_has_no_markup},
           {"JSON cannot end its element", json_cannot_end_its_element},
           {"hashes are as policies write them", hashes_are_as_policies_write_them},
           {"a flame adds up", a_flame_adds_up}, {"deep and wide flames", deep_and_wide},
           {"an SVG has boxes and no markup of names", an_svg_has_boxes_and_no_markup_of_names})
