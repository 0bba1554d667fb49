/* The order of a diff: a unit that both sides have, their parts, pairs, the
 * judgement, the tables. */
#include "compare/diffefficiency.h"
#include "compare/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/diffcounts.h"
#include "compare/difffacts.h"
#include "compare/diffcounters.h"
#include "compare/diffdoc.h"
#include "compare/diffplain.h"
#include "compare/diffnoise.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"
#include "compare/diffunit.h"
#include "compare/diffjudge.h"

const char *const nl_diff_sections[] = {"verdict",    "comparability", "pace",     "excluded_steps",
                                        "parts",      "attribution",   "devices",  "operators",
                                        "modules",    "ranges",        "layers",   "cpu_operators",
                                        "efficiency", "counts",        "counters", "facts",
                                        "recorded",   "next",          NULL};

void diff_doc_add(struct diff_doc *doc, struct nl_result *result)
{
    doc->report->results[doc->report->result_count++] = result;
}

/* The first unit that both allow. */
static enum diff_unit choose_unit(struct diff_side *base, struct diff_side *changed)
{
    enum diff_unit unit = DIFF_BY_STEP;
    while (unit < DIFF_UNITS && !diff_sides_allow(base, changed, unit))
        unit++;
    return unit;
}

static void add_rows(struct diff_doc *doc)
{
    diff_doc_add(doc, diff_parts_table(doc));
    diff_doc_add(doc, diff_rows_table(doc, "attribution", "What changed, largest first", &doc->rows,
                                      doc->base.units, doc->changed.units));
    diff_doc_add(doc, diff_devices_table(doc));
}

/* The same change by what launched the work; without rows if a side does not say. */
static void add_pairs(struct diff_doc *doc, struct diff_parts *base, struct diff_parts *changed,
                      const char *name, const char *title)
{
    struct diff_rows rows = {0};
    diff_pair(&rows, &doc->base, base, &doc->changed, changed, false);
    diff_rows_judge(&rows, &doc->base, &doc->changed, &doc->noise);
    diff_doc_add(doc,
                 diff_rows_table(doc, name, title, &rows, doc->base.units, doc->changed.units));
    diff_rows_release(&rows);
}

/* False, with empty parts, if a side does not say. */
static bool make_lens(struct diff_doc *doc, enum diff_lens lens, struct diff_parts *base,
                      struct diff_parts *changed)
{
    if (doc->base.unit <= DIFF_BY_WORK && diff_parts_make(base, &doc->base, lens) &&
        diff_parts_make(changed, &doc->changed, lens))
        return true;
    diff_parts_release(base);
    diff_parts_release(changed);
    *base = *changed = (struct diff_parts){0};
    return false;
}

static void add_lens(struct diff_doc *doc, enum diff_lens lens, const char *name, const char *title)
{
    struct diff_parts base = {0}, changed = {0};
    (void)make_lens(doc, lens, &base, &changed);
    add_pairs(doc, &base, &changed, name, title);
    diff_parts_release(&base);
    diff_parts_release(&changed);
}

/* Another unit in addition to the one that is compared: separate sums. */
static void add_beside(struct diff_doc *doc, const struct nl_diff_input *base,
                       const struct nl_diff_input *changed, enum diff_unit unit,
                       const char *const name[2])
{
    struct diff_side a, b;
    struct diff_parts a_parts = {0}, b_parts = {0};
    struct diff_rows rows = {0};
    diff_team_open(&a, base);
    diff_team_open(&b, changed);
    if (doc->base.unit != unit && diff_sides_allow(&a, &b, unit) &&
        (unit != DIFF_BY_HOST || diff_captures(&a)->host_kind == NL_KIND_OP) &&
        diff_side_measure(&a, unit, &a_parts) && diff_side_measure(&b, unit, &b_parts)) {
        diff_pair(&rows, &a, &a_parts, &b, &b_parts, false);
        diff_rows_judge(&rows, &a, &b, &doc->noise);
    }
    diff_doc_add(doc, diff_rows_table(doc, name[0], name[1], &rows, a.units, b.units));
    diff_rows_release(&rows);
    diff_parts_release(&a_parts);
    diff_parts_release(&b_parts);
    diff_side_release(&a);
    diff_side_release(&b);
}

/* Measures both by the unit, or neither. */
static bool measure_sides(struct diff_doc *doc, enum diff_unit unit)
{
    bool base = diff_side_measure(&doc->base, unit, &doc->base_parts);
    bool changed = diff_side_measure(&doc->changed, unit, &doc->changed_parts);
    if (base && changed)
        return true;
    doc->base.unit = doc->changed.unit = DIFF_UNITS;
    doc->base.sum = doc->changed.sum = 0;
    doc->base.by_step = doc->changed.by_step = false;
    doc->base_parts.count = doc->changed_parts.count = 0;
    return false;
}

/* Of both sides the larger, so that the other way round is the negative. Where what other programs
 * took is left out, captures differ by less than the runs of a ledger, which have it. */
static struct nl_noise choose_noise(const struct diff_doc *doc, const struct nl_noise *a,
                                    const struct nl_noise *b)
{
    if (diff_knows_kept(&doc->base) || diff_knows_kept(&doc->changed))
        return (struct nl_noise){0};
    return a->sd >= b->sd ? *a : *b;
}

