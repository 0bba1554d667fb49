/* See rank.h. */
#include "compare/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "compare/diffinner.h"
#include "compare/diffsure.h"
#include "compare/diffworkload.h"
#include "tables/answer.h"
#include "tables/shortname.h"

#define SENTENCE   ((size_t)1 << 12)
#define NAME_WIDTH 50

const char *const nl_rank_sections[] = {"rank", "operators", "conditions", NULL};

struct candidate {
    const struct nl_diff_input *input;
    struct diff_side side;
    struct diff_parts parts, shown; /* by name; by operator where all have them */
    struct nl_value *values;        /* of its captures */
    size_t count;
    double time; /* typical, ns; NaN not known */
    size_t place;
};

struct ranking {
    struct candidate items[NL_RANK_MOST];
    size_t count;
    struct candidate *order[NL_RANK_MOST]; /* fastest first */
    enum diff_unit unit;
    bool by_operator, comparable;
    struct nl_report *report;
};

/* ---- measuring ---- */

static bool all_allow(struct ranking *r, enum diff_unit unit)
{
    for (size_t i = 1; i < r->count; i++)
        if (!diff_sides_allow(&r->items[0].side, &r->items[i].side, unit))
            return false;
    return true;
}

/* Typical steps of the captures; without steps their times. */
static void take_values(struct candidate *c)
{
    double sum = 0;
    c->values = nl_alloc((diff_capture_count(&c->side) + 1) * sizeof *c->values);
    for (size_t i = 0; i < diff_capture_count(&c->side); i++) {
        const struct diff_side *one = &diff_captures(&c->side)[i];
        struct nl_capture capture = {.median = (double)one->mean, .median_se = 0, .steps = 1};
        if (one->by_step)
            capture = nl_capture_of(one->lengths, one->length_count);
        if (!capture.steps || !(capture.median > 0))
            continue;
        double se = isnan(capture.median_se) ? 0 : capture.median_se;
        c->values[c->count++] = (struct nl_value){log(capture.median), se};
        sum += log(capture.median);
    }
    c->time = c->count ? exp(sum / (double)c->count) : NAN;
}

static bool measure(struct ranking *r)
{
    bool done = true;
    for (size_t i = 0; i < r->count; i++) {
        struct candidate *c = &r->items[i];
        done = diff_side_measure(&c->side, r->unit, &c->parts) && done;
        take_values(c);
        done = done && !isnan(c->time);
    }
    r->by_operator = done && r->unit <= DIFF_BY_WORK;
    for (size_t i = 0; i < r->count && r->by_operator; i++)
        r->by_operator = diff_parts_make(&r->items[i].shown, &r->items[i].side, DIFF_BY_OPERATOR);
    return done;
}

