/* Rules judged one by one, then the verdict over all, and the report around it. */
#include "compare/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "compare/diffcounts.h"
#include "compare/diffinner.h"
#include "compare/diffwords.h"
#include "compare/gatejudge.h"
#include "tables/resultcells.h"
#include "tables/lookup.h"

#define STATUS_PASS         0
#define STATUS_REGRESSION   1
#define STATUS_INCONCLUSIVE 3

const char *const nl_gate_sections[] = {"gate",        "rules",  "comparability", "parts",
                                        "attribution", "counts", "next",          NULL};

#define GATE_ROWS(C, P, b)                                                                         \
    C(P, verdict, NULL, TEXT)                                                                      \
    C(P, exit_status, "exit", INTEGER)                                                             \
    C(P, rules, NULL, COUNT)                                                                       \
    C(P, passed, NULL, COUNT)                                                                      \
    C(P, failed, NULL, COUNT)                                                                      \
    C(P, inconclusive, NULL, COUNT)                                                                \
    C(P, unknown, NULL, COUNT)                                                                     \
    C(P, base_captures, "A captures", COUNT)                                                       \
    C(P, new_captures, b, COUNT)                                                                   \
    C(P, reason, NULL, TEXT)
#define GATE_LIST(C, P) GATE_ROWS(C, P, "B captures")
#define ONE_LIST(C, P)  GATE_ROWS(C, P, "captures")
NL_TABLE_COLUMNS(gate_columns, GATE, GATE_LIST);
NL_TABLE_COLUMNS(one_columns, ONE, ONE_LIST);

#define RULE_ROWS(C, P, b)                                                                         \
    C(P, status, NULL, TEXT)                                                                       \
    C(P, rule, NULL, TEXT)                                                                         \
    C(P, metric, NULL, TEXT)                                                                       \
    C(P, base, "A", WEIGHT)                                                                        \
    C(P, new, b, WEIGHT)                                                                           \
    C(P, unit, NULL, UNIT)                                                                         \
    C(P, change_share, "change", CHANGE_SHARE)                                                     \
    C(P, change_low_share, "at least", CHANGE_SHARE)                                               \
    C(P, change_high_share, "at most", CHANGE_SHARE)                                               \
    C(P, limit, "allowed", TEXT)                                                                   \
    C(P, captures_needed, "captures needed", COUNT)                                                \
    C(P, why, NULL, TEXT)
#define RULE_LIST(C, P)  RULE_ROWS(C, P, "B")
#define ALONE_LIST(C, P) RULE_ROWS(C, P, "value") /* without a baseline there are no A and B */
NL_TABLE_COLUMNS(rule_columns, RULE, RULE_LIST);
NL_TABLE_COLUMNS(alone_columns, ALONE, ALONE_LIST);

struct gate {
    struct diff_doc *doc;
    struct nl_report *report;
    const struct nl_diff_input *base, *changed; /* base NULL = budgets alone */
    const struct nl_rules *rules;
    struct nl_gate_answer *answers;
    size_t counts[NL_GATE_UNKNOWN + 1];
    const char *against; /* why they cannot be compared, or NULL */
    const char *verdict;
    int status;
};

/* ---- values ---- */

static const struct nl_diff_input *input_at(const struct nl_diff_input *side, size_t i)
{
    return i ? &side->others[i - 1] : side;
}

static struct nl_metric_value *values_of(const struct nl_metric *metric, struct diff_side *side,
                                         const struct nl_diff_input *input, size_t *count)
{
    *count = input ? diff_capture_count(side) : 0;
    struct nl_metric_value *values = nl_alloc((*count + 1) * sizeof *values);
    for (size_t i = 0; i < *count; i++)
        values[i] = nl_metric_of(metric, &diff_captures(side)[i], input_at(input, i));
    return values;
}

static void judge_rules(struct gate *gate)
{
    for (size_t i = 0; i < gate->rules->count; i++) {
        const struct nl_rule *rule = &gate->rules->items[i];
        struct nl_gate_values v;
        v.base = values_of(&rule->metric, &gate->doc->base, gate->base, &v.base_count);
        v.changed = values_of(&rule->metric, &gate->doc->changed, gate->changed, &v.changed_count);
        gate->answers[i] = nl_gate_judge(rule, &v, gate->rules->tolerance, &gate->doc->noise);
        if (gate->against && rule->relative)
            gate->answers[i].status = NL_GATE_UNKNOWN;
        if (gate->against && rule->relative)
            gate->answers[i].why = "the captures cannot be compared";
        gate->counts[gate->answers[i].status]++;
        nl_free(v.base);
        nl_free(v.changed);
    }
}

