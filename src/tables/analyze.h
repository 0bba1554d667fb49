/*
 * analyze — questions about a trace, each answered by one table.
 *
 * An analysis is one file with a run function, a struct nl_analysis that describes it, and a line
 * in analyses.def, from which nl_analyses[] is made. It says which tables (or columns) it needs;
 * when they hold nothing, nl_analysis_lacks names them, so that the tool can say "not recorded;
 * record it with ..." instead of printing zeros. Running it then is still fine: the result has no
 * rows.
 *
 * Results are owned by the caller (nl_result_free). Times in columns `start_ns` are relative to the
 * trace's first event, as in SQL; durations are exact. Unknown is NULL. Rows are complete unless
 * options.limit cuts them (result.truncated then).
 */
#ifndef NL_ANALYZE_H
#define NL_ANALYZE_H

#include "timeline/breakdown.h"
#include "tables/result.h"

struct nl_memo;

#define NL_SECTION_FINDINGS                                                                        \
    "findings" /* no analysis, but a part of a report that can be asked for */

/* Zeroed = the whole trace, all rows. What changes answers is a word of nl_report_question, too. */
struct nl_analyze_options {
    struct nl_window window;
    size_t limit;         /* rows per result; 0 = all */
    bool fold;            /* ranges under names without instance numbers (fold.h): for eyes */
    struct nl_memo *memo; /* shared by analyses of one report (tables/memo.h); may be NULL */
    /* What one step is given as: model FLOPs and tokens (or samples); 0 = not given. */
    double flops_per_step, tokens_per_step;
    /* of a report: the tables that its short page shows or that the answer reads, no others */
    bool brief;
    bool all;                  /* findings also below the thresholds of printing */
    const char *const *claims; /* per row of the memo's account: id of a finding; may be NULL */
    size_t claim_count;
    const char *section; /* of a report: this analysis alone, or NL_SECTION_FINDINGS; NULL = all */
};

/* A table that must hold rows; with `column`, one that must hold a known value somewhere. */
struct nl_need {
    enum nl_table_id table;
    const char *column; /* stored column of `table`, or NULL */
};

#define NL_MAX_NEEDS 3

struct nl_analysis {
    const char *name;  /* "time_breakdown": what the command line calls it */
    const char *key;   /* name of its result, and key in the JSON of `analyze` */
    const char *title; /* "Where the time goes" */
    struct nl_need needs[NL_MAX_NEEDS];
    unsigned need_count;
    const struct nl_need *instead; /* is enough where those are not met; NULL none */
    /* NULL with err filled when cancelled or out of budget. `job` may be NULL. */
    struct nl_result *(*run)(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err);
    const char *doc; /* one or two sentences: what a row is, the definitions used */
};

/* In the order of analyses.def, NULL-terminated. */
extern const struct nl_analysis *const nl_analyses[];

/* By name or key; NULL when there is none. */
const struct nl_analysis *nl_analysis_find(const char *name);

bool nl_need_is_met(const struct nl_need *need, const struct nl_trace *trace);

/* The first need that the trace does not meet, or NULL when all are met. */
const struct nl_need *nl_analysis_lacks(const struct nl_analysis *analysis,
                                        const struct nl_trace *trace);

/* Runs it, with a separate memo if the options have none, applies options->limit and gives the
 * result its name and title. */
NL_MUST_CHECK struct nl_result *nl_analysis_run(const struct nl_analysis *analysis,
                                                const struct nl_trace *trace,
                                                const struct nl_analyze_options *options,
                                                struct nl_job *job, struct nl_err *err);

/* Cuts a result to its first `limit` rows (0 = all) and says so in truncated and note. */
void nl_analysis_cut(struct nl_result *result, size_t limit);

/* The Markdown list of analyses for docs: name, needs, doc. */
void nl_analyze_document(struct nl_buf *out);

#endif
