/*
 * difftextmade — a comparison whose numbers are made by hand, and the sentences about it.
 *
 *     struct difftext made;
 *     REQUIRE(difftext_make(&made));
 *     made.doc.sureness.verdict = DIFF_FASTER;
 *     CHECK_TEXT(sentence(&made, "Measured"), "Measured: 1 and 1 capture.");
 *     difftext_release(&made);
 */
#ifndef DIFFTEXTMADE_H
#define DIFFTEXTMADE_H

#include <math.h>

#include "check.h"
#include "compare/diffdoc.h"
#include "compare/diffwords.h"
#include "gputrace.h"
#include "tables/resultcells.h"

static const struct nl_result_column count_columns[] = {{"what", NULL, NL_MEANS_TEXT},
                                                        {"unit", NULL, NL_MEANS_TEXT},
                                                        {"base", "A", NL_MEANS_NUMBER},
                                                        {"new", "B", NL_MEANS_NUMBER}},
                                     next_columns[] = {{"do", NULL, NL_MEANS_TEXT},
                                                       {"verify", NULL, NL_MEANS_TEXT}};

/* A comparison by steps: 100 us became 120 us, which two kernels and idle time make. */
struct difftext {
    struct nl_trace *trace;
    struct nl_report report;
    struct diff_doc doc;
    struct diff_row rows[6];
    double plain[2][4];
    const char *verify; /* of what to do next; NULL: nothing */
};

static inline struct diff_row difftext_row(enum diff_group group, const char *name, int64_t base,
                                           int64_t changed)
{
    return (struct diff_row){.group = group,
                             .match = DIFF_SAME,
                             .base = nl_str(name),
                             .changed = nl_str(name),
                             .base_parts = 1,
                             .changed_parts = 1,
                             .base_count = 10,
                             .changed_count = 10,
                             .base_ns = base,
                             .changed_ns = changed,
                             .low = NAN,
                             .high = NAN,
                             .p = NAN,
                             .by_time = changed - base};
}

static inline bool difftext_make(struct difftext *made)
{
    struct gputrace trace;
    struct nl_window window = {0};
    gputrace_open(&trace);
    gputrace_kernel(&trace, 7, "gemm", 0, 2, 10, 90);
    *made = (struct difftext){.trace = gputrace_close(&trace)};
    if (!made->trace)
        return false;
    nl_arena_init(&made->report.arena);
    struct diff_doc *doc = &made->doc;
    doc->report = &made->report;
    doc->base_word = "a";
    doc->changed_word = "b";
    diff_side_open(&doc->base, made->trace, &window);
    diff_side_open(&doc->changed, made->trace, &window);
    doc->base.unit = doc->changed.unit = DIFF_BY_STEP;
    doc->base.by_step = doc->changed.by_step = true;
    doc->base.units = doc->changed.units = 10;
    doc->base.mean = 100000;
    doc->changed.mean = 120000;
    doc->base.length_count = 12;
    doc->changed.length_count = 13;
    made->rows[0] = difftext_row(DIFF_COMPUTE, "gemm", 50000, 66000);
    made->rows[1] = difftext_row(DIFF_COMPUTE, "gelu", 20000, 19000);
    made->rows[2] = difftext_row(DIFF_IDLE, "launch", 30000, 35000);
    doc->rows.items = made->rows;
    doc->rows.count = 3;
    doc->sureness = (struct diff_sureness){.verdict = DIFF_SLOWER,
                                           .ratio = 1.2,
                                           .low = 1.15,
                                           .high = 1.25,
                                           .mean_ratio = 1.2,
                                           .mean_low = 1.1,
                                           .mean_high = 1.3,
                                           .slow = {1, 2},
                                           .steps = {12, 13},
                                           .reason = "REASON"};
    return true;
}

static inline void difftext_release(struct difftext *made)
{
    diff_side_release(&made->doc.base);
    diff_side_release(&made->doc.changed);
    nl_arena_free(&made->report.arena);
    nl_trace_free(made->trace);
}

/* The sentence that begins with these words, "" where there is none; of the first: NULL. */
static inline const char *sentence(struct difftext *made, const char *start)
{
    struct nl_result *counts = nl_result_new("counts", "Counts", count_columns, 4);
    struct nl_result *next = nl_result_new("next", "Next", next_columns, 2);
    const char *found = NULL;
    if (made->verify) {
        struct nl_cell *cells = nl_result_row(next);
        cells[0] = nl_cell_static("look");
        cells[1] = nl_cell_text(next, nl_str(made->verify));
    }
    made->report.headline_count = 0;
    diff_headlines(&made->doc, counts, next);
    for (size_t i = 0; i < made->report.headline_count && !found; i++)
        if (!start || !strncmp(made->report.headlines[i], start, strlen(start)))
            found = made->report.headlines[i];
    nl_result_free(counts);
    nl_result_free(next);
    return found ? found : "";
}

#endif
