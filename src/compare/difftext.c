/* The sentences on top of a diff, and what to do next. Numbers come from
 * the tables' own sources. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "tables/shortname.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "compare/diffwords.h"
#include "compare/diffcountwords.h"
#include "compare/diffplain.h"

#define MEAN_APART 0.05 /* of the typical step: the mean says something else */
#define MIN_KEPT   0.01
#define FAR_APART  0.25  /* more than captures of one program differ, but for other clocks */
#define MEAN_SAME  0.002 /* of the typical step: the mean need not be reported as well */

/* ---- numbers ---- */

static void add_headline(struct diff_doc *doc, struct nl_buf *text)
{
    struct nl_report *report = doc->report;
    if (report->headline_count < NL_MAX_HEADLINES && text->len)
        report->headlines[report->headline_count++] =
            nl_arena_text(&report->arena, text->ptr, text->len);
    nl_buf_clear(text);
}

/* ---- sentences ---- */

/* Sums of samples of a clock are as long as the recording is. */
static void say_samples(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_side *a = &doc->base;
    bool sampled =
        a->unit == DIFF_BY_FUNCTION && a->functions && !strcmp(a->functions->name, "cpu_samples");
    bool clock = nl_str_is(a->weight, "ns") || nl_str_is(a->weight, "samples");
    if (sampled && clock && a->mean != doc->changed.mean)
        nl_buf_text(text,
                    " Samples add up to more the longer was recorded: compare shares, not sums.");
}

/* ---- faster or slower, by how much ---- */

static void put_interval(struct nl_buf *text, double low, double high)
{
    nl_buf_text(text, " (95 %: ");
    diff_put_percent(text, low - 1);
    nl_buf_text(text, " to ");
    diff_put_percent(text, high - 1);
    nl_buf_char(text, ')');
}

/* Of the mean, where single steps weigh so much that it says something else than the
 * typical step; NAN where not. */
static double mean_apart(const struct diff_doc *doc)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    const struct diff_sureness *s = &doc->sureness;
    bool steps = a->plain_count || (a->by_step && b->by_step);
    double mean = a->plain_count ? s->mean_ratio : (double)b->mean / (double)a->mean;
    return steps && s->basis == DIFF_BY_TYPICAL && fabs(mean - s->ratio) > MEAN_APART * s->ratio
               ? mean
               : NAN;
}

/* "99.00 us → 139.0 us", with the change in percent where that is not `told`. */
static void put_pair(const struct diff_doc *doc, struct nl_buf *text, int64_t a, int64_t b,
                     double told)
{
    double mean = (double)b / (double)a;
    diff_put_value(doc, text, a);
    if (a == b)
        return;
    nl_buf_text(text, " → ");
    diff_put_value(doc, text, b);
    if (a && !(fabs(mean - told) < MEAN_SAME)) {
        nl_buf_text(text, " (");
        diff_put_percent(text, mean - 1);
        nl_buf_char(text, ')');
    }
}

/* ", the mean -31.3 %", where single steps make it another. Returns what
 * has been said of the mean. */
static double put_mean_apart(const struct diff_doc *doc, struct nl_buf *text, const char *words)
{
    double mean = mean_apart(doc);
    if (isnan(mean))
        return doc->sureness.ratio;
    nl_buf_format(text, ", %s", words);
    diff_put_percent(text, mean - 1);
    return mean;
}

/* "mean step 99.00 us → 139.0 us": what the verdict is about, `told`: what was said of its mean. */
static void put_times(const struct diff_doc *doc, struct nl_buf *text, double told)
{
    bool step = doc->base.by_step && doc->base.unit == DIFF_BY_STEP;
    nl_buf_format(text, "%s ",
                  doc->base.plain_count ? "typical run without the profiler"
                  : step                ? "mean step"
                                        : diff_unit_words(&doc->base));
    put_pair(doc, text, diff_judged_time(&doc->base), diff_judged_time(&doc->changed), told);
}

