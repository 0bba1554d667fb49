/*
 * Renderers on hand-made results: what comes out, letter by letter where it is a contract (json,
 * csv), by its traits where it is for eyes.
 */
#include "check.h"
#include "derive/derive.h"
#include "store/builder.h"
#include "view/celltext.h"
#include "view/grid.h"
#include "view/notes.h"
#include "view/view.h"

static const struct nl_result_column columns[] = {
    {"name", "kernel", NL_MEANS_TEXT},    {"count", NULL, NL_MEANS_COUNT},
    {"total_ns", "total", NL_MEANS_NS},   {"share", NULL, NL_MEANS_SHARE},
    {"median_ns", "median", NL_MEANS_NS}, {"bytes", NULL, NL_MEANS_BYTES},
};

static struct nl_result *sample(void)
{
    static const char *const names[] = {
        "void gemm<float, 128>(Params<float>)",
        "say \"hi\", twice\nand a very long tail of template arguments that no screen has room for",
        "\x1b[31mred\x1b[0m \xff | `x`"};
    struct nl_result *result =
        nl_result_new("kernels", "Kernels by total time", columns, CHECK_LENGTH(columns));
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_text(result, nl_str(names[i]));
        cells[1] = nl_cell_i64(1234567);
        cells[2] = nl_cell_i64(1500000 * (int64_t)(3 - i));
        cells[3] = nl_cell_f64((double)(3 - i) / 6);
        cells[4] = nl_cell_f64(12.5 * (double)(i + 1));
    }
    return result;
}

/* What a view writes, to be freed. */
static char *shown(const char *view, const struct nl_result *result,
                   const struct nl_view_options *options)
{
    char *text = NULL;
    size_t size = 0;
    struct nl_err err = {0};
    FILE *out = open_memstream(&text, &size);
    CHECK(nl_view_find(view)->render_result(out, NULL, result, options, &err));
    CHECK_TEXT(err.text, "");
    fclose(out);
    return text;
}

/* What is alike of several files is said once, with the sum. */
static void remarks_are_joined(void)
{
    static const struct nl_result_column row[] = {{"item", NULL, NL_MEANS_TEXT},
                                                  {"count", NULL, NL_MEANS_COUNT},
                                                  {"file", NULL, NL_MEANS_TEXT},
                                                  {"detail", NULL, NL_MEANS_TEXT}};
    static const struct {
        const char *item, *file, *detail;
        int64_t count;
    } rows[] = {{"cut", "a", "too deep", 2},
                {"lost", "a", "too fast", 5},
                {"cut", "b", "too deep", 3},
                {"cut", "c", "elsewhere", 7}};
    struct nl_result *coverage = nl_result_new("coverage", NULL, row, CHECK_LENGTH(row));
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_cell *cells = nl_result_row(coverage);
        cells[0] = nl_cell_text(coverage, nl_str(rows[i].item));
        cells[1] = nl_cell_i64(rows[i].count);
        cells[2] = nl_cell_text(coverage, nl_str(rows[i].file));
        cells[3] = nl_cell_text(coverage, nl_str(rows[i].detail));
    }
    struct nl_buf out;
    nl_buf_init(&out, 1 << 16);
    nl_notes_coverage(&out, coverage, 80, 0, 3);
    CHECK_TEXT(out.ptr, "• cut: 5 — too deep (2 files)\n"
                        "• lost: 5 — too fast (a)\n"
                        "• cut: 7 — elsewhere (c)\n");
    nl_buf_clear(&out);
    nl_notes_coverage(&out, coverage, 80, 1, 3);
    CHECK_TEXT(out.ptr, "• cut: 5 — too deep (2 files)\n  and 2 more\n");
    nl_buf_release(&out);
    nl_result_free(coverage);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        size_t width = nl_celltext_width((struct nl_str){text, len});
        widest = width > widest ? width : widest;
        text += len + (text[len] == '\n');
    }
    return widest;
}

static void writes_csv(void)
{
    const struct nl_view_options options = {0};
    struct nl_result *result = sample();
    char *text = shown("csv", result, &options);
    CHECK_TEXT(text,
               "name,count,total_ns,share,median_ns,bytes\n"
               "\"void gemm<float, 128>(Params<float>)\",1234567,4500000,0.5,13,\n"
               "\"say \"\"hi\"\", twice\nand a very long tail of template arguments that no screen "
               "has room for\",1234567,3000000,0.3333333333333333,25,\n"
               "\x1b[31mred\x1b[0m \xff | `x`,1234567,1500000,0.16666666666666666,38,\n");
    free(text);
    nl_result_free(result);
}

