/* See metricvalue.h. */
#include "compare/metricvalue.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"
#include "compare/diffcounts.h"
#include "compare/diffinner.h"
#include "compare/metricspan.h"
#include "compare/partnoise.h"
#include "base/median.h"
#include "rundoc/rundoc.h"
#include "tables/lookup.h"
#include "tables/plainruns.h"
#include "tables/steptime.h"

#define MAX_DOCUMENT ((size_t)1 << 28)
#define DEVICE_LAST  5    /* of metricnames.def: kernels, launches, calls that wait, copies */
#define TABLE_SE     0.01 /* of one row's statistics, besides how captures differ */

static struct nl_metric_value unknown(const char *missing)
{
    return (struct nl_metric_value){NAN, NAN, missing, 0};
}

static struct nl_metric_value known_value(double value, double se)
{
    if (isnan(value))
        return unknown("not recorded");
    return (struct nl_metric_value){value, se, NULL, 0};
}

/* ---- steps ---- */

/* Rows of the marked steps by time; none where nothing is left out of a step. */
struct marks {
    struct nl_keyed *order; /* key: of the time; row: of the step table */
    uint32_t count;
};

static struct marks marks_of(const struct diff_side *capture)
{
    const struct nl_step_table *step = &capture->trace->step;
    struct marks marks = {0};
    if (!capture->preempt || capture->unit != DIFF_BY_HOST)
        return marks;
    marks.count = step->rows;
    marks.order = nl_alloc(((size_t)step->rows + 1) * 2 * sizeof *marks.order);
    for (uint32_t i = 0; i < step->rows; i++)
        marks.order[i] = (struct nl_keyed){nl_sort_key(step->ts[i]), i};
    nl_sort_keyed(marks.order, marks.order + step->rows, step->rows);
    return marks;
}

/* The thread that marked a step, where it is known. */
static uint32_t thread_of(const struct marks *marks, const struct nl_trace *trace,
                          const struct nl_found_step *step)
{
    uint64_t key = nl_sort_key(step->marked_start);
    uint32_t low = NL_FIRST(i, 0, marks->count, marks->order[i].key >= key);
    for (; low < marks->count && marks->order[low].key == key; low++) {
        uint32_t row = marks->order[low].row, lane = trace->step.lane[row];
        if (trace->step.index[row] == step->index && lane != NL_NULL_ROW)
            return trace->lane.thread[lane];
    }
    return NL_NULL_ROW;
}

struct measured {
    const struct diff_side *capture;
    struct marks marks;
};

/* Without what other programs took of it, where a diff leaves that out, too. */
static double step_length(const void *context, const struct nl_found_step *step)
{
    const struct measured *measured = context;
    const struct diff_side *capture = measured->capture;
    int64_t length = step->end - step->start;
    if (measured->marks.count)
        length -= nl_preempt_in(capture->preempt, thread_of(&measured->marks, capture->trace, step),
                                step->marked_start, step->marked_end);
    return length > 0 ? (double)length : 1;
}

/* Whole lengths of the steady steps, whatever is compared. */
static double *step_lengths(const struct diff_side *capture, size_t *count)
{
    struct measured measured = {capture, marks_of(capture)};
    double *lengths =
        nl_step_lengths(diff_steps(capture), &capture->window, step_length, &measured, count);
    nl_free(measured.marks.order);
    return lengths;
}

/* Interpolated linearly at p (n - 1), as all quantiles are. */
static double percentile(const double *sorted, size_t count, int percent)
{
    double rank = percent / 100.0 * (double)(count - 1);
    size_t low = (size_t)rank;
    return low + 1 < count ? sorted[low] + (rank - (double)low) * (sorted[low + 1] - sorted[low])
                           : sorted[low];
}

static struct nl_metric_value step_value(const struct nl_metric *metric,
                                         const struct diff_side *capture)
{
    size_t count = 0;
    double *lengths = nl_plain_run_lengths(capture->trace, &capture->window, &count);
    if (!count)
        lengths = step_lengths(capture, &count);
    struct nl_capture c = nl_capture_of(lengths, count);
    struct nl_metric_value value = unknown("no steady steps; mark steps, or see docs/steps.md");
    if (count) {
        (void)nl_median_f64(lengths, count); /* sorts */
        if (metric->which <= 100)
            value = known_value(percentile(lengths, count, metric->which),
                                metric->which == 50 ? c.median_se : c.mean_se);
        else if (metric->which == 101)
            value = known_value(c.mean, c.mean_se);
        else if (metric->which == 102)
            value = known_value((double)count, 0);
        else
            value = known_value(1e9 / c.mean, c.mean_se);
    }
    nl_free(lengths);
    return value;
}

/* ---- parts and counts ---- */

/* What the steps show of how surely their mean is known: NaN where they are too few. */
static double steps_se(const struct diff_side *capture)
{
    size_t count = 0;
    double *lengths = step_lengths(capture, &count);
    double se = nl_capture_of(lengths, count).mean_se;
    nl_free(lengths);
    return se;
}

