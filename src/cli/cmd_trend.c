/* trend: a metric over the runs of the ledger, where it changed, and a plot of it. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "cli/ledgercall.h"
#include "cli/trendalert.h"
#include "compare/changepoint.h"
#include "compare/metricexpr.h"
#include "base/median.h"
#include "ledger/runfield.h"
#include "ledger/runseries.h"
#include "tables/resultcells.h"
#include "view/plot.h"

#define PLOT_LINES 10
#define MIN_LEVEL  4 /* points: fewer are a spike */
#define NOTHING    "no run of the ledger has this metric; `neurolens show @` lists those of the newest"

struct trend_options {
    int by;
    int64_t window;
    const char *magnitude;
    bool fail_on_change;
    const char *alert, *webhook;
};

static const struct trend_options *trend_own(const struct nl_call *call)
{
    return call->own;
}

enum by { BY_RUN, BY_COMMIT, BY_DAY };
static const char *const by_names[] = {"run", "commit", "day", NULL};
static const char *const sections[] = {"changes", "series", NULL};

static const struct nl_option trend_options[] = {
    {"by", 0, NL_OPTION_CHOICE, NL_OWN(trend_options, by), "WHAT",
     "a point for each run (default), commit or day: the median of its runs", by_names},
    {"window", 0, NL_OPTION_NUMBER, NL_OWN(trend_options, window), "N",
     "points in each window that is searched for a change (default 50)", NULL},
    {"magnitude", 0, NL_OPTION_TEXT, NL_OWN(trend_options, magnitude), "SHARE",
     "smallest change that counts, such as 2% (default)", NULL},
    {"fail-on-change", 0, NL_OPTION_FLAG, NL_OWN(trend_options, fail_on_change), NULL,
     "exit with 1 if the metric changed for the worse", NULL},
    {"alert", 0, NL_OPTION_TEXT, NL_OWN(trend_options, alert), "COMMAND",
     "if the newest change is for the worse, run this shell command with the alert as JSON on its "
     "standard input; once per change",
     NULL},
    {"webhook", 0, NL_OPTION_TEXT, NL_OWN(trend_options, webhook), "URL",
     "likewise, POST the JSON to this URL (with curl)", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME", "only this table: changes or series",
     sections},
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "only the newest N runs", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row", NULL},
    NL_OPTIONS_END,
};

/* ---- points ---- */

struct point {
    double value;
    const struct nl_series_run *first, *last;
    size_t runs;
};

struct trend {
    struct nl_series series;
    struct point *points;
    double *values; /* of the points */
    size_t count;
    struct nl_change *changes;
    size_t change_count;
    bool less_is_worse;
    const char *word; /* the metric as it was asked for */
};

static bool same_point(enum by by, const struct nl_series_run *a, const struct nl_series_run *b)
{
    if (by == BY_COMMIT)
        return a->commit && b->commit && strcmp(a->commit, b->commit) == 0;
    return by == BY_DAY && a->added_ns / NL_DAY_NS == b->added_ns / NL_DAY_NS;
}

static void make_points(struct trend *trend, enum by by, size_t newest)
{
    const struct nl_series *s = &trend->series;
    size_t from = newest && s->count > newest ? s->count - newest : 0;
    double *values = nl_alloc((s->count + 1) * sizeof *values);
    trend->points = nl_alloc((s->count + 1) * sizeof *trend->points);
    trend->values = nl_alloc((s->count + 1) * sizeof *trend->values);
    for (size_t i = from, next; i < s->count; i = next) {
        size_t n = 0;
        for (next = i;
             next < s->count && (next == i || same_point(by, &s->items[i], &s->items[next]));)
            values[n++] = s->items[next++].value;
        trend->values[trend->count] = nl_median_f64(values, n);
        trend->points[trend->count] =
            (struct point){trend->values[trend->count], &s->items[i], &s->items[next - 1], n};
        trend->count++;
    }
    nl_free(values);
}

/* Whether less is worse: as the metric's rule has it, else by its name. */
static bool less_is_worse(const char *metric, const char *name)
{
    static const char *const good[] = {"_per_s", "mfu", "busy", "overlap", "compute_share"};
    struct nl_metric parsed;
    struct nl_arena arena;
    struct nl_err err = {0};
    size_t at = 0;
    nl_arena_init(&arena);
    bool worse = nl_metric_parse(metric, &at, &parsed, &arena, &err) && parsed.less_is_worse;
    nl_arena_free(&arena);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        worse = worse || strstr(name, good[i]);
    return worse;
}

static bool is_worse(const struct trend *trend, const struct nl_change *change)
{
    return trend->less_is_worse ? change->after < change->before : change->after > change->before;
}

/* ---- tables ---- */

