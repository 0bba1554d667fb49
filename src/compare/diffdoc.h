/*
 * diffdoc — everything known about a diff while its report is made, and who
 * writes which part of it.
 */
#ifndef NL_COMPARE_DIFFDOC_H
#define NL_COMPARE_DIFFDOC_H

#include "compare/diff.h"
#include "compare/diffpace.h"
#include "compare/diffsure.h"

struct diff_doc {
    struct diff_side base, changed;
    struct diff_parts base_parts, changed_parts; /* by name */
    struct diff_parts base_ops, changed_ops;     /* by operator, */
    bool has_ops;                                /* if both sides have them recorded */
    struct diff_rows rows;
    struct diff_sureness sureness;
    struct diff_pace pace;
    const char *base_word, *changed_word; /* of the first captures */
    const char *base_all, *changed_all;
    struct nl_noise noise;
    struct nl_report *report;
};

/* Compares two sides; `doc` is zeroed. Facts of `sureness` are the caller's to free or to add. The
 * release frees `doc`, too. */
void diff_doc_compare(struct diff_doc *doc, const struct nl_diff_input *base,
                      const struct nl_diff_input *changed);
void diff_doc_release(struct diff_doc *doc);

/* Whether times are of unequal amounts of the same work; runs without the
 * profiler are of one each. */
static inline bool diff_is_other_work(const struct diff_doc *doc)
{
    return doc->pace.other_work && !doc->base.plain_count;
}

/* Takes the result. */
void diff_doc_add(struct diff_doc *doc, struct nl_result *result);

/* Whether its numbers are ns; else they are in the unit of what was sampled. */
static inline bool diff_doc_in_ns(const struct diff_doc *doc)
{
    return doc->base.unit != DIFF_BY_FUNCTION || nl_str_is(doc->base.weight, "ns");
}

/* ---- difftables.c ---- */
struct nl_result *diff_verdict_table(const struct diff_doc *doc);
struct nl_result *diff_pace_table(const struct diff_doc *doc); /* without rows when not known */
struct nl_result *diff_parts_table(const struct diff_doc *doc);
struct nl_result *diff_devices_table(const struct diff_doc *doc);
struct nl_result *diff_apart_table(const struct diff_doc *doc); /* steps that are left out */
struct nl_result *diff_recorded_table(const struct diff_doc *doc);
/* Rows of pairing; `units` are what calls are divided by. */
struct nl_result *diff_rows_table(const struct diff_doc *doc, const char *name, const char *title,
                                  const struct diff_rows *rows, uint64_t base_units,
                                  uint64_t changed_units);

/* ---- diffpattern.c ---- */

/* Kernels that all changed by the same factor: clocks or power, not code. */
struct diff_clocks {
    bool found;
    double ratio;        /* of the time a call takes, B/A */
    size_t alike, names; /* kernels that changed so, of those on both sides */
};
struct diff_clocks diff_find_clocks(const struct diff_doc *doc);

/* The row whose calls changed most though the step shows little of it; NULL none. */
const struct diff_row *diff_find_hidden(const struct diff_doc *doc);

/* ---- difforder.c ---- */

/* The same kernels in another order: where a step of A has `before`, one of B has `now`. */
struct diff_reordered {
    struct nl_str before, now; /* of the first place that differs */
    size_t places, of;         /* places that differ; 0 = none, or not known */
};
struct diff_reordered diff_find_reordered(struct diff_doc *doc);

/* ---- difftext.c ---- */
/* The sentences; `counts` and `next` are tables of the report. */
void diff_headlines(struct diff_doc *doc, const struct nl_result *counts,
                    const struct nl_result *next);
/* `open`: a gate has no verdict, so captures come first. */
struct nl_result *diff_next_table(const struct diff_doc *doc, bool open);
/* Whether every part has the same time on both sides. */
bool diff_is_same(const struct diff_doc *doc);
/* Whether there is no verdict of a change, and no part changed beyond its
 * own noise or for another. */
bool diff_is_noise(const struct diff_doc *doc);

/* ---- diffrange.c ---- */
/* The NVTX range or annotation that both sides have equally often and that covers more than half of
 * the compared time of both, the largest share first, and whose name can stand in a window; empty
 * none, and where a side has a window already. Of the first captures. */
struct nl_str diff_common_range(const struct diff_doc *doc);

#endif