/* ---- comparability ---- */

static bool is_allowed(const struct nl_rules *rules, struct nl_str fact)
{
    for (size_t i = 0; i < rules->allow_count; i++)
        if (nl_str_is(fact, rules->allow[i]) || strcmp(rules->allow[i], "all") == 0)
            return true;
    return false;
}

/* Of sides without steps: their times say nothing of one another when one
 * did less of the same work. */
static void say_amount_of_work(const struct gate *gate, struct nl_buf *text)
{
    const struct diff_pace *pace = &gate->doc->pace;
    char share[NL_UNIT_TEXT];
    if (!diff_is_other_work(gate->doc))
        return;
    double work = pace->changed_pieces / pace->base_pieces - 1;
    nl_buf_format(text, NL_ALLOW_WORK ": B did %s %s operations of the same names",
                  nl_format_percent(share, fabs(work)), work < 0 ? "fewer" : "more");
}

/* Facts that disagree and that the rules do not allow to. */
static void find_against(struct gate *gate)
{
    const struct nl_result *facts = gate->doc->sureness.facts;
    struct nl_buf text;
    nl_buf_init(&text, DIFF_SENTENCE);
    for (size_t i = 0; gate->base && i < facts->rows; i++) {
        struct nl_str fact = nl_lookup_text(facts, i, "fact");
        struct nl_str a = nl_lookup_text(facts, i, "base"), b = nl_lookup_text(facts, i, "new");
        bool decides = !nl_str_is(nl_lookup_text(facts, i, "decides"), "no");
        if (!nl_str_is(nl_lookup_text(facts, i, "agrees"), "no") || !decides ||
            is_allowed(gate->rules, fact))
            continue;
        nl_buf_format(&text, "%s%.*s: A has %.*s, B has %.*s", text.len ? "; " : "", (int)fact.len,
                      fact.ptr, (int)a.len, a.ptr, (int)b.len, b.ptr);
    }
    if (gate->base && !text.len && gate->doc->base.unit == DIFF_UNITS)
        nl_buf_text(&text, "nothing was recorded on both sides that takes time");
    if (gate->base && !text.len && !is_allowed(gate->rules, nl_str(NL_ALLOW_WORK)))
        say_amount_of_work(gate, &text);
    if (text.len)
        gate->against = nl_arena_text(&gate->report->arena, text.ptr, text.len);
    nl_buf_release(&text);
}

/* ---- words ---- */

static void put_number(struct nl_buf *out, double value, enum nl_meaning meaning)
{
    char text[NL_UNIT_TEXT];
    if (isnan(value))
        nl_buf_text(out, "unknown");
    else if (meaning == NL_MEANS_NS)
        nl_buf_text(out, nl_format_ns(text, nl_whole_i64(value)));
    else if (meaning == NL_MEANS_BYTES)
        nl_buf_text(out, nl_format_bytes(text, nl_whole_u64(round(value))));
    else if (meaning == NL_MEANS_SHARE)
        nl_buf_text(out, nl_format_percent(text, value));
    else
        nl_buf_format(out, "%.6g", value);
}

/* "+2 %" or "120 ms": what is allowed. */
static void put_limit(struct nl_buf *out, const struct nl_rule *rule,
                      const struct nl_gate_answer *answer)
{
    char text[NL_UNIT_TEXT];
    if (rule->relative && answer->limit >= 0)
        nl_buf_char(out, '+');
    if (rule->relative && rule->percent) {
        nl_buf_text(out, nl_format_percent(text, answer->limit));
        return;
    }
    if (answer->limit < 0)
        nl_buf_char(out, '-');
    put_number(out, fabs(answer->limit), rule->metric.meaning);
}

/* A rule says what fails; this what does not. */
static const char *allowed_sign(enum nl_rule_op op)
{
    static const char *const allowed[] = {[NL_RULE_MORE] = "≤ ",
                                          [NL_RULE_AT_LEAST] = "< ",
                                          [NL_RULE_LESS] = "≥ ",
                                          [NL_RULE_AT_MOST] = "> ",
                                          [NL_RULE_OTHER] = "= "};
    return allowed[op];
}

