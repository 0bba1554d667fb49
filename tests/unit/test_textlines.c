/* Lines of texts (parse/textlines.h): every kind of end, encodings with each length of a character,
 * lines longer than what is kept. */
#include "base/mem.h"
#include "check.h"
#include "parse/textlines.h"

static struct nl_err err;

#define TEXT(bytes) bytes, sizeof bytes - 1

/* All lines, each between < and >; the caller frees it. */
static char *read_lines(const char *bytes, size_t len, struct textlines *lines)
{
    size_t room = 3 * len + 100, at = 0;
    char *said = nl_zalloc(room);
    struct nl_str line;
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(bytes, len, &err);
    if (!stream)
        return said;
    textlines_init(lines, stream);
    while (textlines_next(lines, &line, &err)) {
        said[at++] = '<';
        memcpy(said + at, line.ptr, line.len);
        at += line.len;
        said[at++] = '>';
    }
    CHECK(!lines->failed);
    textlines_release(lines);
    nl_stream_close(stream);
    return said;
}

static void lines_of_texts(void)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        const char *lines;
        uint64_t count;
    } cases[] = {
        {"one", TEXT("a\n"), "<a>", 1},
        {"without an end", TEXT("a\nbc"), "<a><bc>", 2},
        {"empty ones", TEXT("\n\na\n\n"), "<><><a><>", 4},
        {"of Windows", TEXT("a\r\nb\r\n"), "<a><b>", 2},
        {"CR at the very end", TEXT("a\r"), "<a>", 1},
        {"one CR is taken", TEXT("a\r\r\nb"), "<a\r><b>", 2},
        {"CR within", TEXT("a\rb\n"), "<a\rb>", 1},
        {"nothing but a CR", TEXT("\r\nb"), "<><b>", 2},
        {"a mark",
         TEXT("\xEF\xBB\xBF"
              "a\nb\n"),
         "<a><b>", 2},
        {"a mark alone", TEXT("\xEF\xBB\xBF"), "", 0},
        {"half a mark",
         TEXT("\xEF\xBB"
              "a\n"),
         "<\xEF\xBB"
         "a>",
         1},
        {"little",
         TEXT("\xFF\xFE"
              "a\0\n\0b\0\r\0\n\0c\0"),
         "<a><b><c>", 3},
        {"big",
         TEXT("\xFE\xFF"
              "\0a\0\n\0b"),
         "<a><b>", 2},
        {"mark of the other alone",
         TEXT("\xFE\xFE"
              "a\n"),
         "<\xFE\xFE"
         "a>",
         1},
        {"little, last of one byte",
         TEXT("\xFF\xFE"
              "\x7F\0"),
         "<\x7F>", 1},
        {"first of two",
         TEXT("\xFF\xFE"
              "\x80\0"),
         "<\xC2\x80>", 1},
        {"last of two",
         TEXT("\xFE\xFF"
              "\x07\xFF"),
         "<\xDF\xBF>", 1},
        {"first of three",
         TEXT("\xFE\xFF"
              "\x08\0"),
         "<\xE0\xA0\x80>", 1},
        {"last of three",
         TEXT("\xFE\xFF"
              "\xFF\xFD"),
         "<\xEF\xBF\xBD>", 1},
        {"before the pairs",
         TEXT("\xFE\xFF"
              "\xD7\xFF"),
         "<\xED\x9F\xBF>", 1},
        {"behind the pairs",
         TEXT("\xFE\xFF"
              "\xE0\0"),
         "<\xEE\x80\x80>", 1},
        {"first pair",
         TEXT("\xFE\xFF"
              "\xD8\0\xDC\0"),
         "<\xF0\x90\x80\x80>", 1},
        {"last pair",
         TEXT("\xFE\xFF"
              "\xDB\xFF\xDF\xFF"),
         "<\xF4\x8F\xBF\xBF>", 1},
        {"a pair of all bits",
         TEXT("\xFF\xFE"
              "\x3D\xD8\x00\xDE"
              "a\0"),
         "<\xF0\x9F\x98\x80"
         "a>",
         1},
        {"half a pair before a letter",
         TEXT("\xFE\xFF"
              "\xD8\0\0a"),
         "<\xEF\xBF\xBD"
         "a>",
         1},
        {"half a pair at the end",
         TEXT("\xFE\xFF"
              "\0a\xD8\0"),
         "<a\xEF\xBF\xBD>", 1},
        {"the other half alone",
         TEXT("\xFE\xFF"
              "\xDC\0\xDF\xFF"),
         "<\xEF\xBF\xBD\xEF\xBF\xBD>", 1},
        {"half a character at the end",
         TEXT("\xFE\xFF"
              "\0a\0"),
         "<a>", 1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct textlines lines;
        char *said = read_lines(cases[i].bytes, cases[i].len, &lines);
        check_case(cases[i].name);
        CHECK_TEXT(said, cases[i].lines);
        CHECK_INT(lines.count, cases[i].count);
        CHECK_INT(lines.cut, 0);
        nl_free(said);
    }
}

