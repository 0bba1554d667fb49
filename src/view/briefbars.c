/* briefbars — bars of the first screen: see briefparts.h. */
#include "view/briefparts.h"

#include <math.h>

#include "base/units.h"
#include "tables/lookup.h"
#include "view/celltext.h"
#include "view/plot.h"

#define BAR               24
#define MIN_SHARE         0.0005
#define COMPUTE_LINES     3
#define MIN_COMPUTE_SHARE 0.01 /* of the time from first to last work */

static const struct {
    const char *column, *word;
    enum nl_ink ink;
} parts[NL_WHOLE_PARTS] = {{"compute_ns", "computing", NL_INK_compute},
                           {"exposed_comm_ns", "exposed communication", NL_INK_comm},
                           {"exposed_copy_ns", "exposed copies", NL_INK_copy},
                           {"idle_ns", "idle", NL_INK_idle},
                           {NULL, "CPU before and after its work", NL_INK_host}};

static void put_cells(struct brief *brief, const struct nl_verdict_bar *bar)
{
    struct nl_plot_part drawn[NL_WHOLE_PARTS];
    for (size_t i = 0; i < NL_WHOLE_PARTS; i++)
        drawn[i] = (struct nl_plot_part){parts[i].word, (double)bar->parts[i], parts[i].ink};
    nl_plot_stack(brief->out, drawn, NL_WHOLE_PARTS, BAR,
                  &(struct nl_plot_style){.ascii = brief->options->ascii,
                                          .color = brief->options->color,
                                          .shades = true});
}

/* `copies`: what exposed copies are called where memsets are among them. */
static void put_bar(struct brief *brief, const struct nl_verdict_bar *bar, size_t place,
                    const char *copies)
{
    char text[NL_UNIT_TEXT];
    const char *whole = brief->report->verdict->whole;
    struct nl_buf head, words;
    nl_buf_init(&head, 200);
    if (bar->rank != INT64_MIN)
        nl_buf_format(&head, "rank %lld ", (long long)bar->rank);
    nl_buf_format(&head, bar->device != INT64_MIN ? "device %lld" : "device",
                  (long long)bar->device);
    nl_buf_format(brief->out, "%-*s ", (int)place, head.ptr);
    nl_buf_release(&head);
    put_cells(brief, bar);
    nl_buf_init(&words, 400);
    for (size_t i = 0; i < NL_WHOLE_PARTS; i++) {
        double share = (double)bar->parts[i] / (double)bar->ns;
        if (share < MIN_SHARE)
            continue;
        nl_buf_format(&words, "%s%s", words.len ? ", " : "", nl_format_percent(text, share));
        nl_buf_format(&words, " %s", i == NL_WHOLE_COPY ? copies : parts[i].word);
    }
    nl_buf_format(&words, " of %s", nl_format_ns(text, bar->ns));
    if (brief->report->verdict->whole_steps)
        nl_buf_format(&words, " (%s)", whole);
    size_t room = brief->width > place + BAR + 3 ? brief->width - place - BAR - 3 : 0;
    if (nl_celltext_width((struct nl_str){words.ptr, words.len}) <= room) {
        nl_buf_format(brief->out, " %s\n", words.ptr);
    } else {
        nl_buf_char(brief->out, '\n');
        nl_buf_format(&brief->line, "%*s %s", (int)place, "", words.ptr);
        nl_brief_line(brief, "", place + 1);
    }
    nl_buf_release(&words);
}

/* A use of the peak that would round to nothing is small, not none. */
static const char *small_percent(char *text, double share)
{
    return share > 0 && share < 0.0005 ? "below 0.1 %" : nl_format_percent(text, share);
}

/* Whether operators take so little of the time that their efficiency does not matter. */
static bool is_little(const struct nl_result *rows)
{
    for (size_t row = 0; rows && row < rows->rows; row++)
        if (nl_str_is(nl_lookup_text(rows, row, "what"), "operators"))
            return nl_lookup_f64(rows, row, "share") < MIN_COMPUTE_SHARE;
    return false;
}

/* How good the compute is (the table `compute`), a line a row. */
static void put_compute(struct brief *brief)
{
    char text[NL_UNIT_TEXT];
    const struct nl_result *rows = nl_report_result(brief->report, "compute");
    if (is_little(rows))
        return;
    for (size_t row = 0; rows && row < rows->rows && row < COMPUTE_LINES; row++) {
        struct nl_str what = nl_lookup_text(rows, row, "what");
        struct nl_str says = nl_lookup_text(rows, row, "says");
        double share = nl_lookup_f64(rows, row, "share");
        nl_buf_format(&brief->line, "%-10s ", row ? "" : "efficiency");
        nl_buf_add(&brief->line, what.ptr, what.len);
        if (!isnan(share))
            nl_buf_format(&brief->line, " %s", small_percent(text, share));
        nl_buf_text(&brief->line, ": ");
        nl_buf_add(&brief->line, says.ptr, says.len);
        nl_brief_line(brief, "", 13);
    }
}

/* If the answer has no total: rows of the breakdown. */
static size_t bars_of(const struct nl_result *rows, struct nl_verdict_bar *bars)
{
    size_t count = 0;
    for (size_t row = 0; row < rows->rows && count < NL_VERDICT_BARS; row++) {
        struct nl_verdict_bar *bar = &bars[count];
        bar->ns = nl_lookup_i64(rows, row, "wall_ns");
        bar->rank = nl_lookup_i64(rows, row, "rank");
        bar->device = nl_lookup_i64(rows, row, "device");
        for (size_t i = 0; i < NL_WHOLE_PARTS; i++)
            bar->parts[i] = parts[i].column ? nl_lookup_i64(rows, row, parts[i].column) : 0;
        count += bar->ns != INT64_MIN && bar->ns > 0;
    }
    return count;
}

static void put_bars(struct brief *brief)
{
    const struct nl_verdict_words *verdict = brief->report->verdict;
    const struct nl_result *rows = nl_report_result(brief->report, "breakdown");
    struct nl_verdict_bar read[NL_VERDICT_BARS];
    const struct nl_verdict_bar *bars = verdict->bars;
    size_t count = verdict->bar_count, more = verdict->bar_more, place = 0;
    if (!rows || !rows->rows || verdict->class == NL_VERDICT_COUNTERS ||
        verdict->class == NL_VERDICT_NONE)
        return;
    if (!verdict->whole) {
        bars = read;
        count = bars_of(rows, read);
        more = count ? rows->rows - count : 0;
    }
    for (size_t i = 0; i < count; i++)
        place = bars[i].rank != INT64_MIN ? 16 : place < 9 ? 9 : place;
    for (size_t i = 0; i < count; i++)
        put_bar(brief, &bars[i], place, nl_exposed_copy_word(rows));
    if (more) {
        nl_buf_format(&brief->line, "… %zu more devices (--section time_breakdown)", more);
        nl_brief_line(brief, DIM, 2);
    }
}

void nl_brief_devices(struct brief *brief)
{
    put_bars(brief);
    if (brief->out->len || brief->report->verdict->class == NL_VERDICT_CPU_ONLY)
        put_compute(brief);
}