static const char *rule_name(const struct nl_rule *rule)
{
    return rule->name ? rule->name : rule->metric.text;
}

/* Why a change over the limit does not fail. */
static void put_floor(struct nl_buf *out, const struct nl_rule *rule,
                      const struct nl_gate_answer *answer)
{
    if (!(answer->floor > 0))
        return;
    nl_buf_text(out, ", which is under the floor of ");
    if (rule->metric.meaning == NL_MEANS_SHARE)
        nl_buf_format(out, "%.3g percentage points", answer->floor * 100);
    else
        put_number(out, answer->floor, rule->metric.meaning);
}

/* "step.p50 +5.2 % (95 %: +3.1 % to +7.4 %; allowed +2 %): 4.97 ms → 5.22 ms" */
static void put_answer(const struct gate *gate, struct nl_buf *out, const struct nl_rule *rule,
                       const struct nl_gate_answer *a)
{
    bool time = rule->metric.source == NL_METRIC_TIME && rule->metric.which == 1;
    nl_buf_format(out, "%s ", rule_name(rule));
    if (time && a->status != NL_GATE_UNKNOWN) /* it is what the two could be compared by */
        nl_buf_format(out, "(%s) ", diff_unit_words(&gate->doc->base));
    if (a->status == NL_GATE_UNKNOWN) {
        nl_buf_format(out, "is unknown: %s", a->why);
        return;
    }
    if (!isnan(a->ratio))
        diff_put_percent(out, a->ratio - 1);
    else
        put_number(out, a->changed, rule->metric.meaning);
    nl_buf_text(out, " (");
    if (!isnan(a->low)) {
        nl_buf_text(out, "95 %: ");
        diff_put_percent(out, a->low - 1);
        nl_buf_text(out, " to ");
        diff_put_percent(out, a->high - 1);
        nl_buf_text(out, "; ");
    }
    nl_buf_format(out, "allowed %s", rule->relative ? "" : allowed_sign(rule->op));
    put_limit(out, rule, a);
    nl_buf_char(out, ')');
    if (!isnan(a->ratio)) {
        nl_buf_text(out, ": ");
        put_number(out, a->base, rule->metric.meaning);
        nl_buf_text(out, " → ");
        put_number(out, a->changed, rule->metric.meaning);
    }
    put_floor(out, rule, a);
    if (a->status == NL_GATE_INCONCLUSIVE)
        nl_buf_format(out, "; %s", a->why);
}

static void put_all(struct gate *gate, struct nl_buf *out, enum nl_gate_status status)
{
    size_t said = 0;
    for (size_t i = 0; i < gate->rules->count; i++) {
        if (gate->answers[i].status != status)
            continue;
        if (said++ == DIFF_TOP_ROWS) {
            nl_buf_format(out, "; %zu more", gate->counts[status] - DIFF_TOP_ROWS);
            break;
        }
        nl_buf_text(out, said > 1 ? "; " : "");
        put_answer(gate, out, &gate->rules->items[i], &gate->answers[i]);
    }
    nl_buf_char(out, '.');
}

static void say_needed(const struct gate *gate, struct nl_buf *out)
{
    size_t most = 0;
    for (size_t i = 0; i < gate->rules->count; i++)
        if (gate->answers[i].status == NL_GATE_INCONCLUSIVE && gate->answers[i].more != SIZE_MAX)
            most = gate->answers[i].more > most ? gate->answers[i].more : most;
    if (most)
        nl_buf_format(out, " %zu more capture%s per side would decide.", most,
                      most == 1 ? "" : "s");
}

static bool has_rule_on(const struct gate *gate, const char *metric)
{
    for (size_t i = 0; i < gate->rules->count; i++)
        if (strcmp(gate->rules->items[i].metric.text, metric) == 0)
            return true;
    return false;
}

/* What passes by the typical step may be slower by single ones. */
static void say_single_steps(const struct gate *gate, struct nl_buf *out)
{
    const struct diff_sureness *s = &gate->doc->sureness;
    char share[NL_UNIT_TEXT];
    if (gate->base && s->verdict == DIFF_SLOWER && s->basis != DIFF_BY_TYPICAL &&
        !has_rule_on(gate, "step.mean"))
        nl_buf_format(out,
                      " But the mean step takes %s longer: single steps are slow, which the rule "
                      "'step.mean > +2%%' would judge.",
                      nl_format_percent(share, s->mean_ratio - 1));
}