static void writes_json_objects(void)
{
    const struct nl_view_options options = {.compact = true};
    struct nl_result *result = sample();
    result->rows = 1;
    char *text = shown("json", result, &options);
    CHECK_TEXT(text,
               "{\"schema\":\"neurolens.kernels/"
               "1\",\"profile\":null,\"coverage\":null,\"result\":[{\"name\":\"void gemm<float, "
               "128>(Params<float>)\",\"count\":1234567,\"total_ns\":4500000,\"share\":0.5,"
               "\"median_ns\":13,\"bytes\":null}]}\n");
    free(text);
    nl_result_free(result);
}

static void writes_json_matrices(void)
{
    static const struct nl_result_column any[] = {{"n", NULL, NL_MEANS_ANY},
                                                  {"dur_ns", NULL, NL_MEANS_NS}};
    const struct nl_view_options options = {.compact = true, .matrix = true, .schema = "sql"};
    struct nl_result *result = nl_result_new("query", NULL, any, CHECK_LENGTH(any));
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_f64(0.1);
    cells[1] = nl_cell_f64(1.5);
    nl_result_row(result);
    result->truncated = true;
    char *text = shown("json", result, &options);
    CHECK_TEXT(text,
               "{\"schema\":\"neurolens.sql/"
               "1\",\"profile\":null,\"coverage\":null,\"result\":{\"columns\":[{\"name\":\"n\","
               "\"unit\":null},{\"name\":\"dur_ns\",\"unit\":\"ns\"}],\"rows\":[[0.1,1.5],"
               "[null,null]],\"truncated\":true}}\n");
    free(text);
    nl_result_free(result);
}

static void fits_tables_to_the_width(void)
{
    static const unsigned widths[] = {40, 60, 80, 100, 160};
    struct nl_result *result = sample();
    for (size_t i = 0; i < CHECK_LENGTH(widths); i++) {
        const struct nl_view_options options = {.width = widths[i]};
        char *text = shown("text", result, &options);
        CHECK(widest_line(text) <= widths[i]);
        CHECK(strstr(text, "…") != NULL || widths[i] == 160);
        CHECK(strchr(text, '\x1b') == NULL); /* no name drives the terminal */
        CHECK(strstr(text, "4.500 ms") != NULL && strstr(text, "50.0 %") != NULL);
        CHECK((strstr(text, "1,234,567") != NULL) ==
              (widths[i] > 40));              /* goes before what decides */
        CHECK(strstr(text, "bytes") == NULL); /* a column without a value */
        free(text);
    }
    nl_result_free(result);
}

static void says_what_it_left_out(void)
{
    const struct nl_view_options options = {.width = 44, .rows = 2};
    struct nl_result *result = sample();
    result->note = "sizes were not recorded";
    char *text = shown("text", result, &options);
    CHECK(strstr(text, "1 more rows") != NULL);
    CHECK(strstr(text, "hidden at this width") != NULL);
    CHECK(strstr(text, "sizes were not recorded") != NULL);
    free(text);
    const struct nl_view_options all = {.width = 200, .rows = 2, .all = true};
    text = shown("text", result, &all);
    CHECK(strstr(text, "more rows") == NULL);
    CHECK(strstr(text, "bytes") != NULL);
    free(text);
    nl_result_free(result);
}

static void colours_only_on_request(void)
{
    struct nl_result *result = sample();
    const struct nl_view_options options = {.color = true};
    char *text = shown("text", result, &options);
    CHECK(strstr(text, "\033[1mKernels by total time\033[0m") != NULL);
    free(text);
    nl_result_free(result);
}

/* Long names that differ only where they are cut are two names in Markdown, too. */
static void tells_cut_names_apart(void)
{
    static const struct nl_result_column only[] = {{"name", NULL, NL_MEANS_TEXT}};
    struct nl_result *result = nl_result_new("names", "Names", only, 1);
    struct nl_view_options options = {0};
    for (int i = 0; i < 2; i++) {
        char name[256];
        snprintf(name, sizeof name, "%0100d_%s_%080d", 0, i ? "AddFunctor" : "MulFunctor", 0);
        nl_result_row(result)[0] = nl_cell_text(result, nl_str(name));
    }
    char *text = shown("md", result, &options);
    CHECK(strstr(text, "AddFunctor"));
    CHECK(strstr(text, "MulFunctor"));
    free(text);
    nl_result_free(result);
}