/* `first` letters, an end, then "b" and an end; in two bytes each when `wide`. */
static char *long_text(size_t first, bool wide, size_t *len)
{
    size_t width = wide ? 2 : 1, at = 0;
    char *text = nl_zalloc((first + 10) * width);
    if (wide)
        memcpy(text, "\xFF\xFE", 2), at = 2;
    for (size_t i = 0; i < first + 3; i++, at += width)
        text[at] = i < first ? (char)('a' + i % 23) : "\nb\n"[i - first];
    *len = at;
    return text;
}

/* A line is kept whole up to 4 MiB, whatever the window; what is twice as long is left out and
 * counted, and the next one is there. */
static void long_lines(void)
{
    static const struct {
        size_t letters;
        bool wide, kept;
    } cases[] = {
        {32767, false, true},   {32768, false, true},   {65536, false, true},
        {262143, false, true},  {262144, false, true},  {262145, false, true},
        {1 << 20, false, true}, {4 << 20, false, true}, {9 << 20, false, false},
        {16383, true, true},    {32768, true, true},    {262144, true, true},
        {4 << 20, true, true},  {9 << 20, true, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char name[60];
        size_t len;
        struct textlines lines;
        struct nl_str line;
        snprintf(name, sizeof name, "%zu%s", cases[i].letters, cases[i].wide ? " wide" : "");
        check_case(name);
        char *text = long_text(cases[i].letters, cases[i].wide, &len);
        struct nl_stream *stream = nl_stream_memory(text, len, &err);
        REQUIRE(stream);
        textlines_init(&lines, stream);
        if (cases[i].kept) {
            REQUIRE(textlines_next(&lines, &line, &err));
            CHECK_INT(line.len, cases[i].letters);
            size_t wrong = 0;
            for (size_t k = 0; k < line.len; k++)
                wrong += line.ptr[k] != (char)('a' + k % 23);
            CHECK_INT(wrong, 0);
        }
        REQUIRE(textlines_next(&lines, &line, &err));
        CHECK(nl_str_is(line, "b"));
        CHECK(!textlines_next(&lines, &line, &err));
        CHECK_INT(lines.cut, cases[i].kept ? 0 : 1);
        CHECK_INT(lines.count, cases[i].kept ? 2 : 1);
        textlines_release(&lines);
        nl_stream_close(stream);
        nl_free(text);
    }
}

static void heads(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {TEXT("plain"), "plain"},
        {TEXT(""), ""},
        {TEXT("x"), "x"},
        {TEXT("\xEF\xBB\xBF"
              "a"),
         "a"},
        {TEXT("\xEF\xBB\xBF"), ""},
        {TEXT("\xEF\xBB"), "\xEF\xBB"},
        {TEXT("\xFF\xFE"
              "a\0\x7F\0\x80\0b\0"),
         "a\x7F?b"},
        {TEXT("\xFE\xFF"
              "\0a\x01\0\0b\0"),
         "a?b"},
        {TEXT("\xFE\xFF"), ""},
        {TEXT("\xFF\xFF"
              "a"),
         "\xFF\xFF"
         "a"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char room[40], text[40];
        struct nl_str head =
            textlines_head((const unsigned char *)cases[i].bytes, cases[i].len, room);
        snprintf(text, sizeof text, "%.*s", (int)head.len, head.len ? head.ptr : "");
        CHECK_TEXT(text, cases[i].text);
    }
}

static void words_of_lines(void)
{
    static const struct {
        const char *line;
        int most;
        const char *words;
        int count;
    } cases[] = {
        {"a bc  d", 8, "a|bc|d|", 3},
        {" \t a\t\tb \r", 8, "a|b|", 2},
        {"a b c", 2, "a|b|", 2},
        {"a b c", 3, "a|b|c|", 3},
        {"a b c", 0, "", 0},
        {"", 8, "", 0},
        {"  ", 8, "", 0},
        {"word", 8, "word|", 1},
        {" x", 1, "x|", 1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_str words[8];
        char said[60] = "";
        check_case(cases[i].line);
        CHECK_INT(textlines_words(nl_str(cases[i].line), words, cases[i].most), cases[i].count);
        for (int k = 0; k < cases[i].count; k++)
            snprintf(said + strlen(said), sizeof said - strlen(said), "%.*s|", (int)words[k].len,
                     words[k].ptr);
        CHECK_TEXT(said, cases[i].words);
    }
}

static void splits(void)
{
    static const char *const cases[][2] = {
        {"a\nb", "<a><b>"}, {"a\r\nb\r\n", "<a><b>"}, {"\n\n", "<><>"},
        {"a", "<a>"},       {"a\r", "<a>"},           {"\r", "<>"},
        {"", ""},           {"a\r\rb\n", "<a\r\rb>"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_str text = nl_str(cases[i][0]), line;
        char said[60] = "";
        while (textlines_split(&text, &line))
            snprintf(said + strlen(said), sizeof said - strlen(said), "<%.*s>", (int)line.len,
                     line.ptr);
        CHECK_TEXT(said, cases[i][1]);
    }
}

CHECK_MAIN("textlines", {"lines of texts", lines_of_texts}, {"long lines", long_lines},
           {"heads", heads}, {"words of lines", words_of_lines}, {"splits", splits})