static int by_time(const void *left, const void *right)
{
    const struct candidate *a = *(struct candidate *const *)left,
                           *b = *(struct candidate *const *)right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void order(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->order[i] = &r->items[i];
    qsort(r->order, r->count, sizeof *r->order, by_time);
    for (size_t i = 0; i < r->count; i++)
        r->order[i]->place = i;
}

static struct nl_apart apart_of(const struct candidate *from, const struct candidate *to)
{
    return nl_apart_of(from->values, from->count, to->values, to->count, &from->input->noise);
}

static bool is_tie(const struct ranking *r, const struct candidate *c)
{
    struct nl_apart apart = apart_of(r->order[0], c);
    return c != r->order[0] && !(apart.low > 0);
}

/* ---- tables ---- */

static const struct nl_result_column rank_columns[] = {
    {"place", NULL, NL_MEANS_INTEGER},          {"candidate", NULL, NL_MEANS_TEXT},
    {"time_ns", "typical time", NL_MEANS_NS},   {"ratio", "of the fastest", NL_MEANS_NUMBER},
    {"ratio_low", "at least", NL_MEANS_NUMBER}, {"ratio_high", "at most", NL_MEANS_NUMBER},
    {"tie", "tie with it", NL_MEANS_TEXT},      {"device", NULL, NL_MEANS_TEXT},
    {"captures", NULL, NL_MEANS_COUNT},         {"steps", NULL, NL_MEANS_COUNT},
};

static struct nl_str device_of(const struct candidate *c)
{
    const struct nl_trace *trace = diff_captures((struct diff_side *)&c->side)[0].trace;
    for (size_t i = 0; i < c->side.device_count; i++) {
        uint32_t row = c->side.devices[i].device;
        if (row != NL_NULL_ROW && row < trace->device.rows &&
            nl_trace_name(trace, trace->device.name[row]).len)
            return nl_trace_name(trace, trace->device.name[row]);
    }
    return (struct nl_str){NULL, 0};
}

static const char *word_of(const struct candidate *c)
{
    return c->input->all ? c->input->all : c->input->word;
}

static struct nl_result *rank_table(const struct ranking *r)
{
    struct nl_result *result = NL_ANSWER_NEW("rank", "Fastest first", rank_columns);
    for (size_t i = 0; i < r->count; i++) {
        const struct candidate *c = r->order[i];
        struct nl_apart apart = apart_of(r->order[0], c);
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_i64((int64_t)i + 1);
        cells[1] = nl_cell_text(result, nl_str(word_of(c)));
        cells[2] = nl_cell_i64(llround(c->time));
        cells[3] = nl_cell_f64(i ? exp(apart.shift) : 1);
        cells[4] = nl_cell_f64(i ? exp(apart.low) : NAN);
        cells[5] = nl_cell_f64(i ? exp(apart.high) : NAN);
        cells[6] = nl_answer_static(!i ? NULL : is_tie(r, c) ? "yes" : "no");
        cells[7] = nl_cell_text(result, device_of(c));
        cells[8] = nl_answer_count(diff_capture_count(&c->side));
        cells[9] = c->side.by_step ? nl_answer_count(c->side.length_count) : (struct nl_cell){0};
    }
    return result;
}

/* A part of all candidates, by its folded name. */
struct row {
    struct nl_str name;
    int64_t times[NL_RANK_MOST]; /* NL_NULL_I64 = has none */
    int64_t lead;                /* slowest less fastest, of those that have it */
    size_t fastest;
};

static int by_name(const void *left, const void *right)
{
    return diff_text_order(((const struct row *)left)->name, ((const struct row *)right)->name);
}

static int by_lead(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->lead != b->lead)
        return a->lead > b->lead ? -1 : 1;
    return diff_text_order(a->name, b->name);
}

static void add_lead(struct row *row, size_t count)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t k = 0; k < count; k++) {
        if (row->times[k] == NL_NULL_I64)
            continue;
        if (row->times[k] < least) {
            least = row->times[k];
            row->fastest = k;
        }
        most = row->times[k] > most ? row->times[k] : most;
    }
    row->lead = most - least;
}

static const struct diff_parts *parts_of(const struct ranking *r, size_t i)
{
    return r->by_operator ? &r->items[i].shown : &r->items[i].parts;
}

/* A row for every part of every candidate. */
static struct row *all_rows(const struct ranking *r, size_t *count)
{
    size_t all = 0;
    for (size_t i = 0; i < r->count; i++)
        all += parts_of(r, i)->count;
    struct row *rows = nl_alloc((all + 1) * sizeof *rows);
    *count = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < parts_of(r, i)->count; k++) {
            const struct diff_part *part = &parts_of(r, i)->items[k];
            struct row *row = &rows[(*count)++];
            row->name = part->folded.len ? part->folded : part->name;
            for (size_t n = 0; n < r->count; n++)
                row->times[n] = n == i ? part->mean : NL_NULL_I64;
        }
    return rows;
}

static void add_times(struct row *to, const struct row *from, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (from->times[n] != NL_NULL_I64)
            to->times[n] =
                to->times[n] == NL_NULL_I64 ? from->times[n] : to->times[n] + from->times[n];
}

/* All parts of all candidates, those of one name together; times in the order of candidates. */
static struct row *rows_of(const struct ranking *r, size_t *count)
{
    size_t all, kept = 0;
    struct row *rows = all_rows(r, &all);
    if (all)
        qsort(rows, all, sizeof *rows, by_name);
    for (size_t i = 0; i < all; i++) {
        if (kept && nl_str_eq(rows[kept - 1].name, rows[i].name))
            add_times(&rows[kept - 1], &rows[i], r->count);
        else
            rows[kept++] = rows[i];
    }
    for (size_t i = 0; i < kept; i++)
        add_lead(&rows[i], r->count);
    if (kept)
        qsort(rows, kept, sizeof *rows, by_lead);
    *count = kept;
    return rows;
}

