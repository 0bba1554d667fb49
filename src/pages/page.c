/* page — see page.h: the frame of the file, and which data go into which document. */
#include "pages/page.h"

#include "base/mem.h"
#include "pages/flame.h"
#include "pages/markup.h"
#include "pages/pagepart.h"
#include "view/viewfinish.h"
#include "view/palette.h"

#define MAX_ROWS       200
#define MAX_DRAWN_ROWS 1500

extern const char nl_page_script[], nl_page_style[]; /* web/dist, embedded by the build */

/* ---- frame ---- */

static void add_inks(struct nl_buf *style, const char *selector, bool dark)
{
    nl_buf_format(style, "%s{", selector);
    for (int i = 1; i < NL_INK_COUNT; i++)
        nl_buf_format(style, "--ink-%s:%s;", nl_inks[i].name,
                      dark ? nl_inks[i].dark : nl_inks[i].light);
    nl_buf_text(style, "}");
}

static void build_style(struct nl_buf *style)
{
    add_inks(style, ":root", false);
    nl_buf_text(style, "@media (prefers-color-scheme:dark){");
    add_inks(style, ":root:not([data-theme=light])", true);
    nl_buf_text(style, "}");
    add_inks(style, ":root[data-theme=dark]", true);
    nl_buf_text(style, "@media print{");
    add_inks(style, ":root:root:root", false); /* paper is white */
    nl_buf_text(style, "}");
    nl_buf_text(style, nl_page_style);
}

static bool put_head(FILE *out, const struct nl_page *page, struct nl_err *err)
{
    char script[NL_MARKUP_HASH], look[NL_MARKUP_HASH];
    struct nl_buf style;
    nl_buf_init(&style, (size_t)1 << 20);
    build_style(&style);
    bool done = nl_markup_hash(script, nl_page_script, strlen(nl_page_script), err) &&
                nl_markup_hash(look, style.ptr, style.len, err);
    if (done) {
        fprintf(out,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; "
                "form-action 'none'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"generator\" content=\"NeuroLens " NL_VERSION "\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>",
                script, look);
        nl_markup_html(out, nl_str(page->title));
        fprintf(out, " · NeuroLens</title>\n<style>%s</style>\n</head>\n<body>\n", style.ptr);
    }
    nl_buf_release(&style);
    return done;
}

static bool put_tail(FILE *out, struct nl_err *err)
{
    fprintf(out, "<script>%s</script>\n</body></html>\n", nl_page_script);
    return nl_view_finish(out, err);
}

/* ---- the answer as plain HTML ---- */

static void put_html_text(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    nl_markup_html(out, nl_str(text));
    fputs(after, out);
}

static void put_finding(FILE *out, const struct nl_finding *finding)
{
    put_html_text(out, "<li><p><strong>", finding->title, "</strong></p><ul>");
    for (size_t i = 0; i < finding->evidence_count; i++)
        put_html_text(out, "<li>", finding->evidence[i].says, "</li>");
    fputs("</ul><ol>", out);
    for (const struct nl_suggestion *next = finding->suggestions; next && next->action; next++)
        put_html_text(out, "<li>", next->action, "</li>");
    fputs("</ol></li>\n", out);
}

static void put_plain(FILE *out, const struct nl_page *page, const struct nl_report *report)
{
    put_html_text(out, "<main id=\"app\"><h1>", page->title, "</h1>\n");
    if (page->template && page->template->front)
        put_html_text(out, "<p>", page->template->front, "</p>\n");
    for (size_t i = 0; report && i < report->headline_count; i++)
        put_html_text(out, "<p>", report->headlines[i], "</p>\n");
    if (report && report->findings && report->findings->count) {
        fputs("<h2>Findings</h2><ol>\n", out);
        for (size_t i = 0; i < report->findings->count; i++)
            put_finding(out, &report->findings->items[i]);
        fputs("</ol>\n", out);
    }
    fputs("<noscript><p>Tables and pictures need scripts, which this browser does not run.</p>"
          "</noscript></main>\n",
          out);
}

