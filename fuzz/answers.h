/*
 * answers — what is asked of a trace that a fuzz target loaded: every report in a view or as a
 * page, the run document, every export, the fingerprint, a difference with itself, and every
 * table in SQL. Whatever the profile says, nothing may end with NL_INTERNAL, which is for bugs
 * of ours, and JSON is JSON.
 *
 * With FUZZ_DEEP in the environment, as all that runs the targets has it, exports and pages are
 * asked for, and targets ask (answers_deep) that else only load.
 */
#ifndef NL_FUZZ_ANSWERS_H
#define NL_FUZZ_ANSWERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answersjson.h"

#include "answer/report.h"
#include "compare/diff.h"
#include "export/export.h"
#include "fingerprint/fingerprint.h"
#include "pages/page.h"
#include "rundoc/rundoc.h"
#include "sql/db.h"
#include "view/view.h"

#define ANSWERS_SLICES 4000 /* more of the same takes time and finds nothing */

static inline bool answers_deep(void)
{
    return getenv("FUZZ_DEEP") != NULL;
}

static inline void answers_fine(const char *what, const struct nl_err *err)
{
    if (err->code != NL_INTERNAL && (err->code == NL_OK || err->text[0]))
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static inline void answers_report(const struct nl_trace *trace, const char *plan, unsigned variant,
                                  FILE *out)
{
    struct nl_err err;
    struct nl_analyze_options options = {.fold = variant & 1, .all = variant & 2};
    nl_err_clear(&err);
    if (variant & 4)
        options.window = (struct nl_window){.has_time = true,
                                            .start = trace->first_ts / 2 + trace->last_ts / 2,
                                            .end = trace->last_ts};
    struct nl_report *report = nl_report_new(trace, plan, &options, NULL, &err);
    answers_fine(plan, &err);
    if (!report)
        return;
    const struct nl_view_options how = {.width = 100, .all = options.all};
    struct nl_profile *profile = nl_profile_new(trace, &options.window);
    const struct nl_page page = {.kind = "analyze", .title = "12_fuzz", .command = "neurolens"};
    bool shown = answers_deep() && variant % 9 == 8
                     ? nl_page_report(out, &page, trace, profile, report, &err)
                     : nl_views[variant % 4]->render_report(out, profile, report, &how, &err);
    answers_fine(shown ? "a view" : "a view that failed", &err);
    nl_profile_free(profile);
    nl_report_free(report);
}

static inline void answers_document(const struct nl_trace *trace)
{
    struct nl_err err;
    struct nl_buf text;
    struct nl_rundoc_source source = {
        .name = "12_fuzz",
        .sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
    struct nl_rundoc_options options = {.sources = &source, .source_count = 1};
    nl_err_clear(&err);
    nl_buf_init(&text, (size_t)64 << 20);
    bool done = nl_rundoc_write(trace, &options, NULL, &text, &err);
    answers_fine(done ? "a document" : "a document that failed", &err);
    nl_buf_release(&text);
}

/* One of the exports: whole or the later half, of tables one. */
static inline void answers_export(const struct nl_trace *trace, unsigned variant)
{
    struct nl_err err;
    struct nl_export export;
    struct nl_window window = {0};
    unsigned count = 0;
    char *text = NULL;
    size_t size = 0;
    while (nl_exporters[count].name)
        count++;
    const struct nl_exporter *exporter = &nl_exporters[variant % count];
    if (variant / count % 4 == 3)
        window = (struct nl_window){.has_time = true,
                                    .start = trace->first_ts / 2 + trace->last_ts / 2,
                                    .end = trace->last_ts};
    nl_err_clear(&err);
    nl_export_init(&export, trace, &window, NULL);
    export.out = open_memstream(&text, &size);
    if (!export.out)
        abort();
    if (exporter->shape == NL_EXPORT_TABLES)
        export.table = nl_tables[variant / count % NL_TABLE_COUNT].sql;
    export.csv_safe = variant & 1;
    bool done = exporter->write(&export, &err);
    fclose(export.out);
    answers_fine(exporter->name, &err);
    if (done && strstr(exporter->ending, ".json"))
        answers_json(exporter->name, text, size, strcmp(exporter->ending, ".jsonl") == 0);
    nl_export_release(&export);
    free(text);
}

static inline void answers_sql(const struct nl_trace *trace, FILE *out)
{
    struct nl_err err;
    const struct nl_db_options options = {.time_limit_ms = 2000, .row_limit = 5000};
    nl_err_clear(&err);
    struct nl_db *db = nl_db_open(trace, &options, NULL, &err);
    answers_fine("SQL", &err);
    for (int table = 0; db && table < NL_TABLE_COUNT; table++) {
        char query[128];
        snprintf(query, sizeof query, "SELECT * FROM %s", nl_tables[table].sql);
        nl_err_clear(&err);
        struct nl_result *rows = nl_db_query(db, query, &err);
        answers_fine(query, &err);
        const struct nl_view_options how = {.width = 100, .all = true};
        if (rows && !nl_view_csv.render_result(out, NULL, rows, &how, &err))
            answers_fine("csv", &err);
        nl_result_free(rows);
    }
    nl_db_close(db);
}

static inline void answers_compare(const struct nl_trace *trace)
{
    struct nl_err err;
    struct nl_diff_input side = {.trace = trace, .word = "12_fuzz"};
    bool comparable;
    nl_err_clear(&err);
    struct nl_report *report = nl_diff_new(&side, &side, NULL, &comparable, NULL, &err);
    answers_fine("a difference", &err);
    nl_report_free(report);
    const struct nl_window window = {0};
    struct nl_runfingerprint *print = nl_runfingerprint_new(trace, &window, NULL, &err);
    answers_fine("a fingerprint", &err);
    nl_runfingerprint_free(print);
}

/* A number that the whole input decides, for `variant`. */
static inline unsigned answers_variant(const unsigned char *data, size_t size)
{
    unsigned sum = 2166136261u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum ^ sum >> 15;
}

#define ANSWERS_PARTS 7u

/* A part of it, which `variant` picks. */
static inline void answers_part(const struct nl_trace *trace, unsigned variant, FILE *out)
{
    switch (variant % ANSWERS_PARTS) {
    case 0: answers_report(trace, "analyze", variant / 7, out); break;
    case 1: answers_report(trace, "info", variant / 7, out); break;
    case 2: answers_document(trace); break;
    case 3: answers_sql(trace, out); break;
    case 4:
    case 5: answers_deep() ? answers_export(trace, variant / 7) : answers_document(trace); break;
    default: answers_compare(trace); break;
    }
}

/* Asks a part of it, or each with FUZZ_EVERY in the environment, as kept inputs
 * have it in CI (fixed.c). */
static inline void answers_ask(const struct nl_trace *trace, unsigned variant)
{
    static FILE *out;
    unsigned parts = getenv("FUZZ_EVERY") ? ANSWERS_PARTS : 1;
    if (!out)
        out = fopen("/dev/null", "w");
    if (!out || trace->slice.rows > ANSWERS_SLICES)
        return;
    for (unsigned i = 0; i < parts; i++)
        answers_part(trace, variant + i, out);
}

#endif