/* Parts are of what ran under the profiler, where the verdict is about what did not. */
static void say_profiled(struct diff_doc *doc, struct nl_buf *text)
{
    if (!doc->base.plain_count || doc->base.unit == DIFF_UNITS || diff_is_same(doc))
        return;
    nl_buf_format(text, "Parts are of what ran under the profiler: %s ",
                  diff_unit_words(&doc->base));
    put_pair(doc, text, doc->base.mean, doc->changed.mean, NAN);
    if (doc->pace.other_work)
        nl_buf_text(text, ", of unequal amounts of work");
    nl_buf_char(text, '.');
    add_headline(doc, text);
}

/* A window as a shell takes it: names of ranges have apostrophes, too. */
static void put_window(struct nl_buf *text, struct nl_str range)
{
    struct nl_buf window;
    nl_buf_init(&window, DIFF_SENTENCE);
    nl_buf_format(&window, "[nvtx=\"%.*s\"]", (int)range.len, range.ptr);
    nl_buf_text(text, ", such as ");
    nl_buf_shell_word(text, (struct nl_str){window.ptr, window.len});
    nl_buf_release(&window);
}

static void put_rate(struct nl_buf *text, const char *before, double piece_ns)
{
    double rate = 1e9 / piece_ns;
    nl_buf_format(text, rate < 1000 ? "%s%.4g" : "%s%.0f", before, rate);
}

/* Without steps, and with less of the same work on one side, the times are
 * not of the same thing. */
static void say_other_work(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_pace *pace = &doc->pace;
    double work = pace->changed_pieces / pace->base_pieces - 1;
    double each = pace->changed_piece_ns / pace->base_piece_ns - 1;
    bool windows = doc->base.window.has_time || doc->changed.window.has_time;
    char share[NL_UNIT_TEXT];
    nl_buf_text(text, "per operation, B takes ");
    if (each > NL_MANYFOLD)
        nl_buf_format(text, "%.3g times as long (", each + 1);
    else
        nl_buf_format(text, "%s %s (", nl_format_percent(share, fabs(each)),
                      each > 0 ? "longer" : "less");
    diff_put_value(doc, text, nl_whole_i64(pace->base_piece_ns));
    nl_buf_text(text, " → ");
    diff_put_value(doc, text, nl_whole_i64(pace->changed_piece_ns));
    nl_buf_text(text, "); ");
    if (pace->same_length)
        nl_buf_format(text, "both %s span the same time (", windows ? "windows" : "captures");
    else
        nl_buf_text(text, "the times are of unequal amounts of work (");
    put_times(doc, text, doc->sureness.ratio);
    nl_buf_format(text, "), and B did %s %s of the same work: %.6g and %.6g operations%s",
                  nl_format_percent(share, fabs(work)), work < 0 ? "less" : "more",
                  pace->base_pieces, pace->changed_pieces,
                  doc->base.unit <= DIFF_BY_WORK && doc->base.device_count > 1 ? " a device" : "");
    if (doc->base.unit == DIFF_BY_WALL) {
        put_rate(text, ", ", pace->base_piece_ns);
        put_rate(text, " and ", pace->changed_piece_ns);
        nl_buf_text(text, " a second");
    }
    struct nl_str range = diff_common_range(doc);
    nl_buf_text(text, ". Mark steps, or give windows of the same work");
    if (range.len)
        put_window(text, range);
}

bool diff_is_same(const struct diff_doc *doc)
{
    for (size_t i = 0; i < doc->rows.count; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        if (row->base_ns != row->changed_ns || row->match != DIFF_SAME)
            return false;
    }
    return doc->base.mean == doc->changed.mean &&
           diff_judged_time(&doc->base) == diff_judged_time(&doc->changed);
}

bool diff_is_noise(const struct diff_doc *doc)
{
    enum diff_verdict verdict = doc->sureness.verdict;
    if (verdict != DIFF_UNTOLD && verdict != DIFF_NO_CHANGE)
        return false;
    for (size_t i = 0; i < doc->rows.count; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        bool other = row->match != DIFF_SAME && row->group != DIFF_IDLE;
        if (row->flagged || (row->base_ns != row->changed_ns && (isnan(row->p) || other)))
            return false;
    }
    return true;
}