static const char *first_line(struct gate *gate)
{
    struct nl_buf out;
    nl_buf_init(&out, DIFF_SENTENCE * 4);
    if (gate->counts[NL_GATE_FAIL]) {
        nl_buf_text(&out, "Regression: ");
        put_all(gate, &out, NL_GATE_FAIL);
    } else if (gate->against) {
        nl_buf_format(&out, "Cannot compare: %s.", gate->against);
    } else if (gate->counts[NL_GATE_INCONCLUSIVE]) {
        nl_buf_text(&out, "Inconclusive: ");
        put_all(gate, &out, NL_GATE_INCONCLUSIVE);
        say_needed(gate, &out);
    } else if (gate->counts[NL_GATE_UNKNOWN]) {
        nl_buf_text(&out, "Inconclusive: ");
        put_all(gate, &out, NL_GATE_UNKNOWN);
    } else {
        nl_buf_text(&out, "Pass: ");
        put_all(gate, &out, NL_GATE_PASS);
        say_single_steps(gate, &out);
    }
    const char *text = nl_arena_text(&gate->report->arena, out.ptr, out.len);
    nl_buf_release(&out);
    return text;
}

/* ---- tables ---- */

static struct nl_result *gate_table(const struct gate *gate)
{
    struct nl_result *result = gate->base ? NL_ANSWER_NEW("gate", "The gate", gate_columns)
                                          : NL_ANSWER_NEW("gate", "The gate", one_columns);
    struct nl_cell *cells = nl_result_row(result);
    cells[GATE_verdict] = nl_cell_static(gate->verdict);
    cells[GATE_exit_status] = nl_cell_i64(gate->status);
    cells[GATE_rules] = nl_cell_count(gate->rules->count);
    for (size_t i = 0; i <= NL_GATE_UNKNOWN; i++)
        cells[GATE_passed + i] = nl_cell_count(gate->counts[i]);
    cells[GATE_base_captures] =
        gate->base ? nl_cell_count(diff_capture_count(&gate->doc->base)) : (struct nl_cell){0};
    cells[GATE_new_captures] = nl_cell_count(diff_capture_count(&gate->doc->changed));
    cells[GATE_reason] =
        gate->against ? nl_cell_text(result, nl_str(gate->against)) : (struct nl_cell){0};
    return result;
}

static const char *unit_of(enum nl_meaning meaning)
{
    return meaning == NL_MEANS_NS      ? "ns"
           : meaning == NL_MEANS_BYTES ? "bytes"
           : meaning == NL_MEANS_SHARE ? "share"
                                       : "";
}

static struct nl_cell number_cell(double value, enum nl_meaning meaning)
{
    bool whole = meaning == NL_MEANS_NS || meaning == NL_MEANS_BYTES;
    if (isnan(value))
        return (struct nl_cell){0};
    return whole ? nl_cell_i64(nl_whole_i64(value)) : nl_cell_f64(value);
}

static struct nl_result *rules_table(const struct gate *gate)
{
    struct nl_result *result = gate->base ? NL_ANSWER_NEW("rules", "Rules", rule_columns)
                                          : NL_ANSWER_NEW("rules", "Rules", alone_columns);
    struct nl_buf limit;
    nl_buf_init(&limit, 256);
    for (size_t i = 0; i < gate->rules->count; i++) {
        const struct nl_rule *rule = &gate->rules->items[i];
        const struct nl_gate_answer *a = &gate->answers[i];
        enum nl_meaning meaning = rule->metric.meaning;
        struct nl_cell *cells = nl_result_row(result);
        cells[RULE_status] = nl_cell_static(nl_gate_status_text(a->status));
        cells[RULE_rule] = nl_cell_text(result, nl_str(rule->name ? rule->name : rule->text));
        cells[RULE_metric] = nl_cell_text(result, nl_str(rule->metric.text));
        cells[RULE_base] = number_cell(a->base, meaning);
        cells[RULE_new] = number_cell(a->changed, meaning);
        cells[RULE_unit] = nl_cell_static(unit_of(meaning));
        cells[RULE_change_share] = nl_cell_f64(a->ratio - 1);
        cells[RULE_change_low_share] = nl_cell_f64(a->low - 1);
        cells[RULE_change_high_share] = nl_cell_f64(a->high - 1);
        nl_buf_clear(&limit);
        nl_buf_text(&limit, allowed_sign(rule->op));
        put_limit(&limit, rule, a);
        cells[RULE_limit] = nl_cell_text(result, (struct nl_str){limit.ptr, limit.len});
        cells[RULE_captures_needed] =
            a->more == SIZE_MAX ? (struct nl_cell){0} : nl_cell_count(a->more);
        cells[RULE_why] = nl_cell_static(a->why);
    }
    nl_buf_release(&limit);
    return result;
}