static struct nl_result *operators_table(const struct ranking *r, const struct row *rows,
                                         size_t count)
{
    static const char *const names[NL_RANK_MOST] = {
        "time_1_ns", "time_2_ns", "time_3_ns", "time_4_ns",  "time_5_ns",  "time_6_ns",
        "time_7_ns", "time_8_ns", "time_9_ns", "time_10_ns", "time_11_ns", "time_12_ns"};
    struct nl_result_column columns[NL_RANK_MOST + 3] = {{"name", NULL, NL_MEANS_TEXT},
                                                         {"fastest", NULL, NL_MEANS_TEXT},
                                                         {"lead_ns", "lead", NL_MEANS_NS}};
    for (size_t i = 0; i < r->count; i++)
        columns[i + 3] = (struct nl_result_column){names[i], NULL, NL_MEANS_NS};
    struct nl_result *result = nl_result_new(
        "operators", "Where they differ, the largest lead first", columns, r->count + 3);
    result->note = "time_N is the N-th place of the ranking, a step (or all) of a device";
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_text(result, rows[i].name.len ? rows[i].name : nl_str("(no name)"));
        cells[1] = nl_cell_text(result, nl_str(word_of(&r->items[rows[i].fastest])));
        cells[2] = nl_cell_i64(rows[i].lead);
        for (size_t n = 0; n < r->count; n++)
            cells[3 + r->items[n].place] = nl_cell_i64(rows[i].times[n]);
    }
    return result;
}

static const struct nl_result_column condition_columns[] = {
    {"fact", NULL, NL_MEANS_TEXT},   {"fastest", NULL, NL_MEANS_TEXT},
    {"other", NULL, NL_MEANS_TEXT},  {"candidate", "the other", NL_MEANS_TEXT},
    {"agrees", NULL, NL_MEANS_TEXT}, {"decides", NULL, NL_MEANS_TEXT},
};

/* What each was given to do, beside the fastest. */
static struct nl_result *conditions_table(struct ranking *r)
{
    struct nl_result *result =
        NL_ANSWER_NEW("conditions", "What they were run with", condition_columns);
    for (size_t i = 1; i < r->count; i++) {
        struct diff_workload w;
        diff_workload_find(&w, &r->order[0]->side, r->order[0]->input, &r->order[i]->side,
                           r->order[i]->input);
        for (size_t k = 0; k < w.count; k++) {
            const struct diff_workload_fact *fact = &w.items[k];
            bool known = fact->base && fact->changed;
            struct nl_cell *cells = nl_result_row(result);
            cells[0] = nl_cell_text(result, nl_str(fact->name));
            cells[1] = nl_cell_text(result, nl_str(fact->base));
            cells[2] = nl_cell_text(result, nl_str(fact->changed));
            cells[3] = nl_cell_text(result, nl_str(word_of(r->order[i])));
            cells[4] = nl_answer_static(!known ? "unknown" : fact->agrees ? "yes" : "no");
            cells[5] = nl_answer_static(fact->decides == DIFF_DECIDES && known ? "yes" : "no");
            if (known && !fact->agrees && fact->decides == DIFF_DECIDES)
                r->comparable = false;
        }
        diff_workload_release(&w);
    }
    return result;
}

/* ---- sentences ---- */

static void add_headline(struct ranking *r, struct nl_buf *text)
{
    struct nl_report *report = r->report;
    if (text->len && report->headline_count < NL_HEADLINES_MAX)
        report->headlines[report->headline_count++] =
            nl_arena_text(&report->arena, text->ptr, text->len);
    nl_buf_clear(text);
}

static void say_fastest(struct ranking *r, struct nl_buf *text)
{
    char time[NL_UNIT_TEXT];
    const struct candidate *best = r->order[0];
    struct nl_str device = device_of(best);
    nl_buf_format(text, "%s: %s",
                  r->comparable ? "Fastest" : "Not the same workload; by time alone",
                  word_of(best));
    if (device.len)
        nl_buf_format(text, " (%.*s)", (int)device.len, device.ptr);
    nl_buf_format(text, ", %s %s",
                  best->side.by_step ? "a step takes" : diff_unit_words(&best->side),
                  nl_format_ns(time, llround(best->time)));
    for (size_t i = 1; i < r->count && i < 4; i++) {
        const struct candidate *c = r->order[i];
        struct nl_apart apart = apart_of(best, c);
        if (is_tie(r, c))
            nl_buf_format(text, "; %s is within its noise (%.3g times, 95 %%: %.3g to %.3g)",
                          word_of(c), exp(apart.shift), exp(apart.low), exp(apart.high));
        else
            nl_buf_format(text, "; %s takes %.3g times as long (95 %%: %.3g to %.3g)", word_of(c),
                          exp(apart.shift), exp(apart.low), exp(apart.high));
    }
    nl_buf_char(text, '.');
    add_headline(r, text);
}