/* ---- documents ---- */

const char *nl_page_meaning(enum nl_meaning meaning)
{
    static const char *const words[] = {
        [NL_MEANS_TEXT] = NULL,
        [NL_MEANS_INTEGER] = "id",
        [NL_MEANS_COUNT] = "count",
        [NL_MEANS_NS] = "ns",
        [NL_MEANS_BYTES] = "bytes",
        [NL_MEANS_SHARE] = "share",
        [NL_MEANS_NUMBER] = "number",
        [NL_MEANS_RATE] = "bytes/s",
        [NL_MEANS_HERTZ] = "Hz",
        [NL_MEANS_FLOPS] = "FLOP/s",
        [NL_MEANS_WEIGHT] = "weight",
        [NL_MEANS_UNIT] = "unit",
        [NL_MEANS_ANY] = NULL,
        [NL_MEANS_CHANGE_NS] = "change_ns",
        [NL_MEANS_CHANGE_SHARE] = "change_share",
    };
    return (size_t)meaning < sizeof words / sizeof *words ? words[meaning] : NULL;
}

/* Opens a JSON document inside the page. */
static FILE *begin_document(FILE *out, const char *id, struct nl_json *json, struct nl_err *err)
{
    fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
    FILE *stream = nl_markup_json(out, err);
    if (stream)
        nl_json_to_stream(json, stream, 0);
    return stream;
}

static bool end_document(FILE *out, FILE *stream, struct nl_err *err)
{
    bool done = fclose(stream) == 0;
    fputs("</script>\n", out);
    return done || nl_fail(err, NL_WRITE, "the page could not be written");
}

static bool put_answer(FILE *out, const struct nl_profile *profile, const struct nl_report *report,
                       const struct nl_view_options *options, struct nl_err *err)
{
    struct nl_json json;
    struct nl_view_options compact = *options;
    FILE *stream = begin_document(out, "answer", &json, err);
    if (!stream)
        return false;
    compact.compact = true;
    bool done = nl_view_json.render_report(stream, profile, report, &compact, err);
    return end_document(out, stream, err) && done;
}

/* What the answer's JSON does not say about its tables: headings, meanings, notes. `rows` are
 * those of the whole results. */
