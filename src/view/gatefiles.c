/* See gatefiles.h. */
#include "view/gatefiles.h"

#include <math.h>

#include "base/json.h"
#include "base/sum.h"
#include "base/units.h"
#include "tables/lookup.h"

#define CAUSES_SHOWN 3
#define ROWS_SHOWN   15

/* ---- texts ---- */

/* Text of XML: marks escaped, control characters left out. */
static void put_xml(struct nl_buf *out, struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *as = c == '<'   ? "&lt;"
                         : c == '>' ? "&gt;"
                         : c == '&' ? "&amp;"
                         : c == '"' ? "&quot;"
                                    : NULL;
        if (as)
            nl_buf_text(out, as);
        else if ((unsigned char)c >= 32 || c == '\n' || c == '\t')
            nl_buf_char(out, c);
    }
}

/* Text of a Markdown cell: no bars, no line ends, no tags. */
static void put_md(struct nl_buf *out, struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_')
            nl_buf_char(out, '\\');
        if (c == '<')
            nl_buf_text(out, "&lt;");
        else
            nl_buf_char(out, c == '\n' || c == '\r' ? ' ' : c);
    }
}

static void put_value(struct nl_buf *out, const struct nl_result *rules, size_t row,
                      const char *column)
{
    char text[NL_UNIT_TEXT];
    double value = nl_lookup_f64(rules, row, column);
    struct nl_str unit = nl_lookup_text(rules, row, "unit");
    if (isnan(value))
        nl_buf_text(out, "unknown");
    else if (nl_str_is(unit, "ns"))
        nl_buf_text(out, nl_format_ns(text, nl_whole_i64(value)));
    else if (nl_str_is(unit, "bytes"))
        nl_buf_text(out, nl_format_bytes(text, nl_whole_u64(value)));
    else if (nl_str_is(unit, "share"))
        nl_buf_text(out, nl_format_percent(text, value));
    else
        nl_buf_format(out, "%.6g", value);
}

static void put_change(struct nl_buf *out, const struct nl_result *rules, size_t row)
{
    char text[NL_UNIT_TEXT];
    double change = nl_lookup_f64(rules, row, "change_share");
    double low = nl_lookup_f64(rules, row, "change_low_share"),
           high = nl_lookup_f64(rules, row, "change_high_share");
    if (isnan(change))
        return;
    nl_buf_format(out, "%s%s", change > 0 ? "+" : "", nl_format_percent(text, change));
    if (isnan(low))
        return;
    nl_buf_format(out, " (%s%s", low > 0 ? "+" : "", nl_format_percent(text, low));
    nl_buf_format(out, " to %s%s)", high > 0 ? "+" : "", nl_format_percent(text, high));
}

/* "4.97 ms → 5.22 ms, +5.0 % (+3.1 % to +7.0 %), allowed +2.0 %; why" */
static void put_rule(struct nl_buf *out, const struct nl_result *rules, size_t row)
{
    struct nl_str limit = nl_lookup_text(rules, row, "limit"),
                  why = nl_lookup_text(rules, row, "why");
    if (!isnan(nl_lookup_f64(rules, row, "base"))) {
        put_value(out, rules, row, "base");
        nl_buf_text(out, " → ");
    }
    put_value(out, rules, row, "new");
    nl_buf_text(out, ", ");
    size_t before = out->len;
    put_change(out, rules, row);
    nl_buf_format(out, "%sallowed %.*s", out->len > before ? ", " : "", (int)limit.len, limit.ptr);
    if (why.len)
        nl_buf_format(out, "; %.*s", (int)why.len, why.ptr);
}

static bool is(const struct nl_result *rules, size_t row, const char *status)
{
    return nl_str_is(nl_lookup_text(rules, row, "status"), status);
}

/* ---- JUnit ---- */

static void put_case(struct nl_buf *out, const struct nl_report *report,
                     const struct nl_result *rules, size_t row)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 16);
    put_rule(&text, rules, row);
    struct nl_str said = {text.ptr, text.len};
    nl_buf_text(out, "    <testcase classname=\"neurolens.check\" name=\"");
    put_xml(out, nl_lookup_text(rules, row, "rule"));
    nl_buf_text(out, "\" time=\"0\">\n");
    if (is(rules, row, "fail")) {
        nl_buf_text(out, "      <failure type=\"regression\" message=\"");
        put_xml(out, said);
        nl_buf_text(out, "\">");
        for (size_t i = 0; i < report->headline_count; i++) {
            put_xml(out, nl_str(report->headlines[i]));
            nl_buf_char(out, '\n');
        }
        nl_buf_text(out, "</failure>\n");
    } else if (!is(rules, row, "pass")) {
        nl_buf_text(out, "      <skipped message=\"");
        put_xml(out, said);
        nl_buf_text(out, "\"/>\n");
    } else {
        nl_buf_text(out, "      <system-out>");
        put_xml(out, said);
        nl_buf_text(out, "</system-out>\n");
    }
    nl_buf_text(out, "    </testcase>\n");
    nl_buf_release(&text);
}