static void escapes_markdown(void)
{
    const struct nl_view_options options = {0};
    struct nl_result *result = sample();
    char *text = shown("md", result, &options);
    CHECK(strstr(text, "## Kernels by total time\n") != NULL);
    CHECK(strstr(text, "| kernel | count | total | share | median | bytes |\n"
                       "|---|---:|---:|---:|---:|---:|\n") != NULL);
    CHECK(strstr(text, "void gemm&lt;float, 128&gt;(Params&lt;float&gt;)") != NULL);
    CHECK(strstr(text, "\\| \\`x\\`") != NULL);
    free(text);
    nl_result_free(result);
}

static void elides_the_middle(void)
{
    static const struct {
        const char *text;
        size_t width;
        const char *want;
    } cases[] = {
        {"short", 10, "short"},
        {"abcdefghij", 10, "abcdefghij"},
        {"abcdefghijk", 7, "abcd…jk"},
        {"äöüßäöüßäöü", 7, "äöüß…öü"},
        {"abc", 1, "…"},
        {"abc", 0, ""},
        {"日本語日本語", 7, "日本…語"},
        {"", 5, ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        check_case(cases[i].text);
        nl_buf_init(&out, 100);
        nl_celltext_elide(&out, nl_str(cases[i].text), cases[i].width);
        CHECK_TEXT(out.len ? out.ptr : "", cases[i].want);
        CHECK(nl_celltext_width((struct nl_str){out.ptr, out.len}) <= cases[i].width);
        nl_buf_release(&out);
    }
}

static void makes_text_safe(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain ä 日", "plain ä 日"},
        {"a\tb\nc", "a b c"},
        {"\x1b[2J", "\xEF\xBF\xBD[2J"},
        {"\xc2\x9b", "\xEF\xBF\xBD"},                             /* C1: CSI in one character */
        {"\xe2\x80\xae", "\xEF\xBF\xBD"},                         /* right-to-left override */
        {"\xd8\x9c", "\xEF\xBF\xBD"},                             /* Arabic letter mark */
        {"a\xc2\xad", "a\xEF\xBF\xBD"},                           /* soft hyphen */
        {"\xf3\xa0\x81\x81", "\xEF\xBF\xBD"},                     /* a tag */
        {"\xc0\xaf", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
        {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* surrogate */
        {"x\xe6\x97", "x\xEF\xBF\xBD\xEF\xBF\xBD"},               /* cut */
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 100);
        nl_celltext_safe(&out, nl_str(cases[i].text));
        CHECK_TEXT(out.ptr, cases[i].want);
        nl_buf_release(&out);
    }
}

static void draws_bars(void)
{
    static const struct {
        double share;
        const char *want;
    } cases[] = {{0, "    "},    {1, "████"},    {0.5, "██  "},
                 {0.28, "█▏  "}, {1e-9, "▏   "}, {7, "████"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 100);
        nl_grid_bar(&out, cases[i].share, 4, true);
        CHECK_TEXT(out.ptr, cases[i].want);
        nl_buf_release(&out);
    }
}

static void wraps_words(void)
{
    struct nl_buf out;
    nl_buf_init(&out, 200);
    nl_notes_wrap(&out, nl_str("• one two three averyveryverylongword four"), 12, 2);
    CHECK_TEXT(out.ptr, "• one two\n  three\n  averyveryverylongword\n  four\n");
    nl_buf_release(&out);
}

/* A profile with one kernel on each of two devices. */
static struct nl_trace *two_kernels(void)
{
    struct nl_err err = {0};
    struct nl_builder *builder = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(builder, "a|b.json", "kineto");
    uint32_t process = nl_builder_process(builder, source, 1);
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, source, 0);
    for (int64_t device = 0; device < 2; device++) {
        struct nl_lane_key key = {.kind = NL_LANE_STREAM,
                                  .process = process,
                                  .thread = NL_NULL_ROW,
                                  .device = nl_builder_device(builder, source, device, device),
                                  .context = 1,
                                  .stream = 7};
        struct nl_slice_row slice = nl_slice_row();
        slice.kind = NL_KIND_KERNEL;
        slice.lane = nl_builder_lane(builder, &key);
        slice.name = nl_stage_name(stage, nl_str("gemm"));
        slice.ts = 100 * device;
        slice.dur = 50;
        struct nl_kernel_row kernel = nl_kernel_row();
        kernel.slice = nl_stage_slice(stage, &slice);
        nl_stage_kernel(stage, &kernel);
    }
    nl_builder_coverage(builder, source, "bad escape", 3, "first at byte 17");
    return nl_builder_finish(builder, &err);
}