/* ---- in all ---- */

static void decide(struct gate *gate)
{
    size_t unsure = gate->counts[NL_GATE_INCONCLUSIVE] + gate->counts[NL_GATE_UNKNOWN];
    gate->verdict = "pass";
    gate->status = STATUS_PASS;
    if (gate->counts[NL_GATE_FAIL]) {
        gate->verdict = "regression";
        gate->status = STATUS_REGRESSION;
        return;
    }
    if (!gate->against && !unsure)
        return;
    gate->verdict = gate->against ? "cannot compare" : "inconclusive";
    gate->status = STATUS_INCONCLUSIVE;
    if (!gate->against && gate->rules->on_inconclusive != NL_INCONCLUSIVE_WARN)
        gate->status =
            gate->rules->on_inconclusive == NL_INCONCLUSIVE_FAIL ? STATUS_REGRESSION : STATUS_PASS;
}

/* The sentences of a diff, with the gate's own in place of the first. */
static void write_headlines(struct gate *gate, const struct nl_result *counts,
                            const struct nl_result *next)
{
    struct nl_report *report = gate->report;
    const char *first = first_line(gate);
    if (gate->base)
        diff_headlines(gate->doc, counts, next);
    if (!report->headline_count)
        report->headline_count = 1;
    report->headlines[0] = first;
}

static void write_tables(struct gate *gate)
{
    struct diff_doc *doc = gate->doc;
    struct nl_result *counts = diff_counts(&doc->base, &doc->changed);
    static const struct nl_result nothing = {0};
    bool open = !gate->against && !gate->counts[NL_GATE_FAIL] && gate->counts[NL_GATE_INCONCLUSIVE];
    struct nl_result *next = diff_next_table(doc, open);
    bool calm = gate->status == STATUS_PASS && diff_is_noise(doc); /* there is nothing to do */
    write_headlines(gate, counts, calm ? &nothing : next);
    diff_doc_add(doc, gate_table(gate));
    diff_doc_add(doc, rules_table(gate));
    if (!gate->base) {
        nl_result_free(doc->sureness.facts);
        doc->sureness.facts = NULL;
        nl_result_free(counts);
        nl_result_free(next);
        return;
    }
    diff_doc_add(doc, doc->sureness.facts);
    diff_doc_add(doc, diff_parts_table(doc));
    diff_doc_add(doc, diff_rows_table(doc, "attribution", "What changed, largest first", &doc->rows,
                                      doc->base.units, doc->changed.units));
    diff_doc_add(doc, counts);
    diff_doc_add(doc, next);
}

static void run_gate(struct gate *gate)
{
    struct nl_report *report = gate->report;
    gate->doc->report = report;
    report->name = "check";
    report->title = "Gate";
    nl_arena_init(&report->arena);
    report->results =
        nl_arena_alloc(&report->arena, sizeof nl_gate_sections / sizeof *nl_gate_sections *
                                           sizeof *report->results);
    diff_doc_compare(gate->doc, gate->base ? gate->base : gate->changed, gate->changed);
    find_against(gate);
    judge_rules(gate);
    decide(gate);
    write_tables(gate);
}

struct nl_report *nl_gate_new(const struct nl_diff_input *base, const struct nl_diff_input *changed,
                              const struct nl_rules *rules, int *status, struct nl_job *job,
                              struct nl_err *err)
{
    struct gate gate = {.doc = nl_zalloc(sizeof *gate.doc),
                        .report = nl_zalloc(sizeof *gate.report),
                        .base = base,
                        .changed = changed,
                        .rules = rules,
                        .answers = nl_zalloc((rules->count + 1) * sizeof *gate.answers)};
    run_gate(&gate);
    *status = gate.status;
    diff_doc_release(gate.doc);
    nl_free(gate.answers);
    if (!nl_job_cancelled(job))
        return gate.report;
    nl_report_free(gate.report);
    nl_fail(err, NL_INTERRUPTED, "interrupted");
    return NULL;
}