void diff_doc_compare(struct diff_doc *doc, const struct nl_diff_input *base,
                      const struct nl_diff_input *changed)
{
    doc->base_word = base->word;
    doc->changed_word = changed->word;
    doc->base_all = base->all ? base->all : base->word;
    doc->changed_all = changed->all ? changed->all : changed->word;
    diff_team_open(&doc->base, base);
    diff_team_open(&doc->changed, changed);
    diff_find_plain((struct diff_side *const[]){&doc->base, &doc->changed}, 2);
    enum diff_unit unit = choose_unit(&doc->base, &doc->changed);
    if (unit < DIFF_UNITS && measure_sides(doc, unit))
        diff_pair(&doc->rows, &doc->base, &doc->base_parts, &doc->changed, &doc->changed_parts,
                  true);
    doc->noise = choose_noise(doc, &base->noise, &changed->noise);
    if (unit < DIFF_UNITS)
        diff_rows_judge(&doc->rows, &doc->base, &doc->changed, &doc->noise);
    doc->has_ops = make_lens(doc, DIFF_BY_OPERATOR, &doc->base_ops, &doc->changed_ops);
    diff_judge(&doc->sureness,
               &(struct diff_judged){&doc->base, &doc->base_parts,
                                     doc->has_ops ? &doc->base_ops : NULL, base},
               &(struct diff_judged){&doc->changed, &doc->changed_parts,
                                     doc->has_ops ? &doc->changed_ops : NULL, changed},
               &doc->noise);
    diff_pace_find(&doc->pace, &doc->base, &doc->changed, &doc->rows);
    struct diff_sureness *s = &doc->sureness;
    if ((s->verdict == DIFF_UNTOLD || s->verdict == DIFF_UNKNOWN) && diff_is_same(doc)) {
        s->verdict = DIFF_NO_CHANGE; /* whatever captures vary by: this is one capture twice */
        s->reason = "identical: every part is the same on both sides";
        s->more = 0;
    }
    if (diff_is_other_work(doc) && doc->sureness.verdict == DIFF_UNKNOWN)
        doc->sureness.reason = "one side did less of the same work, and there are no steps to "
                               "compare by";
}

static void write_report(struct diff_doc *doc, const struct nl_diff_input *base,
                         const struct nl_diff_input *changed)
{
    struct nl_result *counts = diff_counts(&doc->base, &doc->changed);
    struct nl_result *next = diff_next_table(doc, false);
    diff_headlines(doc, counts, next);
    diff_doc_add(doc, diff_verdict_table(doc));
    diff_doc_add(doc, doc->sureness.facts);
    diff_doc_add(doc, diff_pace_table(doc));
    diff_doc_add(doc, diff_apart_table(doc));
    add_rows(doc);
    add_pairs(doc, &doc->base_ops, &doc->changed_ops, "operators",
              "By operator that launched the work");
    add_lens(doc, DIFF_BY_MODULE, "modules", "By module that launched the work");
    add_lens(doc, DIFF_BY_RANGE, "ranges", "By range that launched the work");
    add_beside(doc, base, changed, DIFF_BY_LAYER,
               (const char *[]){"layers", "By layer of the model"});
    add_beside(doc, base, changed, DIFF_BY_HOST,
               (const char *[]){"cpu_operators", "Operators on the CPU, self time"});
    diff_doc_add(doc, diff_efficiency(&doc->base, &doc->changed));
    diff_doc_add(doc, counts);
    diff_doc_add(doc, diff_counters(&doc->base, &doc->changed));
    diff_doc_add(doc, diff_facts(&doc->base, &doc->changed));
    diff_doc_add(doc, diff_recorded_table(doc));
    diff_doc_add(doc, next);
}

void diff_doc_release(struct diff_doc *doc)
{
    diff_rows_release(&doc->rows);
    diff_parts_release(&doc->base_parts);
    diff_parts_release(&doc->changed_parts);
    diff_parts_release(&doc->base_ops);
    diff_parts_release(&doc->changed_ops);
    diff_side_release(&doc->base);
    diff_side_release(&doc->changed);
    nl_free(doc);
}

struct nl_report *nl_diff_new(const struct nl_diff_input *base, const struct nl_diff_input *changed,
                              const char *section, bool *comparable, struct nl_job *job,
                              struct nl_err *err)
{
    struct diff_doc *doc = nl_zalloc(sizeof *doc);
    struct nl_report *report = nl_zalloc(sizeof *report);
    doc->report = report;
    report->name = "diff";
    report->title = "Comparison";
    nl_arena_init(&report->arena);
    report->results =
        nl_arena_alloc(&report->arena, sizeof nl_diff_sections / sizeof nl_diff_sections[0] *
                                           sizeof *report->results);
    diff_doc_compare(doc, base, changed);
    write_report(doc, base, changed);
    *comparable = doc->sureness.verdict != DIFF_INCOMPARABLE;
    diff_doc_release(doc);
    if (section)
        nl_report_keep(report, section);
    if (!nl_job_cancelled(job))
        return report;
    nl_report_free(report);
    nl_fail(err, NL_INTERRUPTED, "interrupted");
    return NULL;
}
