/*
 * reopen FOLDER PROFILE... — every trace of a reader must pass the checks of trace files; and every
 * report of every profile, computed and as it comes out of a .nla file (made in FOLDER), must look
 * the same in every view: whole, under windows and one section of it, names folded and not, all
 * rows and few. The short page must be the same of a brief report and of a whole one. One line per
 * profile; tests/reopen.py says which profiles.
 */
#include <unistd.h>

#include "answer/reportfile.h"
#include "ingest/ingest.h"
#include "shown.h"
#include "store/tracecheck.h"
#include "store/tracefile.h"
#include "view/brief.h"

static char path[4096];
static size_t reports;

static void make_windows(const struct nl_trace *trace, struct nl_window *windows)
{
    int64_t third = (trace->last_ts - trace->first_ts) / 3;
    windows[0] = (struct nl_window){0};
    windows[1] = (struct nl_window){
        .has_time = true, .start = trace->first_ts + third, .end = trace->last_ts - third};
    windows[2] = (struct nl_window){.has_rank = true, .rank = 0, .has_device = true, .device = 0};
}

/* NULL when both are equal, else what is not. */
static const char *compare(const struct nl_trace *trace, const char *plan,
                           const struct nl_analyze_options *options, struct nl_err *err)
{
    struct nl_buf question;
    nl_buf_init(&question, 4096);
    nl_report_question(&question, 1, plan, options, trace->roofs);
    struct nl_str asked = {question.ptr, question.len};
    struct nl_analyze_options whole = *options;
    whole.limit = 0;
    const char *wrong = NULL;
    struct nl_report *made = nl_report_new(trace, plan, &whole, NULL, err), *read = NULL;
    struct nl_report *few = options->limit ? nl_report_new(trace, plan, options, NULL, err) : NULL;
    struct nl_report *cut = options->limit ? few : made;
    struct nl_profile *profile = nl_profile_new(trace, &options->window), *facts = NULL;
    if (!made || !cut || !nl_report_save(made, profile, asked, path, err))
        wrong = "cannot be made or saved";
    else if (!(read = nl_report_open(path, asked, &facts, err)))
        wrong = "cannot be opened";
    if (!wrong) {
        nl_report_cut(read, options->limit);
        char *before = shown(profile, cut), *after = shown(facts, read);
        wrong = strcmp(before, after) != 0 ? "looks different" : NULL;
        free(before);
        free(after);
    }
    nl_profile_free(profile);
    nl_profile_free(facts);
    nl_report_free(made);
    nl_report_free(few);
    nl_report_free(read);
    nl_buf_release(&question);
    reports++;
    return wrong;
}

/* Of a brief report (two threads) and of a whole one. */
static bool same_page(const struct nl_trace *trace, const struct nl_window *window,
                      struct nl_err *err)
{
    struct nl_analyze_options options = {.window = *window, .fold = true};
    struct nl_job job = {.threads = 2};
    struct nl_buf pages[2] = {{0}, {0}};
    struct nl_profile *profile = nl_profile_new(trace, window);
    size_t tables[2] = {0, 0};
    for (int brief = 0; brief < 2; brief++) {
        options.brief = brief;
        struct nl_report *report = nl_report_new(trace, "analyze", &options, &job, err);
        nl_buf_init(&pages[brief], (size_t)1 << 20);
        if (report) {
            nl_brief_page(&pages[brief], profile, report, &(struct nl_view_options){.width = 100});
            tables[brief] = report->result_count;
        }
        nl_report_free(report);
    }
    bool same = pages[0].len && pages[0].len == pages[1].len &&
                !memcmp(pages[0].ptr, pages[1].ptr, pages[0].len) && tables[1] < tables[0];
    if (!same)
        printf("whole, %zu tables:\n%.*s\nbrief, %zu tables:\n%.*s\n", tables[0], (int)pages[0].len,
               pages[0].ptr, tables[1], (int)pages[1].len, pages[1].ptr);
    nl_buf_release(&pages[0]);
    nl_buf_release(&pages[1]);
    nl_profile_free(profile);
    return same;
}

static bool check_pages(const char *name, const struct nl_trace *trace, struct nl_err *err)
{
    struct nl_window windows[3];
    make_windows(trace, windows);
    for (int i = 0; i < 3; i++)
        if (!same_page(trace, &windows[i], err)) {
            printf("FAIL reopen: %s: the short page, window %d %s\n", name, i, err->text);
            return false;
        }
    return true;
}

static bool check(const char *name, const struct nl_trace *trace, struct nl_err *err)
{
    struct nl_window windows[3];
    make_windows(trace, windows);
    for (size_t plan = 0; nl_report_plans[plan].name; plan++)
        for (unsigned i = 0; i < 8; i++) {
            const struct nl_analyze_options options = {.window = windows[i % 3],
                                                       .fold = i < 3,
                                                       .all = i < 3,
                                                       .limit = i % 2 ? 3 : 0,
                                                       .section = i < 6    ? NULL
                                                                  : i == 6 ? NL_SECTION_FINDINGS
                                                                           : "kernels"};
            const char *wrong = compare(trace, nl_report_plans[plan].name, &options, err);
            if (!wrong)
                continue;
            printf("FAIL reopen: %s: %s, variant %u: %s %s\n", name, nl_report_plans[plan].name, i,
                   wrong, err->text);
            return false;
        }
    return true;
}

/* What a reader made passes the checks of trace files, saved and opened again. */
static bool check_file(const char *name, const struct nl_trace *trace, struct nl_err *err)
{
    char what[NL_TRACECHECK_TEXT] = "";
    if (!nl_tracecheck(trace, 1, what)) {
        printf("FAIL reopen: %s: %s\n", name, what);
        return false;
    }
    struct nl_trace *again =
        nl_trace_save(trace, path, err) ? nl_trace_open(path, true, 1, err) : NULL;
    if (again)
        nl_trace_free(again);
    else
        printf("FAIL reopen: %s: as a trace file: %s\n", name, err->text);
    return again != NULL;
}

int main(int count, char **words)
{
    size_t passed = 0, failed = 0;
    if (count < 2)
        return 2;
    snprintf(path, sizeof path, "%s/report.nla", words[1]);
    for (int i = 2; i < count; i++) {
        const struct nl_ingest_options options = {.rank = NL_NULL_I64};
        const char *const paths[] = {words[i]};
        struct nl_err err;
        nl_err_clear(&err);
        struct nl_trace *trace = nl_ingest(paths, 1, &options, NULL, &err);
        if (!trace) /* what cannot be read is not this test's */
            continue;
        bool good = check_file(words[i], trace, &err) && check(words[i], trace, &err) &&
                    check_pages(words[i], trace, &err);
        *(good ? &passed : &failed) += 1;
        nl_trace_free(trace);
    }
    unlink(path);
    printf("ok reopen: %zu profiles, %zu reports\n", passed, reports);
    printf("%zu passed, %zu failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
