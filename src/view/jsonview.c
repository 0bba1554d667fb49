/*
 * jsonview — answers as one JSON object, the contract of the command line:
 * {"schema", "profile", "coverage", "result"}.
 */
#include "base/json.h"
#include "view/celltext.h"
#include "view/findings.h"
#include "view/viewfinish.h"
#include "view/jsonview.h"
#include "view/view.h"

static const char *const unit_names[] = {
    [NL_MEANS_TEXT] = NULL,      [NL_MEANS_INTEGER] = NULL,         [NL_MEANS_COUNT] = "count",
    [NL_MEANS_NS] = "ns",        [NL_MEANS_BYTES] = "bytes",        [NL_MEANS_SHARE] = "share",
    [NL_MEANS_NUMBER] = NULL,    [NL_MEANS_RATE] = "bytes/s",       [NL_MEANS_ANY] = NULL,
    [NL_MEANS_CHANGE_NS] = "ns", [NL_MEANS_CHANGE_SHARE] = "share", [NL_MEANS_FLOPS] = "FLOP/s",
};

const char *nl_view_unit(enum nl_meaning meaning)
{
    return (size_t)meaning < sizeof unit_names / sizeof *unit_names ? unit_names[meaning] : NULL;
}

static void put_cell(struct nl_json *json, struct nl_cell cell)
{
    switch (cell.type) {
    case NL_CELL_NULL: nl_json_null(json); break;
    case NL_CELL_I64: nl_json_i64(json, cell.i64); break;
    case NL_CELL_F64: nl_json_f64(json, cell.f64); break;
    case NL_CELL_TEXT: nl_json_str(json, cell.text); break;
    }
}

/* A row goes on one line; returns the indent to restore after closing it. */
static int open_row(struct nl_json *json, char bracket)
{
    int indent = json->indent;
    nl_json_open(json, bracket);
    json->indent = 0;
    return indent;
}

static void put_objects(struct nl_json *json, const struct nl_result *result)
{
    nl_json_open(json, '[');
    for (size_t row = 0; row < result->rows; row++) {
        int indent = open_row(json, '{');
        for (size_t column = 0; column < result->column_count; column++) {
            nl_json_key(json, result->columns[column].name);
            put_cell(json, nl_celltext_exact(&result->columns[column],
                                             *nl_result_cell(result, row, column)));
        }
        nl_json_close(json, '}');
        json->indent = indent;
    }
    nl_json_close(json, ']');
}