static struct nl_metric_value time_value(const struct nl_metric *metric,
                                         const struct diff_side *capture)
{
    if (metric->which == 1)
        return capture->unit < DIFF_UNITS ? known_value((double)capture->mean, steps_se(capture))
                                          : unknown("nothing that takes time");
    const struct nl_trace *trace = capture->trace; /* as the run document has it */
    return trace->last_ts > trace->first_ts
               ? known_value((double)trace->last_ts - (double)trace->first_ts, NAN)
               : unknown("no times");
}

/* Of a part of a step: what all of it varies by may be the part's alone, of which
 * that is the larger share. */
static double part_se(double se, double share)
{
    return share > 0 && share < 1 ? se / share : se;
}

/* If steps were cut out, the part of each step shows how it varies. */
static void set_part_noise(struct nl_metric_value *value, const struct diff_side *capture,
                           enum diff_group group, bool share)
{
    if (!capture->by_step || capture->unit != DIFF_BY_STEP || !(value->value > 0))
        return;
    struct nl_part_noise noise = nl_part_noise_of(capture, group, share);
    value->se = noise.se;
    value->wider = noise.wider;
}

static struct nl_metric_value group_value(const struct nl_metric *metric,
                                          const struct diff_side *capture)
{
    double sum = 0, all = (double)capture->sum;
    if (capture->unit > DIFF_BY_WALL)
        return unknown("no GPU activity with times");
    for (size_t i = 0; i < capture->device_count; i++)
        sum += (double)capture->devices[i].groups[metric->which % DIFF_HOST];
    bool share = metric->which >= DIFF_HOST;
    struct nl_metric_value value = known_value(
        share ? (all > 0 ? sum / all : NAN) : sum / (double)(capture->units ? capture->units : 1),
        part_se(steps_se(capture), all > 0 ? sum / all : NAN));
    set_part_noise(&value, capture, (enum diff_group)(metric->which % DIFF_HOST), share);
    return value;
}

/* Whether none is a count, not a gap: of the work of devices where any was seen at work. */
static bool would_have(const struct nl_trace *trace, int which)
{
    bool device = nl_has_device_work(trace) || trace->device.rows;
    return which <= DEVICE_LAST ? device : trace->kernel.rows || trace->op.rows;
}

static struct nl_metric_value count_value(const struct nl_metric *metric, struct diff_side *capture)
{
    static const struct {
        const char *starts, *unit;
        bool whole; /* the text must be all */
    } rows[] = {{"kernels", "count", true},
                {"launches of kernels", "count", true},
                {"calls that synchronise", "count", true},
                {"calls that block", "count", true},
                {"copies", "count", false},
                {"copies", "bytes", false},
                {"collective", "count", false},
                {"collective", "bytes", false},
                {"allocations recorded", "count", true},
                {"compilations", "count", true},
                {"operators", "count", true}};
    struct nl_result *counts = diff_counts(capture, capture);
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < counts->rows; i++) {
        struct nl_str what = nl_lookup_text(counts, i, "what");
        double each = nl_lookup_f64(counts, i, "base_per_step");
        if (!nl_str_is(nl_lookup_text(counts, i, "unit"), rows[metric->which].unit) ||
            (rows[metric->which].whole ? !nl_str_is(what, rows[metric->which].starts)
                                       : !nl_str_starts(what, rows[metric->which].starts)))
            continue;
        sum += isnan(each) ? nl_lookup_f64(counts, i, "base") : each;
        any = true;
    }
    nl_result_free(counts);
    bool recorded = would_have(capture->trace, metric->which);
    return any ? known_value(sum, 0) : recorded ? known_value(0, 0) : unknown("not recorded");
}

/* ---- the run document's metrics ---- */

static double document_number(const struct nl_buf *text, const char *name)
{
    json_t *document = json_loadb(text->ptr, text->len, 0, NULL);
    const json_t *rows = json_object_get(document, "metrics");
    double number = NAN;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *value = json_object_get(row, "value");
        const char *of = json_string_value(json_object_get(row, "name"));
        if (of && strcmp(of, name) == 0 && json_is_number(value))
            number = json_number_value(value);
    }
    json_decref(document);
    return number;
}