/* What makes it slower or faster: the typical step, the mean, or single steps. */
static void say_by(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_sureness *s = &doc->sureness;
    double ratio = s->basis == DIFF_BY_TYPICAL ? s->ratio : s->mean_ratio;
    nl_buf_format(text, "%s by ", s->verdict == DIFF_SLOWER ? "Slower" : "Faster");
    char share[NL_UNIT_TEXT];
    nl_buf_text(text, nl_format_percent(share, fabs(ratio - 1)));
    if (s->basis == DIFF_BY_TYPICAL) {
        put_interval(text, s->low, s->high);
        if (!isnan(mean_apart(doc)))
            nl_buf_format(text, " in the typical %s", doc->base.plain_count ? "run" : "step");
        double told = put_mean_apart(doc, text, "the mean by ");
        nl_buf_text(text, ": ");
        put_times(doc, text, told);
        return;
    }
    nl_buf_text(text, " on average");
    if (s->basis == DIFF_BY_MEAN)
        put_interval(text, s->mean_low, s->mean_high);
    const char *step = doc->base.plain_count ? "run" : "step";
    nl_buf_format(text,
                  ": %zu of %zu %ss in A and %zu of %zu in B take over %.1f times the typical ",
                  s->slow[0], s->steps[0], step, s->slow[1], s->steps[1], NL_SLOW_STEP);
    nl_buf_format(text, "%s, which changes by ", step);
    diff_put_percent(text, s->ratio - 1);
}

/* After a verdict that does not speak of it. */
static void say_work_besides(const struct diff_doc *doc, struct nl_buf *text)
{
    enum diff_verdict verdict = doc->sureness.verdict;
    if (doc->base.unit == DIFF_UNITS || !diff_is_other_work(doc) || verdict == DIFF_UNTOLD ||
        verdict == DIFF_UNKNOWN || verdict == DIFF_INCOMPARABLE)
        return;
    nl_buf_text(text, " Without steps, by work: ");
    say_other_work(doc, text);
    nl_buf_char(text, '.');
}

/* Far apart, though it is unknown how much it varies. How much was sampled
 * says nothing of speed. */
static bool is_far_apart(const struct diff_doc *doc)
{
    const struct diff_sureness *s = &doc->sureness;
    return s->verdict == DIFF_UNKNOWN && doc->base.unit != DIFF_BY_FUNCTION &&
           isnan(mean_apart(doc)) && fabs(log(s->ratio)) >= log1p(FAR_APART);
}

/* No verdict, or that nothing changed. */
static void say_open(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_sureness *s = &doc->sureness;
    char share[NL_UNIT_TEXT];
    if (is_far_apart(doc)) {
        nl_buf_format(text, "%s by %s, but not certain", s->ratio > 1 ? "Slower" : "Faster",
                      nl_format_percent(share, fabs(s->ratio - 1)));
        return;
    }
    nl_buf_text(text, s->verdict == DIFF_NO_CHANGE ? "No significant change: " : "Inconclusive: ");
    if (!isnan(mean_apart(doc)))
        nl_buf_format(text, "the typical %s ", doc->base.plain_count ? "run" : "step");
    diff_put_percent(text, s->ratio - 1);
}