static void put_sections(struct nl_json *json, const struct nl_report *report, const size_t *rows)
{
    nl_json_key(json, "sections");
    nl_json_open(json, '[');
    for (size_t i = 0; i < report->result_count; i++) {
        const struct nl_result *result = report->results[i];
        nl_json_open(json, '{');
        nl_json_put_text(json, "name", result->name);
        nl_json_put_text(json, "title", result->title);
        nl_json_put_text(json, "note", result->note);
        nl_json_put_u64(json, "rows", rows[i], true);
        nl_json_key(json, "columns");
        nl_json_open(json, '[');
        for (size_t column = 0; column < result->column_count; column++) {
            nl_json_open(json, '{');
            nl_json_put_text(json, "name", result->columns[column].name);
            nl_json_put_text(json, "head", result->columns[column].head);
            nl_json_put_text(json, "meaning", nl_page_meaning(result->columns[column].meaning));
            nl_json_close(json, '}');
        }
        nl_json_close(json, ']');
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

static void put_about(struct nl_json *json, const struct nl_page *page)
{
    nl_json_open(json, '{');
    nl_json_put_text(json, "schema", "neurolens.page/1");
    nl_json_put_text(json, "kind", page->kind);
    nl_json_put_text(json, "title", page->title);
    nl_json_put_text(json, "version", NL_VERSION);
    nl_json_put_text(json, "command", page->command);
}

/* "own": what the user's template adds. */
static void put_template(struct nl_json *json, const struct nl_template *template,
                         const struct nl_report *report)
{
    nl_json_key(json, "own");
    nl_json_open(json, '{');
    nl_json_put_text(json, "logo", template->logo);
    nl_json_put_text(json, "front", template->front);
    nl_json_key(json, "hide");
    nl_json_open(json, '[');
    for (size_t i = 0; i < template->hide_count; i++)
        nl_json_text(json, template->hide[i]);
    nl_json_close(json, ']');
    nl_json_key(json, "sections");
    nl_json_open(json, '[');
    for (size_t i = 0; i < report->result_count; i++) {
        const struct nl_template_section *section =
            nl_template_section(template, report->results[i]);
        if (!section)
            continue;
        nl_json_open(json, '{');
        nl_json_put_text(json, "name", report->results[i]->name);
        nl_json_put_text(json, "text", section->text);
        nl_json_put_text(json, "draw", section->bars ? "bars" : "table");
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

static void put_flames(struct nl_json *json, const struct nl_page_source *source)
{
    nl_json_key(json, "flames");
    nl_json_open(json, '[');
    for (const struct nl_flame_source *each = nl_flame_sources; each->name; each++) {
        struct nl_flame flame;
        if (!each->has(source->trace))
            continue;
        nl_flame_init(&flame, each);
        nl_flame_add(&flame, source->trace, source->window, false);
        nl_flame_finish(&flame);
        if (flame.nodes[0].total > 0)
            nl_flame_json(json, &flame);
        nl_flame_release(&flame);
    }
    nl_json_close(json, ']');
}

/* The report with tables cut to what a page shows; what it holds is borrowed. `rows`
 * gets how many rows they had. */
struct shorter {
    struct nl_report report;
    struct nl_result *results, **places;
    size_t *rows;
};

/* Tables whose rows are drawn, and add up. */
static bool is_drawn(const char *name)
{
    return !strcmp(name, "step_breakdown") || !strcmp(name, "account") ||
           !strcmp(name, "attribution");
}

static void cut_tables(struct shorter *shorter, const struct nl_report *report)
{
    size_t count = report->result_count;
    *shorter = (struct shorter){.report = *report,
                                .results = nl_alloc((count + 1) * sizeof *shorter->results),
                                .places = nl_alloc((count + 1) * sizeof *shorter->places),
                                .rows = nl_alloc((count + 1) * sizeof *shorter->rows)};
    shorter->report.results = shorter->places;
    for (size_t i = 0; i < count; i++) {
        struct nl_result *result = &shorter->results[i];
        size_t most = is_drawn(report->results[i]->name) ? MAX_DRAWN_ROWS : MAX_ROWS;
        *result = *report->results[i];
        shorter->places[i] = result;
        shorter->rows[i] = result->rows;
        if (result->rows > most) {
            result->rows = most;
            result->truncated = true;
        }
    }
}

static void shorter_release(struct shorter *shorter)
{
    nl_free(shorter->results);
    nl_free(shorter->places);
    nl_free(shorter->rows);
}

static void put_contents(struct nl_json *json, const struct nl_trace *trace)
{
    struct nl_contents contents = nl_contents_of(trace);
    nl_json_key(json, "contents");
    nl_json_open(json, '{');
    nl_json_put_u64(json, "count", contents.count, true);
    nl_json_put_text(json, "what", contents.count == 1 ? contents.one : contents.many);
    nl_json_key(json, "slices");
    nl_json_bool(json, contents.slices);
    nl_json_put_i64(json, "span_ns", contents.span_ns, true);
    nl_json_close(json, '}');
}

/* `source` has `sides` places: one profile, two that are compared, or none. */
static bool put_pictures(FILE *out, const struct nl_page *page, const struct nl_page_source *source,
                         unsigned sides, const struct nl_report *report, const size_t *rows,
                         struct nl_err *err)
{
    struct nl_json json;
    FILE *stream = begin_document(out, "page", &json, err);
    if (!stream)
        return false;
    put_about(&json, page);
    put_sections(&json, report, rows);
    if (page->template)
        put_template(&json, page->template, report);
    if (sides == 2)
        nl_page_pair(&json, source);
    if (sides == 1) {
        put_contents(&json, source->trace);
        nl_page_timeline(&json, source);
        nl_page_steps(&json, source);
        nl_page_busy(&json, source);
        nl_page_kernels(&json, source);
        nl_page_memory(&json, source);
        nl_page_counters(&json, source);
        put_flames(&json, source);
    }
    nl_json_close(&json, '}');
    return end_document(out, stream, err);
}

static bool put_page(FILE *out, const struct nl_page *page, const struct nl_page_source *source,
                     unsigned sides, const struct nl_profile *profile,
                     const struct nl_report *report, const struct nl_view_options *options,
                     struct nl_err *err)
{
    struct shorter shorter;
    if (!put_head(out, page, err))
        return false;
    cut_tables(&shorter, report);
    put_plain(out, page, report);
    bool done = put_answer(out, profile, &shorter.report, options, err) &&
                put_pictures(out, page, source, sides, &shorter.report, shorter.rows, err) &&
                put_tail(out, err);
    shorter_release(&shorter);
    return done;
}

bool nl_page_report(FILE *out, const struct nl_page *page, const struct nl_trace *trace,
                    const struct nl_profile *profile, const struct nl_report *report,
                    struct nl_err *err)
{
    struct nl_view_options options = {.input = page->input, .bare = page->bare};
    struct nl_page_source source = {
        .trace = trace, .window = &profile->window, .memo = nl_memo_new(trace, &profile->window)};
    bool done = put_page(out, page, &source, 1, profile, report, &options, err);
    nl_memo_free(source.memo);
    return done;
}

bool nl_page_diff(FILE *out, const struct nl_page *page, const struct nl_trace *const traces[2],
                  const struct nl_profile *profile, const struct nl_report *report,
                  const struct nl_view_options *options, struct nl_err *err)
{
    const struct nl_window *windows[2] = {&options->base->window, &profile->window};
    struct nl_page_source sides[2];
    for (int i = 0; i < 2; i++)
        sides[i] = (struct nl_page_source){
            .trace = traces[i], .window = windows[i], .memo = nl_memo_new(traces[i], windows[i])};
    bool done = put_page(out, page, sides, 2, profile, report, options, err);
    for (int i = 0; i < 2; i++)
        nl_memo_free(sides[i].memo);
    return done;
}

bool nl_page_tables(FILE *out, const struct nl_page *page, const struct nl_report *report,
                    struct nl_err *err)
{
    struct nl_view_options options = {0};
    return put_page(out, page, NULL, 0, NULL, report, &options, err);
}

static bool render_report(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct nl_page page = {.kind = "tables", .title = report->title};
    return put_page(out, &page, NULL, 0, profile, report, options, err);
}

static bool render_result(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct nl_result copy = *result, *results[] = {&copy};
    struct nl_report report = {.name = options->schema ? options->schema : result->name,
                               .title = result->title ? result->title : result->name,
                               .results = results,
                               .result_count = 1};
    return render_report(out, profile, &report, options, err);
}

const struct nl_view nl_view_html = {
    .name = "html",
    .folds = true,
    .render_result = render_result,
    .render_report = render_report,
    .doc = "a page: tables to sort and filter",
};

bool nl_page_flame(FILE *out, const struct nl_page *page, const struct nl_flame *flame,
                   struct nl_err *err)
{
    struct nl_json json;
    if (!put_head(out, page, err))
        return false;
    put_plain(out, page, NULL);
    FILE *stream = begin_document(out, "page", &json, err);
    if (!stream)
        return false;
    put_about(&json, page);
    nl_json_key(&json, "flames");
    nl_json_open(&json, '[');
    nl_flame_json(&json, flame);
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    return end_document(out, stream, err) && put_tail(out, err);
}
