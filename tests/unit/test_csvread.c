/* csvread: the cells are those that were written, whatever the quotes, line ends and windows. */
#include "check.h"

#include "base/mem.h"
#include "parse/csvread.h"

/* All rows as "a|b~c|d" or "error: code". */
static void read_all(struct nl_buf *out, const char *text, size_t len,
                     const struct csvread_options *options, struct csvread *counts)
{
    struct nl_err err;
    struct csvread csv;
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(text, len, &err);
    nl_buf_init(out, (size_t)1 << 26);
    nl_buf_text(out, "");
    csvread_init(&csv, stream, NULL, options);
    enum csvread_status got;
    while ((got = csvread_next(&csv, &err)) == CSVREAD_ROW) {
        if (out->len > 0)
            nl_buf_char(out, '~');
        for (size_t i = 0; i < csv.count; i++) {
            if (i > 0)
                nl_buf_char(out, '/');
            nl_buf_add(out, csv.cells[i].ptr, csv.cells[i].len);
        }
    }
    if (got == CSVREAD_ERROR)
        nl_buf_format(out, "error: %s", nl_err_name(err.code));
    *counts = csv;
    csvread_release(&csv);
    nl_stream_close(stream);
}

static const struct {
    const char *name, *in, *out;
    struct csvread_options options;
} cases[] = {
    {"nothing", "", "", {0}},
    {"one row, no line end", "a,b", "a/b", {0}},
    {"line feed", "a,b\nc,d\n", "a/b~c/d", {0}},
    {"carriage returns", "a,b\r\nc,d\r\n", "a/b~c/d", {0}},
    {"carriage return at the end", "a,b\r", "a/b", {0}},
    {"byte-order mark",
     "\xef\xbb\xbf"
     "a,b\n",
     "a/b",
     {0}},
    {"empty cells", ",,\na,,\n", "//~a//", {0}},
    {"ragged", "a,b,c\nd\ne,f,g,h\n", "a/b/c~d~e/f/g/h", {0}},
    {"quotes", "\"a,b\",\"c\"\n", "a,b/c", {0}},
    {"doubled quotes", "\"a\"\"b\",\"\"\"\",\"\"\n", "a\"b/\"/", {0}},
    {"line end in quotes", "\"a\nb\",c\nd,e\n", "a\nb/c~d/e", {0}},
    {"quote in the middle", "a\"b,c\"\n", "a\"b/c\"", {0}},
    {"text after the quote", "\"a\"b,c\n", "\"a\"b/c", {0}},
    {"space after the quote", "\"a\" ,c\n", "a/c", {0}},
    {"never closed", "a,b\n\"c,d\ne,f\n", "a/b~\"c/d~e/f", {0}},
    {"never closed at the end", "a,\"", "a/\"", {0}},
    {"blank lines", "\n\na\n\r\n\nb\n\n", "a~b", {0}},
    {"comments", "# x,y\na,b\n#\n# end", "a/b", {.comment = '#'}},
    {"tabs", "a\tb,c\td\n", "a/b,c/d", {0}},
    {"semicolons", "a;b;c\n1,5;2;3\n", "a/b/c~1,5/2/3", {0}},
    {"delimiter in quotes", "\"a;b;c\",d\n", "a;b;c/d", {0}},
    {"told delimiter", "a,b;c\n", "a,b/c", {.delimiter = ';'}},
    {"trimmed", " a , \"b, c\" ,\td\n", "a/b, c/d", {.trim = true}},
    {"quotes as characters", "\"a,b\"\n", "\"a/b\"", {.ignore_quotes = true}},
    {"UTF-16",
     "\xff\xfe"
     "a",
     "error: NL_FORMAT",
     {0}},
};

static void gives_cells(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        struct csvread counts;
        check_case(cases[i].name);
        read_all(&out, cases[i].in, strlen(cases[i].in), &cases[i].options, &counts);
        CHECK_TEXT(out.ptr ? out.ptr : "", cases[i].out);
        nl_buf_release(&out);
    }
}

static void counts_what_is_odd(void)
{
    struct nl_buf out;
    struct csvread counts;
    static const char text[] = "#c\na,b\n\n\"c,d\n";
    read_all(&out, text, strlen(text), &(struct csvread_options){.comment = '#'}, &counts);
    CHECK_INT(counts.rows, 2);
    CHECK_INT(counts.comments, 1);
    CHECK_INT(counts.blank_lines, 1);
    CHECK_INT(counts.loose_quotes, 1);
    CHECK_INT(counts.line, 4);
    CHECK_INT(counts.offset, 8);
    nl_buf_release(&out);
}

