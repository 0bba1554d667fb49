/*
 * edgesays — all that is said of planted profiles, and of those of edges*.def, in sums: of each row
 * (but not of one that differs by a name alone) with the first number with which its cause speaks
 * (and of the first that is critical) the short page's first sentence and every table of `analyze
 * --all`, of the last number without it what `diff` says beside that, and of one row in three its
 * fingerprint and a ranking.
 *
 *     == CAUSE: WHAT, ARGUMENT
 *     FIRST LINE ~CHECKSUM              of the page
 *     analyze TABLE:CHECKSUM …
 *     findings CAUSE,SEVERITY,COST,SAVING..SAVING,WINS:CHECKSUM …
 *     diff …, fingerprint …, rank …     as analyze
 *
 * tests/sums/run.py keeps it.
 */
#include "answersums.h"
#include "compare/diff.h"
#include "compare/rank.h"
#include "edgesall.h"
#include "findingsums.h"
#include "fingerprint/fingerprint.h"

static uint16_t short_sum(const char *text, size_t len)
{
    return (uint16_t)nl_crc32c(text, len);
}

static void tell_tables(const char *what, const struct nl_report *report)
{
    struct nl_buf lines;
    nl_buf_init(&lines, 1 << 20);
    printf("%s", what);
    for (size_t i = 0; report && i < report->result_count; i++) {
        struct table_sum sum = table_sum(report->results[i]);
        if (sum.rows && strcmp(report->results[i]->name, "record") != 0)
            printf(" %s:%04x", report->results[i]->name, sum.sum & 0xffff);
    }
    for (size_t i = 0; report && i < report->headline_count; i++)
        nl_buf_format(&lines, "%s\n", report->headlines[i]);
    printf(" headlines:%04x\n", short_sum(lines.ptr, lines.len));
    nl_buf_release(&lines);
}

static void tell_findings(const struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *it = &findings->items[i];
        struct nl_buf text;
        nl_buf_init(&text, 1 << 20);
        add_finding(&text, it);
        printf(" %s,%s,%lld,%lld..%lld,%lld:%04x", it->id, nl_severity_name(it->severity),
               (long long)it->cost_ns, (long long)it->saving_ns[0], (long long)it->saving_ns[1],
               (long long)it->net_saving_ns, short_sum(text.ptr, text.len));
        nl_buf_release(&text);
    }
    printf("\n");
}

static void tell_analysis(const struct nl_trace *trace)
{
    const struct nl_analyze_options options = {.all = true, .fold = true};
    struct nl_err err = {0};
    struct nl_profile *profile = nl_profile_new(trace, &options.window);
    struct nl_report *report = nl_report_new(trace, "analyze", &options, NULL, &err);
    if (report)
        tell_page(profile, report);
    tell_tables("analyze", report);
    printf("findings");
    if (report && report->findings)
        tell_findings(report->findings);
    nl_report_free(report);
    nl_profile_free(profile);
}

static void tell_print(const struct nl_trace *trace)
{
    struct nl_err err = {0};
    struct nl_runfingerprint *print =
        nl_runfingerprint_new(trace, &(struct nl_window){0}, NULL, &err);
    struct nl_report *report = print ? nl_runfingerprint_report(print) : NULL;
    tell_tables("fingerprint", report);
    nl_report_free(report);
    nl_runfingerprint_free(print);
}

static void tell_diff(const struct nl_trace *a, const struct nl_trace *b)
{
    struct nl_err err = {0};
    bool comparable;
    struct nl_diff_input base = {.trace = a, .word = "a"}, changed = {.trace = b, .word = "b"};
    struct nl_report *report = nl_diff_new(&base, &changed, NULL, &comparable, NULL, &err);
    tell_tables("diff", report);
    nl_report_free(report);
}

static void tell_rank(const struct nl_trace *a, const struct nl_trace *b, const struct nl_trace *c)
{
    struct nl_err err = {0};
    bool comparable;
    struct nl_diff_input inputs[] = {
        {.trace = a, .word = "a"}, {.trace = b, .word = "b"}, {.trace = c, .word = "c"}};
    struct nl_report *report =
        nl_rank_new(inputs, c ? 3 : 2, &(struct nl_rank_options){0}, &comparable, NULL, &err);
    tell_tables("rank", report);
    nl_report_free(report);
}

/* What was planted, stretched here and there, and without what some recorders leave out;
 * each beside the one before. */
static void tell_planted(void)
{
    struct nl_trace *before[2] = {NULL, NULL};
    for (size_t i = 0; i < sizeof planted_cases / sizeof planted_cases[0]; i++) {
        struct gputrace make;
        gputrace_open_as(&make, 1 + (unsigned)i % 7, (enum gputrace_without)(i % GPUTRACE_WAYS));
        planted_cases[i].build(&make);
        struct nl_trace *trace = gputrace_close(&make);
        printf("== planted %s: %s\n", planted_cases[i].cause, planted_cases[i].label);
        if (!trace)
            continue;
        tell_analysis(trace);
        if (before[1])
            tell_diff(before[1], trace);
        if (before[0] && i % 4 == 0)
            tell_rank(before[0], before[1], trace);
        nl_trace_free(before[0]);
        before[0] = before[1];
        before[1] = trace;
    }
    nl_trace_free(before[0]);
    nl_trace_free(before[1]);
}

/* By what the row says, not by its place: a new row changes nothing for those after it. */
static bool is_one_of_three(size_t row)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s, %s", edges[row].cause, edges[row].what, edges[row].arg);
    return nl_crc32c(text, strlen(text)) % 3 == 0;
}

int main(void)
{
    tell_planted();
    for (size_t i = 0; i < EDGES; i++) {
        if (i && edges[i].fill == edges[i - 1].fill && edges[i].said == edges[i - 1].said)
            continue; /* the same under another name */
        struct nl_trace *silent = edge_build(i, edges[i].silent),
                        *said = edge_build(i, edges[i].said),
                        *critical = edges[i].critical ? edge_build(i, edges[i].critical) : NULL;
        if (!silent || !said)
            return 1;
        printf("== %s: %s, %s\n", edges[i].cause, edges[i].what, edges[i].arg);
        tell_analysis(said);
        if (critical)
            tell_analysis(critical);
        tell_diff(silent, critical ? critical : said);
        if (is_one_of_three(i)) {
            tell_print(said);
            tell_rank(silent, said, critical);
        }
        nl_trace_free(silent);
        nl_trace_free(said);
        nl_trace_free(critical);
    }
    return 0;
}