static void say_where(struct ranking *r, struct nl_buf *text, const struct row *rows, size_t count)
{
    char time[NL_UNIT_TEXT];
    for (size_t i = 0; i < count && i < 3 && rows[i].lead > 0; i++) {
        nl_buf_text(text, i ? "; " : "Where: ");
        nl_elide_name(text, nl_short_kernel(rows[i].name), NAME_WIDTH);
        nl_buf_format(text, " is fastest in %s, by %s", word_of(&r->items[rows[i].fastest]),
                      nl_format_ns(time, rows[i].lead));
    }
    if (text->len)
        nl_buf_char(text, '.');
    add_headline(r, text);
}

static void say_advice(struct ranking *r, struct nl_buf *text)
{
    size_t few = 0;
    for (size_t i = 0; i < r->count; i++)
        few += r->items[i].count < 3;
    if (!r->comparable)
        nl_buf_text(text, "Recommendation: none; give all of them the same work first "
                          "(table conditions says what differs).");
    else if (is_tie(r, r->order[1]))
        nl_buf_format(text,
                      "Recommendation: %s and %s are a tie: choose by price, or record more "
                      "captures of both.",
                      word_of(r->order[0]), word_of(r->order[1]));
    else
        nl_buf_format(text, "Recommendation: %s, for this workload as it was recorded.",
                      word_of(r->order[0]));
    if (few)
        nl_buf_format(text, " %zu of %zu candidates have fewer than 3 captures.", few, r->count);
    add_headline(r, text);
}

static void write_report(struct ranking *r)
{
    struct nl_buf text;
    size_t count;
    struct nl_result *conditions = conditions_table(r);
    struct row *rows = rows_of(r, &count);
    nl_buf_init(&text, SENTENCE);
    say_fastest(r, &text);
    say_where(r, &text, rows, count);
    say_advice(r, &text);
    nl_buf_release(&text);
    r->report->results[r->report->result_count++] = rank_table(r);
    r->report->results[r->report->result_count++] = operators_table(r, rows, count);
    r->report->results[r->report->result_count++] = conditions;
    nl_free(rows);
}

/* ---- in all ---- */

static void release(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++) {
        diff_parts_release(&r->items[i].parts);
        diff_parts_release(&r->items[i].shown);
        diff_side_release(&r->items[i].side);
        nl_free(r->items[i].values);
    }
    nl_free(r);
}

static bool run(struct ranking *r, struct nl_err *err)
{
    while (r->unit < DIFF_UNITS && !all_allow(r, r->unit))
        r->unit++;
    if (r->unit == DIFF_UNITS || !measure(r))
        return nl_fail(err, NL_USAGE,
                       "nothing was recorded in all of them that takes time; "
                       "`neurolens info` says what each holds");
    order(r);
    write_report(r);
    return true;
}

struct nl_report *nl_rank_new(const struct nl_diff_input *inputs, size_t count, bool *comparable,
                              struct nl_job *job, struct nl_err *err)
{
    struct ranking *r = nl_zalloc(sizeof *r);
    struct nl_report *report = nl_zalloc(sizeof *report);
    r->report = report;
    r->comparable = true;
    report->name = "rank";
    report->title = "Ranking";
    nl_arena_init(&report->arena);
    report->results = nl_arena_alloc(&report->arena, 3 * sizeof *report->results);
    for (size_t i = 0; i < count && i < NL_RANK_MOST; i++) {
        r->items[i].input = &inputs[i];
        diff_team_open(&r->items[r->count++].side, &inputs[i]);
    }
    bool done = run(r, err);
    *comparable = r->comparable;
    release(r);
    if (done && nl_job_cancelled(job))
        done = nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (done)
        return report;
    nl_report_free(report);
    return NULL;
}