static char *shown_report(const struct nl_trace *trace, const char *view, const char *plan,
                          const struct nl_view_options *options, struct nl_err *err)
{
    const struct nl_analyze_options everything = {0};
    struct nl_report *report = nl_report_new(trace, plan, &everything, NULL, err);
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)!nl_view_find(view)->render_report(out, profile, report, options, err);
    fclose(out);
    nl_profile_free(profile);
    nl_report_free(report);
    return text;
}

static void renders_reports(void)
{
    const struct nl_view_options options = {0};
    struct nl_trace *trace = two_kernels();
    struct nl_err err = {0};
    char *text = shown_report(trace, "text", "analyze", &options, &err);
    CHECK(strncmp(text, "Too few events for a verdict: 2 events", 38) == 0);
    CHECK(strstr(text, "bad escape: 3 — first at byte 17") != NULL);
    CHECK(strstr(text, "compute ") != NULL);
    CHECK(widest_line(text) <= 100);
    free(text);
    text = shown_report(trace, "json", "analyze", &options, &err);
    static const char *const wanted[] = {"\"schema\": \"neurolens.analyze/1\"",
                                         "\"findings\": []",
                                         "\"abstained\": [",
                                         "launch_api_slow",
                                         "\"breakdown\": [",
                                         "\"kernels\": [",
                                         "\"copies\": []",
                                         "\"steps\": []",
                                         "\"coverage\": {",
                                         "\"item\":\"bad escape\",\"count\":3",
                                         "\"formats\": [",
                                         "\"duration_ns\": 150",
                                         "\"kernel\": 2"};
    for (size_t i = 0; i < CHECK_LENGTH(wanted); i++) {
        check_case(wanted[i]);
        CHECK(strstr(text, wanted[i]) != NULL);
    }
    free(text);
    text = shown_report(trace, "md", "info", &options, &err);
    CHECK(strstr(text, "# Contents\n") != NULL);
    CHECK(strstr(text, "a\\|b.json") != NULL);
    free(text);
    CHECK_TEXT(err.text, "");
    nl_trace_free(trace);
}

static void chooses_csv_sections(void)
{
    struct nl_trace *trace = two_kernels();
    struct nl_err err = {0};
    struct nl_view_options options = {0};
    char *text = shown_report(trace, "csv", "analyze", &options, &err);
    CHECK(strncmp(text, "name,class,category,count,", 26) == 0);
    free(text);
    options.section = "time_breakdown";
    text = shown_report(trace, "csv", "analyze", &options, &err);
    CHECK(strncmp(text, "rank,device,device_name,start_ns,wall_ns,", 41) == 0);
    free(text);
    CHECK_TEXT(err.text, "");
    options.section = "nonsense";
    text = shown_report(trace, "csv", "analyze", &options, &err);
    CHECK_TEXT(text, "");
    CHECK_INT(err.code, NL_USAGE);
    free(text);
    nl_trace_free(trace);
}

static void reports_write_errors(void)
{
    const struct nl_view_options options = {0};
    struct nl_result *result = sample();
    for (size_t i = 0; nl_views[i]; i++) {
        struct nl_err err = {0};
        FILE *full = fopen("/dev/full", "w");
        if (!full) {
            check_skip("no /dev/full");
            break;
        }
        check_case(nl_views[i]->name);
        CHECK(!nl_views[i]->render_result(full, NULL, result, &options, &err));
        CHECK_INT(err.code, NL_WRITE);
        fclose(full);
    }
    nl_result_free(result);
}

CHECK_MAIN("view", {"writes csv", writes_csv}, {"writes json objects", writes_json_objects},
           {"writes json matrices", writes_json_matrices},
           {"fits tables to the width", fits_tables_to_the_width},
           {"says what it left out", says_what_it_left_out},
           {"colours only on request", colours_only_on_request},
           {"escapes markdown", escapes_markdown}, {"tells cut names apart", tells_cut_names_apart},
           {"elides the middle", elides_the_middle}, {"makes text safe", makes_text_safe},
           {"draws bars", draws_bars}, {"wraps words", wraps_words},
           {"remarks are joined", remarks_are_joined}, {"renders reports", renders_reports},
           {"chooses csv sections", chooses_csv_sections},
           {"reports write errors", reports_write_errors})