#define CHANGES(C)                                                                                 \
    C(added, "since", TEXT)                                                                        \
    C(id, "run", TEXT)                                                                             \
    C(change_share, "change", CHANGE_SHARE)                                                        \
    C(before, NULL, WEIGHT)                                                                        \
    C(after, NULL, WEIGHT)                                                                         \
    C(unit, NULL, UNIT)                                                                            \
    C(worse, NULL, TEXT)                                                                           \
    C(commit_before, "last good commit", TEXT)                                                     \
    C(commit, NULL, TEXT)                                                                          \
    C(p, NULL, NUMBER)                                                                             \
    C(points_before, NULL, COUNT)                                                                  \
    C(points_after, NULL, COUNT)
#define CHANGE_PLACE(name, head, meaning) CHANGE_##name,
enum { CHANGES(CHANGE_PLACE) CHANGE_COLUMNS };
static const struct nl_result_column change_columns[] = {CHANGES(NL_COLUMN_ROW)};

#define SERIES(C)                                                                                  \
    C(added, NULL, TEXT)                                                                           \
    C(id, "run", TEXT)                                                                             \
    C(value, NULL, WEIGHT)                                                                         \
    C(unit, NULL, UNIT)                                                                            \
    C(commit, NULL, TEXT)                                                                          \
    C(branch, NULL, TEXT)                                                                          \
    C(host, NULL, TEXT)                                                                            \
    C(runs, NULL, COUNT)
#define SERIES_PLACE(name, head, meaning) SERIES_##name,
enum { SERIES(SERIES_PLACE) SERIES_COLUMNS };
static const struct nl_result_column series_columns[] = {SERIES(NL_COLUMN_ROW)};

static const char *unit_of(enum nl_meaning meaning)
{
    return meaning == NL_MEANS_NS      ? "ns"
           : meaning == NL_MEANS_BYTES ? "bytes"
           : meaning == NL_MEANS_SHARE ? "share"
                                       : "";
}

static struct nl_cell number(double value, enum nl_meaning meaning)
{
    bool whole = meaning == NL_MEANS_NS || meaning == NL_MEANS_BYTES;
    return whole && fabs(value) < 9e18 ? nl_cell_i64(nl_whole_i64(value)) : nl_cell_f64(value);
}

static struct nl_cell text(struct nl_result *result, const char *value)
{
    return value ? nl_cell_text(result, nl_str(value)) : (struct nl_cell){0};
}

static struct nl_cell date(struct nl_result *result, int64_t ns)
{
    char out[NL_DATE_TEXT];
    return nl_cell_text(result, nl_str(nl_runfield_date(out, ns)));
}

static struct nl_result *changes_table(const struct trend *trend)
{
    struct nl_result *result = NL_ANSWER_NEW("changes", "Where it changed", change_columns);
    for (size_t i = 0; i < trend->change_count; i++) {
        const struct nl_change *c = &trend->changes[i];
        const struct point *point = &trend->points[c->index];
        struct nl_cell *cells = nl_result_row(result);
        cells[CHANGE_added] = date(result, point->first->added_ns);
        cells[CHANGE_id] = text(result, point->first->id);
        cells[CHANGE_change_share] = nl_cell_f64(c->after / c->before - 1);
        cells[CHANGE_before] = number(c->before, trend->series.meaning);
        cells[CHANGE_after] = number(c->after, trend->series.meaning);
        cells[CHANGE_unit] = nl_cell_static(unit_of(trend->series.meaning));
        cells[CHANGE_worse] = nl_cell_static(is_worse(trend, c) ? "yes" : "no");
        cells[CHANGE_commit_before] = text(result, point[-1].last->commit);
        cells[CHANGE_commit] = text(result, point->first->commit);
        cells[CHANGE_p] = nl_cell_f64(c->p);
        cells[CHANGE_points_before] = nl_cell_count(c->before_count);
        cells[CHANGE_points_after] = nl_cell_count(c->after_count);
    }
    return result;
}