static void put_matrix(struct nl_json *json, const struct nl_result *result)
{
    nl_json_open(json, '{');
    nl_json_key(json, "columns");
    nl_json_open(json, '[');
    for (size_t column = 0; column < result->column_count; column++) {
        nl_json_open(json, '{');
        nl_json_key(json, "name");
        nl_json_text(json, result->columns[column].name);
        nl_json_key(json, "unit");
        nl_json_text(json, nl_view_unit(result->columns[column].meaning));
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_key(json, "rows");
    nl_json_open(json, '[');
    for (size_t row = 0; row < result->rows; row++) {
        int indent = open_row(json, '[');
        for (size_t column = 0; column < result->column_count; column++)
            put_cell(json, *nl_result_cell(result, row, column));
        nl_json_close(json, ']');
        json->indent = indent;
    }
    nl_json_close(json, ']');
    nl_json_key(json, "truncated");
    nl_json_bool(json, result->truncated);
    nl_json_close(json, '}');
}

static void put_i64(struct nl_json *json, const char *key, int64_t value)
{
    nl_json_key(json, key);
    nl_json_i64(json, value);
}

static void put_texts(struct nl_json *json, const char *key, const char *const *texts, size_t count)
{
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        nl_json_text(json, texts[i]);
    nl_json_close(json, ']');
}

static void put_window(struct nl_json *json, const struct nl_profile *profile)
{
    const struct nl_window *window = &profile->window;
    nl_json_key(json, "window");
    if (!window->has_time && !window->has_rank && !window->has_device) {
        nl_json_null(json);
        return;
    }
    nl_json_open(json, '{');
    if (window->has_time) {
        put_i64(json, "start_ns", profile->window_start_ns);
        put_i64(json, "end_ns", profile->window_end_ns);
    }
    if (window->has_rank)
        put_i64(json, "rank", window->rank);
    if (window->has_device)
        put_i64(json, "device", window->device);
    nl_json_close(json, '}');
}

/* {"kernel": 123, ...} from the rows of `events`. */
static void put_events(struct nl_json *json, const struct nl_result *events)
{
    nl_json_key(json, "events");
    nl_json_open(json, '{');
    for (size_t row = 0; row < events->rows; row++) {
        struct nl_str kind = nl_result_cell(events, row, 0)->text;
        nl_json_key(json, kind.ptr); /* names of kinds and tables are static and end in NUL */
        put_cell(json, *nl_result_cell(events, row, 1));
    }
    nl_json_close(json, '}');
}

static void put_profile(struct nl_json *json, const struct nl_profile *profile)
{
    nl_json_key(json, "profile");
    nl_json_open(json, '{');
    nl_json_key(json, "files");
    put_objects(json, profile->files);
    put_texts(json, "formats", profile->formats, profile->format_count);
    put_texts(json, "tools", profile->tools, profile->tool_count);
    nl_json_key(json, "ranks");
    nl_json_open(json, '[');
    for (size_t i = 0; i < profile->rank_count; i++)
        nl_json_i64(json, profile->ranks[i]);
    nl_json_close(json, ']');
    nl_json_key(json, "devices");
    put_objects(json, profile->devices);
    put_i64(json, "processes", profile->processes);
    put_i64(json, "threads", profile->threads);
    put_i64(json, "first_ns", profile->first_ns);
    put_i64(json, "last_ns", profile->last_ns);
    put_i64(json, "duration_ns", profile->duration_ns);
    put_i64(json, "slices", (int64_t)profile->slices);
    put_events(json, profile->events);
    put_window(json, profile);
    nl_json_close(json, '}');
    nl_json_key(json, "coverage");
    nl_json_open(json, '{');
    nl_json_key(json, "items");
    put_objects(json, profile->coverage);
    nl_json_close(json, '}');
}

static void put_no_profile(struct nl_json *json)
{
    nl_json_key(json, "profile");
    nl_json_null(json);
    nl_json_key(json, "coverage");
    nl_json_null(json);
}

void nl_view_json_begin(struct nl_json *json, FILE *out, const char *schema)
{
    nl_json_to_stream(json, out, 2);
    nl_json_open(json, '{');
    nl_json_key(json, "schema");
    nl_json_text(json, schema);
    put_no_profile(json);
    nl_json_key(json, "result");
}

/* Opens the envelope up to and including the key "result". */
static void begin_envelope(struct nl_json *json, FILE *out, const char *name,
                           const struct nl_profile *profile, const struct nl_view_options *options)
{
    char schema[128];
    nl_json_to_stream(json, out, options->compact ? 0 : 2);
    nl_json_open(json, '{');
    nl_json_key(json, "schema");
    snprintf(schema, sizeof schema, "neurolens.%s/1", options->schema ? options->schema : name);
    nl_json_text(json, schema);
    if (profile) {
        put_profile(json, profile);
    } else {
        put_no_profile(json);
    }
    if (options->base) {
        nl_json_key(json, "base");
        nl_json_open(json, '{');
        put_profile(json, options->base);
        nl_json_close(json, '}');
    }
    nl_json_key(json, "result");
}

static bool end(struct nl_json *json, FILE *out, struct nl_err *err)
{
    nl_json_close(json, '}');
    if (!json->indent)
        putc('\n', out);
    return nl_view_finish(out, err);
}

static bool render_result(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct nl_json json;
    begin_envelope(&json, out, result->name, profile, options);
    if (options->matrix)
        put_matrix(&json, result);
    else
        put_objects(&json, result);
    return end(&json, out, err);
}

static void put_answer(struct nl_json *json, const struct nl_verdict_words *verdict)
{
    nl_json_key(json, "answer");
    nl_json_open(json, '{');
    nl_json_put_text(json, "class", nl_verdict_class_name(verdict->class));
    nl_json_put_text(json, "sentence", verdict->sentence);
    nl_json_put_text(json, "culprit", verdict->culprit);
    nl_json_put_i64(json, "saving_ns", verdict->saving_ns, verdict->saving_ns != INT64_MIN);
    nl_json_put_i64(json, "saving_ns_per_step", verdict->saving_ns_per_step,
                    verdict->saving_ns_per_step != INT64_MIN);
    nl_json_put_text(json, "phase", verdict->phase);
    nl_json_put_text(json, "whole", verdict->whole);
    nl_json_put_i64(json, "whole_ns", verdict->whole_ns, verdict->whole != NULL);
    put_texts(json, "notes", verdict->notes, verdict->note_count);
    nl_json_close(json, '}');
}

static bool render_report(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err)
{
    struct nl_json json;
    begin_envelope(&json, out, report->name, profile, options);
    nl_json_open(&json, '{');
    put_texts(&json, "headline", report->headlines, report->headline_count);
    if (report->verdict)
        put_answer(&json, report->verdict);
    if (report->findings)
        nl_findings_json(&json, report->findings, options);
    for (size_t i = 0; i < report->result_count; i++) {
        nl_json_key(&json, report->results[i]->name);
        put_objects(&json, report->results[i]);
    }
    nl_json_key(&json, "truncated");
    nl_json_open(&json, '[');
    for (size_t i = 0; i < report->result_count; i++)
        if (report->results[i]->truncated)
            nl_json_text(&json, report->results[i]->name);
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    return end(&json, out, err);
}

const struct nl_view nl_view_json = {
    .name = "json",
    .render_result = render_result,
    .render_report = render_report,
    .doc = "one object {schema, profile, coverage, result}; times in integer ns",
};