static struct nl_metric_value document_value(const struct nl_metric *metric,
                                             const struct diff_side *capture,
                                             const struct nl_diff_input *input)
{
    static const char *const shares[DIFF_HOST] = {[DIFF_COMPUTE] = "step_compute_share",
                                                  [DIFF_COMM] = "step_exposed_comm_share",
                                                  [DIFF_COPY] = "step_exposed_copy_share",
                                                  [DIFF_IDLE] = "step_idle_share"};
    struct nl_rundoc_setting settings[64];
    size_t count = 0;
    struct nl_buf text;
    struct nl_err err = {0};
    for (size_t i = 0; input && i < input->fact_count && count < 64; i++)
        if (strncmp(input->facts[i].key, "workload.", 9) == 0)
            settings[count++] =
                (struct nl_rundoc_setting){input->facts[i].key, input->facts[i].value};
    struct nl_rundoc_options options = {
        .settings = settings, .setting_count = count, .event_limit = 1, .brief = true};
    nl_buf_init(&text, MAX_DOCUMENT);
    double number = nl_rundoc_write(capture->trace, &options, NULL, &text, &err)
                        ? document_number(&text, metric->column)
                        : NAN;
    nl_buf_release(&text);
    if (isnan(number))
        return unknown("an input of it is not known; docs/metrics.md names them");
    bool part = strstr(metric->column, "share") != NULL;
    struct nl_metric_value value =
        known_value(number, part ? part_se(steps_se(capture), number) : steps_se(capture));
    for (size_t group = 0; group < DIFF_HOST; group++)
        if (strcmp(metric->column, shares[group]) == 0)
            set_part_noise(&value, capture, (enum diff_group)group, true);
    return value;
}

/* ---- tables ---- */

/* The first column of texts is a row's name. */
static const char *name_column(const struct nl_result *result)
{
    static const char *const usual[] = {"name", "operator", "layer", "function", "kernel"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (nl_lookup_column(result, usual[i]) >= 0)
            return usual[i];
    for (size_t i = 0; i < result->column_count; i++)
        if (result->columns[i].meaning == NL_MEANS_TEXT)
            return result->columns[i].name;
    return NULL;
}

static bool row_fits(const struct nl_result *result, size_t row, const char *column,
                     const char *pattern)
{
    struct nl_str text = column ? nl_lookup_text(result, row, column) : (struct nl_str){"", 0};
    return nl_metric_fits(text, pattern);
}

static double cell_of(const struct nl_result *result, size_t row, const char *column)
{
    if (strcmp(column, "mean") == 0)
        return nl_lookup_f64(result, row, "total_ns") / nl_lookup_f64(result, row, "count");
    double value = nl_lookup_f64(result, row, column);
    char with_unit[80];
    if (!isnan(value) || nl_lookup_column(result, column) >= 0)
        return value;
    snprintf(with_unit, sizeof with_unit, "%s_ns", column);
    return nl_lookup_f64(result, row, with_unit);
}

static bool has_column(const struct nl_result *result, const char *column)
{
    char with_unit[80];
    snprintf(with_unit, sizeof with_unit, "%s_ns", column);
    return strcmp(column, "mean") == 0 || nl_lookup_column(result, column) >= 0 ||
           nl_lookup_column(result, with_unit) >= 0;
}

/* The sum of what adds up, the largest of what does not; how many rows there were. */
static double sum_rows(const struct nl_metric *metric, const struct nl_result *result, size_t *rows)
{
    const char *name = name_column(result);
    double sum = 0;
    bool adds = strstr(metric->column, "total") || strstr(metric->column, "count") ||
                strstr(metric->column, "bytes");
    *rows = 0;
    for (size_t i = 0; i < result->rows; i++) {
        double value = cell_of(result, i, metric->column);
        if (!row_fits(result, i, name, metric->row) || isnan(value))
            continue;
        sum = adds ? sum + value : !*rows || value > sum ? value : sum;
        ++*rows;
    }
    return sum;
}

static struct nl_metric_value table_value(const struct nl_metric *metric, struct diff_side *capture)
{
    struct nl_metric_value span = {NAN, TABLE_SE, NULL, 0};
    if (nl_metric_span(metric, capture, &span))
        return span;
    const struct nl_analysis *analysis = nl_analysis_find(metric->table);
    struct nl_err err = {0};
    struct nl_result *result =
        nl_analysis_run(analysis, capture->trace, &capture->options, NULL, &err);
    if (!result)
        return unknown("the table could not be made");
    size_t rows = 0;
    bool there = has_column(result, metric->column);
    double sum = there ? sum_rows(metric, result, &rows) : NAN;
    nl_result_free(result);
    if (!there)
        return unknown("the table has no such column");
    if (!rows)
        return unknown(metric->row ? "no such row in the table" : "the table is empty");
    return known_value(sum, metric->class == NL_METRIC_timed ? TABLE_SE : 0);
}

struct nl_metric_value nl_metric_of(const struct nl_metric *metric, struct diff_side *capture,
                                    const struct nl_diff_input *input)
{
    switch (metric->source) {
    case NL_METRIC_STEP:
    case NL_METRIC_LATENCY: return step_value(metric, capture);
    case NL_METRIC_TIME: return time_value(metric, capture);
    case NL_METRIC_GROUP: return group_value(metric, capture);
    case NL_METRIC_COUNT: return count_value(metric, capture);
    case NL_METRIC_DOCUMENT: return document_value(metric, capture, input);
    case NL_METRIC_TABLE: return table_value(metric, capture);
    }
    return unknown("not known");
}