void nl_gate_junit(struct nl_buf *out, const struct nl_report *report)
{
    const struct nl_result *rules = nl_report_result(report, "rules");
    size_t failed = 0, skipped = 0;
    for (size_t i = 0; i < rules->rows; i++) {
        failed += is(rules, i, "fail");
        skipped += !is(rules, i, "fail") && !is(rules, i, "pass");
    }
    nl_buf_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    nl_buf_format(out,
                  "  <testsuite name=\"neurolens check\" tests=\"%zu\" failures=\"%zu\" "
                  "errors=\"0\" skipped=\"%zu\" time=\"0\">\n",
                  rules->rows, failed, skipped);
    for (size_t i = 0; i < rules->rows; i++)
        put_case(out, report, rules, i);
    nl_buf_text(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- SARIF ---- */

static void put_message(struct nl_json *json, const char *key, const char *text, size_t len)
{
    nl_json_key(json, key);
    nl_json_open(json, '{');
    nl_json_key(json, "text");
    nl_json_str(json, (struct nl_str){text, len});
    nl_json_close(json, '}');
}

static void put_sarif_rules(struct nl_json *json, const struct nl_result *rules)
{
    nl_json_key(json, "rules");
    nl_json_open(json, '[');
    for (size_t i = 0; i < rules->rows; i++) {
        struct nl_str rule = nl_lookup_text(rules, i, "rule");
        nl_json_open(json, '{');
        nl_json_key(json, "id");
        nl_json_str(json, rule);
        put_message(json, "shortDescription", rule.ptr, rule.len);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

/* SARIF wants a place; a performance result has none but the rules that asked for it. */
static void put_location(struct nl_json *json, const char *file)
{
    nl_json_key(json, "locations");
    nl_json_open(json, '[');
    nl_json_open(json, '{');
    nl_json_key(json, "physicalLocation");
    nl_json_open(json, '{');
    nl_json_key(json, "artifactLocation");
    nl_json_open(json, '{');
    nl_json_put_text(json, "uri", file);
    nl_json_close(json, '}');
    nl_json_key(json, "region");
    nl_json_open(json, '{');
    nl_json_put_u64(json, "startLine", 1, true);
    nl_json_close(json, '}');
    nl_json_close(json, '}');
    nl_json_close(json, '}');
    nl_json_close(json, ']');
}

static void put_sarif_result(struct nl_json *json, const struct nl_result *rules, size_t row,
                             const char *file)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 16);
    struct nl_str metric = nl_lookup_text(rules, row, "metric");
    nl_buf_format(&text, "%.*s: ", (int)metric.len, metric.ptr);
    put_rule(&text, rules, row);
    nl_json_open(json, '{');
    nl_json_key(json, "ruleId");
    nl_json_str(json, nl_lookup_text(rules, row, "rule"));
    nl_json_put_u64(json, "ruleIndex", row, true);
    nl_json_put_text(json, "level", is(rules, row, "fail") ? "error" : "note");
    put_message(json, "message", text.ptr, text.len);
    put_location(json, file);
    nl_json_close(json, '}');
    nl_buf_release(&text);
}

void nl_gate_sarif(struct nl_buf *out, const struct nl_report *report, const char *rules_file)
{
    const struct nl_result *rules = nl_report_result(report, "rules");
    struct nl_json json;
    nl_json_to_buf(&json, out, 2);
    nl_json_open(&json, '{');
    nl_json_put_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    nl_json_put_text(&json, "version", "2.1.0");
    nl_json_key(&json, "runs");
    nl_json_open(&json, '[');
    nl_json_open(&json, '{');
    nl_json_key(&json, "tool");
    nl_json_open(&json, '{');
    nl_json_key(&json, "driver");
    nl_json_open(&json, '{');
    nl_json_put_text(&json, "name", "neurolens check");
    put_sarif_rules(&json, rules);
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
    nl_json_key(&json, "results");
    nl_json_open(&json, '[');
    for (size_t i = 0; i < rules->rows; i++)
        if (!is(rules, i, "pass"))
            put_sarif_result(&json, rules, i, rules_file);
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    nl_buf_char(out, '\n');
}

/* ---- Markdown ---- */

static void put_causes(struct nl_buf *out, const struct nl_result *rows)
{
    char text[NL_UNIT_TEXT];
    size_t said = 0;
    for (size_t i = 0; rows && i < rows->rows && said < CAUSES_SHOWN; i++) {
        int64_t change = nl_lookup_i64(rows, i, "change_ns");
        if (!change || change == INT64_MIN ||
            nl_str_is(nl_lookup_text(rows, i, "beyond_noise"), "no"))
            continue;
        nl_buf_text(out, said++ ? "\n- " : "\n**Causes**\n\n- ");
        put_md(out, nl_lookup_text(rows, i, "name"));
        struct nl_str match = nl_lookup_text(rows, i, "match");
        if (!nl_str_is(match, "same"))
            nl_buf_format(out, " (%.*s)", (int)match.len, match.ptr);
        nl_buf_format(out, ": %s%s per step", change > 0 ? "+" : "", nl_format_ns(text, change));
    }
    if (said)
        nl_buf_char(out, '\n');
}

/* Budgets alone have none. */
static bool has_baseline(const struct nl_result *rules)
{
    for (size_t i = 0; i < rules->rows; i++)
        if (!isnan(nl_lookup_f64(rules, i, "base")))
            return true;
    return false;
}

static void put_rules_md(struct nl_buf *out, const struct nl_result *rules)
{
    bool alone = !has_baseline(rules);
    nl_buf_text(out, alone ? "\n| | rule | value | allowed |\n|---|---|---|---|\n"
                           : "\n| | rule | baseline | new | change | allowed |\n"
                             "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < rules->rows; i++) {
        nl_buf_format(out, "| %s | ",
                      is(rules, i, "pass")   ? "✅"
                      : is(rules, i, "fail") ? "❌"
                                             : "⚠️");
        put_md(out, nl_lookup_text(rules, i, "rule"));
        nl_buf_text(out, " | ");
        if (!alone) {
            put_value(out, rules, i, "base");
            nl_buf_text(out, " | ");
        }
        put_value(out, rules, i, "new");
        nl_buf_text(out, " | ");
        if (!alone) {
            put_change(out, rules, i);
            nl_buf_text(out, " | ");
        }
        put_md(out, nl_lookup_text(rules, i, "limit"));
        nl_buf_text(out, " |\n");
    }
}

static void put_rows_md(struct nl_buf *out, const struct nl_result *rows)
{
    char text[NL_UNIT_TEXT];
    if (!rows || !rows->rows)
        return;
    nl_buf_text(out, "\n<details><summary>What changed, largest first</summary>\n\n"
                     "| part | baseline | new | change |\n|---|---|---|---|\n");
    for (size_t i = 0; i < rows->rows && i < ROWS_SHOWN; i++) {
        int64_t change = nl_lookup_i64(rows, i, "change_ns");
        nl_buf_text(out, "| ");
        put_md(out, nl_lookup_text(rows, i, "name"));
        nl_buf_format(out, " | %s", nl_format_ns(text, nl_lookup_i64(rows, i, "base_ns")));
        nl_buf_format(out, " | %s", nl_format_ns(text, nl_lookup_i64(rows, i, "new_ns")));
        nl_buf_format(out, " | %s%s |\n", change > 0 ? "+" : "", nl_format_ns(text, change));
    }
    nl_buf_text(out, "\n</details>\n");
}

void nl_gate_markdown(struct nl_buf *out, const struct nl_report *report)
{
    const struct nl_result *gate = nl_report_result(report, "gate");
    struct nl_str verdict = nl_lookup_text(gate, 0, "verdict");
    nl_buf_format(out, "### %s NeuroLens: %.*s\n\n",
                  nl_str_is(verdict, "pass")         ? "✅"
                  : nl_str_is(verdict, "regression") ? "❌"
                                                     : "⚠️",
                  (int)verdict.len, verdict.ptr);
    if (report->headline_count)
        put_md(out, nl_str(report->headlines[0]));
    nl_buf_char(out, '\n');
    if (!nl_str_is(verdict, "pass"))
        put_causes(out, nl_report_result(report, "attribution"));
    put_rules_md(out, nl_report_result(report, "rules"));
    put_rows_md(out, nl_report_result(report, "attribution"));
}