static void say_verdict(struct diff_doc *doc, struct nl_buf *text, const struct nl_result *counts)
{
    const struct diff_sureness *s = &doc->sureness;
    bool measured = doc->base.unit != DIFF_UNITS;
    if (s->verdict == DIFF_INCOMPARABLE) {
        nl_buf_format(text, "Cannot compare: %s", s->reason);
        if (measured) {
            nl_buf_text(text, ". As they are, ");
            put_times(doc, text, doc->sureness.ratio);
        }
    } else if (measured && diff_is_same(doc)) {
        nl_buf_text(text, "No difference: ");
        put_times(doc, text, doc->sureness.ratio);
        nl_buf_text(text, ", and every part is the same");
    } else if (s->verdict == DIFF_SLOWER || s->verdict == DIFF_FASTER) {
        say_by(doc, text);
    } else if (diff_is_other_work(doc) && s->verdict != DIFF_NO_CHANGE) {
        nl_buf_text(text, "Inconclusive without steps: ");
        say_other_work(doc, text);
    } else {
        say_open(doc, text);
        if (!isnan(s->low))
            put_interval(text, s->low, s->high);
        double told = put_mean_apart(doc, text, "the mean ");
        nl_buf_text(text, ": ");
        put_times(doc, text, told);
        if (isnan(s->low))
            nl_buf_format(text, "; %s", s->reason);
    }
    nl_buf_char(text, '.');
    diff_put_whole_steps(doc, text);
    diff_put_memory(doc, text, counts);
    say_work_besides(doc, text);
    say_samples(doc, text);
    add_headline(doc, text);
}

/* ---- how sure ---- */

static void say_needed(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_sureness *s = &doc->sureness;
    char share[NL_UNIT_TEXT];
    if (s->verdict != DIFF_UNTOLD)
        return;
    double change = fabs(s->ratio - 1) > 0.02 ? fabs(s->ratio - 1) : 0.02;
    if (s->more == SIZE_MAX)
        nl_buf_text(text, "; more captures would not decide soon: find out why they differ so");
    else if (s->more)
        nl_buf_format(text, "; %zu more capture%s per side would decide a change of %s", s->more,
                      s->more == 1 ? "" : "s", nl_format_percent(share, change));
}

/* What other programs took is reported from 1 % on. */
static void say_kept(struct nl_buf *text, const struct diff_side *a, const struct diff_side *b)
{
    double shares[2] = {diff_kept_share(a), diff_kept_share(b)};
    char first[NL_UNIT_TEXT], second[NL_UNIT_TEXT];
    if (!(shares[0] >= MIN_KEPT || shares[1] >= MIN_KEPT))
        return;
    nl_buf_format(text,
                  "; other programs had the processor for %s and %s of the time, which is left out",
                  nl_format_percent(first, shares[0]), nl_format_percent(second, shares[1]));
}

/* How captures differ, where the captures themselves hardly show it. */
static void say_noise(const struct diff_doc *doc, struct nl_buf *text, bool few)
{
    const struct nl_noise *noise = &doc->noise;
    char share[NL_UNIT_TEXT];
    if (noise->sd > 0)
        nl_buf_format(text, "; captures of this program differ by %s%s%s (%zu runs in the ledger)",
                      nl_format_percent(share, noise->sd), noise->host ? " on " : "",
                      noise->host ? noise->host : "", noise->runs);
    else if (few)
        nl_buf_text(text,
                    "; one capture per side: captures of one program differ by a percent or more");
}

static void say_sure(struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    const struct diff_sureness *s = &doc->sureness;
    size_t n = diff_capture_count(a), m = diff_capture_count(b);
    if (isnan(s->low) || s->verdict == DIFF_INCOMPARABLE || diff_is_same(doc))
        return;
    nl_buf_format(text, "Measured: %zu and %zu capture%s", n, m, n + m > 2 ? "s" : "");
    size_t steps, others;
    (void)diff_judged_lengths(a, &steps);
    (void)diff_judged_lengths(b, &others);
    if (steps)
        nl_buf_format(text, ", %zu and %zu %s", steps, others,
                      a->plain_count ? "runs without the profiler" : "steady steps");
    if (!a->plain_count && a->warm_up + a->compile + b->warm_up + b->compile)
        nl_buf_format(text, " (%zu and %zu excluded as warm-up or compile)",
                      a->warm_up + a->compile, b->warm_up + b->compile);
    say_kept(text, a, b);
    if (!isnan(mean_apart(doc))) {
        const char *step = a->plain_count ? "run" : "step";
        nl_buf_format(text, "; single %ss weigh much: the typical %s changes by ", step, step);
        diff_put_percent(text, s->ratio - 1);
        nl_buf_text(text, ", the mean by ");
        diff_put_percent(text, mean_apart(doc) - 1);
    }
    say_noise(doc, text, n < 2 || m < 2);
    if (s->outlying)
        nl_buf_format(text, "; far from the others of its side: %s", s->outlying);
    say_needed(doc, text);
    nl_buf_char(text, '.');
    add_headline(doc, text);
}

