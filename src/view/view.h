/*
 * view — answers on paper: results and reports as text for eyes, JSON, CSV or Markdown.
 *
 * A view is a row of views.def and a file: two functions that write to a FILE. `profile` gives the
 * facts that go with the answer; NULL for answers about no single profile (JSON says null). JSON is
 * the contract of the command line:
 *
 *   {"schema": "neurolens.NAME/1", "profile": {...}, "coverage": {"items": [...]}, "result": ...}
 *
 *   - a named analysis: result = [{column: value, ...}, ...]
 *   - SQL (options.matrix): result = {"columns": [{"name", "unit"}, ...], "rows": [[...], ...],
 *     "truncated": bool}
 *   - a report: result = {"headline": [...], KEY: [{...}, ...] for every result, and where causes
 *     were judged "findings": [...], "abstained": [{"cause", "reason"}, ...]}
 *
 * CSV is RFC 4180 with a header row: one result, or the section of a report that
 * options.section names. Text is made for eyes: it fits the width, elides long names in the middle
 * and shows the first options.rows rows of each table, saying how many it left out.
 */
#ifndef NL_VIEW_H
#define NL_VIEW_H

#include <stdio.h>

#include "base/json.h"
#include "answer/profile.h"
#include "answer/report.h"

/* Zeroed = 100 columns, no colour, 12 rows per table, names elided. */
struct nl_view_options {
    const char *schema; /* NAME of the JSON schema; NULL = the report's or result's name */
    /* The report holds one section, this one: shown even when empty, without anything else. csv:
     * NULL = "kernels", or the first with rows. */
    const char *section;
    bool matrix;       /* JSON: rows as arrays (SQL) instead of objects */
    unsigned width;    /* columns of the screen (text only); 0 = 100 */
    unsigned height;   /* lines of the screen, for plots; 0 = as the width suggests */
    bool ascii;        /* plots without anything but ASCII */
    bool color;        /* ANSI emphasis (text only); meaning never hangs on it */
    bool all;          /* text and md: every row and every empty section */
    bool brief;        /* text: a report with an answer on one screen (view/brief.h) */
    const char *input; /* what the user called the profile, quoted for a shell; NULL = PROFILE */
    const char
        *bare;    /* the same without a window of time, which sql does not take; NULL = PROFILE */
    size_t rows;  /* text and md: rows shown per table; 0 = 12 in reports, all for results */
    bool compact; /* JSON on one line */
    /* Of a comparison: what `profile` is compared with. JSON gets "base": {"profile", "coverage"};
     * text and md call it A, and the other B. */
    const struct nl_profile *base;
    bool every_column; /* text and md: also those without a value, however wide the line gets */
};

struct nl_view {
    const char *name; /* as in views.def */
    bool folds;       /* for eyes: ranges better go under folded names (timeline/fold.h) */
    /* Both fail with NL_WRITE when the stream does, and NL_USAGE for an unknown section. */
    bool (*render_result)(FILE *out, const struct nl_profile *profile,
                          const struct nl_result *result, const struct nl_view_options *options,
                          struct nl_err *err);
    bool (*render_report)(FILE *out, const struct nl_profile *profile,
                          const struct nl_report *report, const struct nl_view_options *options,
                          struct nl_err *err);
    const char *doc;
};

#define NL_VIEW(name) extern const struct nl_view nl_view_##name;
#include "view/views.def"
#undef NL_VIEW
/* csv where names of a profile must not act: on a terminal, in a spreadsheet. */
extern const struct nl_view nl_view_csv_terminal, nl_view_csv_sheet;
extern const struct nl_view *const nl_views[]; /* NULL-terminated */

/* A hundred rows for each device and direction (bandwidth): of no use to eyes in part, so reports
 * for eyes show it when it is asked for. */
bool nl_view_is_series(const struct nl_result *result);

/* Lines of a plot on a screen of that many, with room for a table below; 0 → 0. */
unsigned nl_view_plot_height(unsigned screen);

/* NULL when there is none of that name. */
const struct nl_view *nl_view_find(const char *name);

#endif