static struct nl_result *series_table(const struct trend *trend)
{
    struct nl_result *result = NL_ANSWER_NEW("series", "Points, the newest first", series_columns);
    for (size_t i = trend->count; i-- > 0;) {
        const struct point *point = &trend->points[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[SERIES_added] = date(result, point->last->added_ns);
        cells[SERIES_id] = text(result, point->last->id);
        cells[SERIES_value] = number(point->value, trend->series.meaning);
        cells[SERIES_unit] = nl_cell_static(unit_of(trend->series.meaning));
        cells[SERIES_commit] = text(result, point->last->commit);
        cells[SERIES_branch] = text(result, point->last->branch);
        cells[SERIES_host] = text(result, point->last->host);
        cells[SERIES_runs] = nl_cell_count(point->runs);
    }
    return result;
}

/* ---- sentences and the plot ---- */

static void put_number(struct nl_buf *out, double value, enum nl_meaning meaning)
{
    struct nl_plot_style style = {0};
    nl_plot_number(out, value, meaning, &style);
}

static void say_change(struct nl_buf *out, const struct trend *trend, const struct nl_change *c)
{
    char share[NL_UNIT_TEXT], when[NL_DATE_TEXT];
    const struct point *point = &trend->points[c->index];
    nl_buf_format(out, "%s by %s since %.10s (run %.8s", c->after > c->before ? "up" : "down",
                  nl_format_percent(share, fabs(c->after / c->before - 1)),
                  nl_runfield_date(when, point->first->added_ns), point->first->id);
    if (point->first->commit && point[-1].last->commit)
        nl_buf_format(out, ", commits %.10s..%.10s", point[-1].last->commit, point->first->commit);
    nl_buf_text(out, "): ");
    put_number(out, c->before, trend->series.meaning);
    nl_buf_text(out, " → ");
    put_number(out, c->after, trend->series.meaning);
}

/* In what range no change was found. */
static void say_range(struct nl_buf *out, const struct trend *trend)
{
    double low = trend->values[0], high = low;
    for (size_t i = 1; i < trend->count; i++) {
        low = trend->values[i] < low ? trend->values[i] : low;
        high = trend->values[i] > high ? trend->values[i] : high;
    }
    if (!(high > low))
        return;
    nl_buf_text(out, " by more than they vary (");
    put_number(out, low, trend->series.meaning);
    nl_buf_text(out, " to ");
    put_number(out, high, trend->series.meaning);
    nl_buf_char(out, ')');
}

static void put_headlines(struct nl_report *report, const struct trend *trend)
{
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    if (!trend->change_count) {
        nl_buf_format(&out, "%s did not change over %zu points", trend->word, trend->count);
        if (trend->count > 1)
            say_range(&out, trend);
        if (trend->count) {
            nl_buf_text(&out, "; newest ");
            put_number(&out, trend->values[trend->count - 1], trend->series.meaning);
        }
    } else {
        nl_buf_format(&out, "%s went ", trend->word);
        say_change(&out, trend, &trend->changes[trend->change_count - 1]);
        if (trend->change_count > 1)
            nl_buf_format(&out, "; %zu earlier change%s", trend->change_count - 1,
                          trend->change_count > 2 ? "s" : "");
    }
    nl_buf_char(&out, '.');
    if (trend->series.without)
        nl_buf_format(&out, " %zu runs do not have it.", trend->series.without);
    report->headlines[report->headline_count++] = nl_arena_text(&report->arena, out.ptr, out.len);
    nl_buf_release(&out);
}

/* The points, and the levels between changes. */
static void plot(FILE *stream, const struct trend *trend, const struct nl_output *output)
{
    struct nl_plot_style style = {
        .width = output->width ? output->width : 100, .height = PLOT_LINES, .color = output->color};
    double *levels = nl_alloc((trend->count + 1) * sizeof *levels);
    struct nl_buf out;
    for (size_t i = 0, k = 0; i < trend->count; i++) {
        k += k < trend->change_count && trend->changes[k].index == i;
        levels[i] = !trend->change_count ? NAN
                    : k                  ? trend->changes[k - 1].after
                                         : trend->changes[0].before;
    }
    struct nl_plot_series series[] = {
        {.name = trend->series.name,
         .y = trend->values,
         .count = trend->count,
         .ink = NL_INK_compute},
        {.name = "level", .y = levels, .count = trend->count, .ink = NL_INK_bad}};
    nl_buf_init(&out, (size_t)1 << 22);
    nl_plot_lines(&out, series, trend->change_count ? 2 : 1,
                  &(struct nl_plot_axis){.label = "points, the newest on the right"},
                  &(struct nl_plot_axis){.meaning = trend->series.meaning}, &style);
    fwrite(out.ptr, 1, out.len, stream);
    fputc('\n', stream);
    nl_buf_release(&out);
    nl_free(levels);
}

/* ---- the command ---- */

static struct nl_report *make_report(const struct trend *trend, const char *section)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "trend";
    report->title = "Trend";
    report->results = nl_arena_alloc(&report->arena, 2 * sizeof *report->results);
    if (!section)
        put_headlines(report, trend);
    if (!section || strcmp(section, "changes") == 0)
        report->results[report->result_count++] = changes_table(trend);
    if (!section || strcmp(section, "series") == 0)
        report->results[report->result_count++] = series_table(trend);
    return report;
}

static bool show_trend(const struct nl_call *call, const struct trend *trend, struct nl_err *err)
{
    struct nl_output output;
    const char *section = call->settings.section;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    bool csv = strcmp(output.view->name, "csv") == 0;
    section = csv && !section ? "series" : section;
    struct nl_view_options options = {.section = section,
                                      .width = output.width,
                                      .color = output.color,
                                      .all = call->settings.all};
    if (strcmp(output.view->name, "text") == 0 && !section && trend->count > 1)
        plot(output.stream, trend, &output);
    struct nl_report *report = make_report(trend, section);
    bool done = output.view->render_report(output.stream, NULL, report, &options, err);
    nl_report_free(report);
    return nl_output_close(&output, call, done, err);
}