/* ---- because of what ---- */

static void say_clocks(const struct diff_doc *doc, struct nl_buf *text)
{
    struct diff_clocks clocks = diff_find_clocks(doc);
    char share[NL_UNIT_TEXT];
    if (!clocks.found)
        return;
    nl_buf_format(
        text,
        " %s takes %s %s: clocks or power of the GPU, not the code (%zu of %zu kernels alike).",
        clocks.alike == clocks.names ? "Every kernel" : "Nearly every kernel",
        nl_format_percent(share, fabs(clocks.ratio - 1)), clocks.ratio > 1 ? "longer" : "less",
        clocks.alike, clocks.names);
}

static int64_t told_of(const struct diff_doc *doc, int64_t base_ns, int64_t changed_ns)
{
    return nl_whole_i64(diff_told_change(doc, base_ns, changed_ns));
}

static const char *of_piece(const struct diff_doc *doc)
{
    return diff_tells_pieces(doc) ? ", per operation" : "";
}

static void say_parts(struct diff_doc *doc, struct nl_buf *text)
{
    int64_t sums[DIFF_GROUPS][2] = {0};
    size_t said = 0;
    for (size_t i = 0; i < doc->rows.count; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        nl_sum_add(&sums[row->group][0], row->base_ns);
        nl_sum_add(&sums[row->group][1], row->changed_ns);
    }
    if (doc->base.unit > DIFF_BY_WORK)
        return;
    for (size_t group = 0; group < DIFF_HOST; group++) {
        int64_t change = told_of(doc, sums[group][0], sums[group][1]);
        if (!change)
            continue;
        if (!said++) {
            nl_buf_format(text, "Because%s: ", of_piece(doc));
            diff_put_change(doc, text, told_of(doc, doc->base.mean, doc->changed.mean));
            nl_buf_text(text, " = ");
        } else {
            nl_buf_text(text, ", ");
        }
        nl_buf_format(text, "%s ", diff_group_text((enum diff_group)group));
        diff_put_change(doc, text, change);
    }
    if (said)
        nl_buf_text(text, diff_is_noise(doc) ? "; none of it is beyond noise." : ".");
    say_clocks(doc, text);
    add_headline(doc, text);
}

/* Names that changed where the time did not: of what takes a time that matters. */
static void say_renamed(const struct diff_doc *doc, struct nl_buf *text, size_t said)
{
    size_t count = 0;
    const struct diff_row *first = NULL;
    double least = DIFF_MATERIAL * (double)doc->base.mean;
    for (size_t i = 0; i < doc->rows.count; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        bool renamed = row->match == DIFF_RENAMED && row->group != DIFF_IDLE &&
                       !nl_str_eq(row->base, row->changed) && (double)row->base_ns >= least;
        if (renamed && !first)
            first = row;
        count += renamed;
    }
    if (!first)
        return;
    nl_buf_text(text, said ? ". Renamed, same time a call: " : "Renamed, same time a call: ");
    diff_put_apart(text, first->base, first->changed);
    nl_buf_text(text, " → ");
    diff_put_apart(text, first->changed, first->base);
    if (count > 1)
        nl_buf_format(text, " and %zu more", count - 1);
}

static void say_hidden(const struct diff_doc *doc, struct nl_buf *text, size_t said)
{
    const struct diff_row *row = diff_find_hidden(doc);
    if (!row)
        return;
    nl_buf_text(text, said ? ". Hidden behind other work: " : "Hidden behind other work: ");
    diff_put_name(doc, text, row);
    diff_put_what(doc, text, row);
}