/* Rows that straddle windows, and rows longer than one. */
static void crosses_windows(void)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 27);
    enum { ROWS = 60000 };
    for (int i = 0; i < ROWS; i++)
        nl_buf_format(&text, "%d,\"void kernel<%d, \"\"x\"\">(float*, int)\",%d\r\n", i, i, i * 7);
    for (int i = 0; i < 3000000; i++)
        nl_buf_char(&text, 'x');
    nl_buf_text(&text, ",end\n");
    for (int i = 0; i < 20000000; i++)
        nl_buf_char(&text, 'y');
    nl_buf_text(&text, "\nlast,row\n");
    struct nl_stream *stream = nl_stream_memory(text.ptr, text.len, NULL);
    struct csvread csv;
    csvread_init(&csv, stream, NULL, NULL);
    int64_t bad = 0, value;
    char want[64];
    for (int i = 0; i < ROWS; i++) {
        snprintf(want, sizeof want, "void kernel<%d, \"x\">(float*, int)", i);
        REQUIRE(csvread_next(&csv, NULL) == CSVREAD_ROW);
        bad += csv.count != 3 || !csvread_i64(csv.cells[2], &value) || value != i * 7 ||
               !nl_str_is(csv.cells[1], want);
    }
    CHECK_INT(bad, 0);
    CHECK(csvread_next(&csv, NULL) == CSVREAD_ROW);
    CHECK_INT(csv.count, 2);
    CHECK_INT(csv.cells[0].len, 3000000);
    CHECK_INT(csv.line, ROWS + 1);
    CHECK(csvread_next(&csv, NULL) == CSVREAD_ROW);
    CHECK_STR(csv.cells[1], "row");
    CHECK_INT(csv.long_rows, 1);
    CHECK_INT(csv.line, ROWS + 3);
    CHECK(csvread_next(&csv, NULL) == CSVREAD_END);
    CHECK(csvread_next(&csv, NULL) == CSVREAD_END);
    csvread_release(&csv);
    nl_stream_close(stream);
    nl_buf_release(&text);
}

static void finds_columns(void)
{
    static const char text[] = "\"Start (ns)\", Duration ,power.draw [W],Name\n1,2,3,x\n4\n";
    struct nl_stream *stream = nl_stream_memory(text, strlen(text), NULL);
    struct csvread csv;
    csvread_init(&csv, stream, NULL, NULL);
    REQUIRE(csvread_header(&csv, NULL) == CSVREAD_ROW);
    CHECK_INT(csvread_column(&csv, "start"), 0);
    CHECK_INT(csvread_column(&csv, "Start (ns)"), 0);
    CHECK_INT(csvread_column(&csv, "dur|DURATION"), 1);
    CHECK_INT(csvread_column(&csv, "power.draw"), 2);
    CHECK_INT(csvread_column(&csv, "nam"), -1);
    CHECK_STR(csvread_unit(&csv, 0), "ns");
    CHECK_STR(csvread_unit(&csv, 2), "W");
    CHECK_INT(csvread_unit(&csv, 3).len, 0);
    REQUIRE(csvread_next(&csv, NULL) == CSVREAD_ROW);
    CHECK_STR(csvread_cell(&csv, 3), "x");
    REQUIRE(csvread_next(&csv, NULL) == CSVREAD_ROW);
    CHECK_INT(csvread_cell(&csv, 3).len, 0);
    CHECK_INT(csvread_cell(&csv, -1).len, 0);
    csvread_release(&csv);
    nl_stream_close(stream);
}

static void reads_numbers(void)
{
    int64_t i = -1;
    uint64_t u = 0;
    double f = 0;
    int power = -1;
    CHECK(csvread_scaled(nl_str("1.25"), 9, &i) && i == 1250000000);
    CHECK(csvread_scaled(nl_str("1679000000.123456789"), 9, &i) && i == 1679000000123456789);
    CHECK(csvread_scaled(nl_str(" 2.5e-3 "), 9, &i) && i == 2500000);
    CHECK(csvread_scaled(nl_str("7"), 0, &i) && i == 7);
    CHECK(csvread_scaled(nl_str("-0.5"), 0, &i) && i == -1);
    CHECK(!csvread_scaled(nl_str(""), 0, &i) && !csvread_scaled(nl_str("x"), 0, &i));
    CHECK(csvread_u64(nl_str("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!csvread_u64(nl_str("18446744073709551616"), &u));
    CHECK(csvread_u64(nl_str("0x7f9346387880"), &u) && u == 0x7f9346387880);
    CHECK(!csvread_u64(nl_str("-1"), &u) && !csvread_u64(nl_str("1f"), &u));
    CHECK(csvread_f64(nl_str(" 1.5 "), &f) && f == 1.5);
    CHECK(!csvread_f64(nl_str("1.5 W"), &f) && !csvread_f64(nl_str(""), &f));
    CHECK(csvread_time_unit(nl_str("ms"), &power) && power == 6);
    CHECK(csvread_time_unit(nl_str("usecond"), &power) && power == 3);
    CHECK(csvread_time_unit(nl_str("seconds"), &power) && power == 9);
    CHECK(!csvread_time_unit(nl_str("%"), &power) && !csvread_time_unit(nl_str("mss"), &power));
}

CHECK_MAIN("csvread", {"gives cells", gives_cells}, {"counts what is odd", counts_what_is_odd},
           {"crosses windows", crosses_windows}, {"finds columns", finds_columns},
           {"reads numbers", reads_numbers})