static bool read_magnitude(const char *word, double *share, struct nl_err *err)
{
    char *end;
    *share = word ? strtod(word, &end) / 100 : 0.02;
    if (word && (end == word || strcmp(end, "%") != 0 || !(*share >= 0)))
        return nl_fail(err, NL_USAGE, "--magnitude: expected a share such as 2%%, not '%s'", word);
    return true;
}

static bool find_series(struct trend *trend, struct nl_call *call, struct nl_ledger *ledger,
                        struct nl_err *err)
{
    struct nl_change_options options = NL_CHANGE_DEFAULTS;
    options.least = MIN_LEVEL;
    if (!read_magnitude(trend_own(call)->magnitude, &options.magnitude, err) ||
        !nl_ledger_series(ledger, call->argument[0], (const char *const *)call->argument + 1,
                          (size_t)call->count - 1, &trend->series, err))
        return false;
    if (trend_own(call)->window && trend_own(call)->window < 5)
        return nl_fail(err, NL_USAGE, "--window: a change needs 5 points at least");
    if (!trend->series.count && !trend->series.without)
        return nl_fail(err, NL_IO, "the ledger has no runs; `neurolens add PROFILE` puts one in");
    if (!trend->series.count)
        return nl_fail(err, NL_IO, NOTHING);
    options.window = trend_own(call)->window ? (size_t)trend_own(call)->window : options.window;
    make_points(trend, (enum by)trend_own(call)->by, (size_t)call->settings.limit);
    trend->word = call->argument[0];
    trend->less_is_worse = less_is_worse(call->argument[0], trend->series.name);
    trend->change_count = nl_change_points(trend->values, trend->count, &options, &trend->changes);
    for (size_t i = 0; trend_own(call)->fail_on_change && i < trend->change_count; i++)
        if (is_worse(trend, &trend->changes[i]))
            call->status = 1;
    return true;
}

/* Of the newest change, if it is for the worse. */
static bool alert_of_change(const struct trend *trend, const struct nl_call *call,
                            struct nl_err *err)
{
    const struct nl_change *c =
        trend->change_count ? &trend->changes[trend->change_count - 1] : NULL;
    struct nl_buf out;
    if (!c || !is_worse(trend, c))
        return true;
    const struct point *point = &trend->points[c->index];
    nl_buf_init(&out, 4096);
    nl_buf_format(&out, "%s went ", trend->word);
    say_change(&out, trend, c);
    nl_buf_char(&out, '\0');
    struct nl_trend_alert alert = {.metric = trend->word,
                                   .run = point->first->id,
                                   .sentence = out.ptr,
                                   .commit_before = point[-1].last->commit,
                                   .commit = point->first->commit,
                                   .before = c->before,
                                   .after = c->after,
                                   .unit = unit_of(trend->series.meaning)};
    struct nl_trend_listeners listeners = {trend_own(call)->alert, trend_own(call)->webhook};
    bool done = nl_trend_alert_send(&alert, &listeners, call, err);
    nl_buf_release(&out);
    return done;
}

static bool trend_run(struct nl_call *call, struct nl_err *err)
{
    struct trend trend = {0};
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done = ledger && find_series(&trend, call, ledger, err) && show_trend(call, &trend, err) &&
                alert_of_change(&trend, call, err);
    if (ledger)
        nl_series_release(&trend.series);
    nl_free(trend.points);
    nl_free(trend.values);
    nl_free(trend.changes);
    nl_ledger_close(ledger);
    return done;
}

const struct nl_command nl_command_trend = {
    .name = "trend",
    .group = "Compare",
    .summary = "history of a metric over the ledger, with change points",
    .usage = "METRIC [FILTER…]",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(trend_options, 0),
    .tables = NL_TABLES(trend_options, nl_common_options),
    .help = "Plots METRIC over the runs in the order they were added (FILTERs select them, as in "
            "`ls`)\n"
            "and says where its level changed, by how much, and between which commits. METRIC is\n"
            "step.p50, mfu, idle.share, kernels.count, op[\"aten::mm\"].p50, or any number that\n"
            "`neurolens show` lists. Change points are found by E-divisive means with Student's t, "
            "as in\n"
            "Apache Otava. With --fail-on-change, a change for the worse exits with 1.",
    .examples = "neurolens trend step.p50\n"
                "neurolens trend step.p50 branch=main --by commit --limit 500\n"
                "neurolens trend mfu --format csv --section changes\n"
                "neurolens trend step.p50 --fail-on-change || mail -s slower team@example.com",
    .run = trend_run,
};