/* "Reordered: bias_add runs before gelu_kernel now (12 of 32 places differ)" */
static void say_order(struct diff_doc *doc, struct nl_buf *text)
{
    struct diff_reordered found = diff_find_reordered(doc);
    if (!found.places)
        return;
    nl_buf_text(text, text->len ? ". Reordered: " : "Reordered: ");
    nl_elide_name(text, nl_short_kernel(found.now), DIFF_NAME_WIDTH);
    nl_buf_text(text, " runs before ");
    nl_elide_name(text, nl_short_kernel(found.before), DIFF_NAME_WIDTH);
    nl_buf_format(text, " now (%zu of %zu places differ)", found.places, found.of);
}

static void say_rows(struct diff_doc *doc, struct nl_buf *text)
{
    size_t said = 0, most = diff_find_clocks(doc).found ? 1 : DIFF_TOP_ROWS;
    const struct diff_row **rows = diff_rows_to_tell(doc);
    if (diff_is_noise(doc))
        most = 0;
    for (size_t i = 0; i < doc->rows.count && said < most; i++) {
        const struct diff_row *row = rows[i];
        if (said && diff_row_is_noise(row)) /* the largest is reported anyway */
            break;
        if (!told_of(doc, row->base_ns, row->changed_ns) ||
            (row->match == DIFF_RENAMED && !row->flagged))
            continue;
        if (said++)
            nl_buf_text(text, "; ");
        else
            nl_buf_format(text, "%s%s: ",
                          row->flagged && !diff_is_largest(doc, row) ? "Beyond noise" : "Most",
                          of_piece(doc));
        diff_put_row(doc, text, row);
    }
    nl_free(rows);
    say_renamed(doc, text, said);
    say_hidden(doc, text, text->len);
    say_order(doc, text);
    if (text->len)
        nl_buf_char(text, '.');
    add_headline(doc, text);
}

/* Tables that only one side has: what cannot be distinguished from "did not happen". */
static void say_lacks(struct diff_doc *doc, struct nl_buf *text)
{
    struct nl_result *recorded = diff_recorded_table(doc);
    for (int side = 1; side <= 2; side++) {
        size_t said = 0;
        for (size_t row = 0; row < recorded->rows; row++) {
            if (nl_result_cell(recorded, row, (size_t)side)->i64)
                continue;
            if (said)
                nl_buf_text(text, ", ");
            else
                nl_buf_format(text, "%sNot in %s: ", text->len ? " " : "", side == 1 ? "A" : "B");
            said++;
            struct nl_str what = nl_result_cell(recorded, row, 0)->text;
            nl_buf_add(text, what.ptr, what.len);
        }
        if (said)
            nl_buf_char(text, '.');
    }
    nl_result_free(recorded);
    add_headline(doc, text);
}

/* ---- what to do ---- */

static void say_next(struct diff_doc *doc, struct nl_buf *text, const struct nl_result *next)
{
    if (!next->rows || diff_is_same(doc))
        return;
    struct nl_str action = nl_lookup_text(next, 0, "do"),
                  verify = nl_lookup_text(next, 0, "verify");
    nl_buf_format(text, "Next: %.*s", (int)action.len, action.ptr);
    if (verify.len < DIFF_SENTENCE / 8) /* not a line of a hundred file names */
        nl_buf_format(text, ": %.*s", (int)verify.len, verify.ptr);
    add_headline(doc, text);
}

void diff_headlines(struct diff_doc *doc, const struct nl_result *counts,
                    const struct nl_result *next)
{
    struct nl_buf text;
    nl_buf_init(&text, DIFF_SENTENCE);
    say_verdict(doc, &text, counts);
    say_profiled(doc, &text);
    say_parts(doc, &text);
    say_rows(doc, &text);
    say_next(doc, &text, next);
    say_sure(doc, &text);
    diff_put_counts(doc, &text, counts);
    add_headline(doc, &text);
    say_lacks(doc, &text);
    nl_buf_release(&text);
}
