/*
 * report — an ordered list of results with a few sentences on top that give the answer.
 *
 * nl_report_plans[] says which analyses make up which document ("analyze": everything known about
 * where time goes; "info": what is in the profile and what is missing). A report owns its results.
 */
#ifndef NL_REPORT_H
#define NL_REPORT_H

#include "answer/verdict.h"
#include "findings/finding.h"

#define NL_MAX_HEADLINES 8

struct nl_report {
    const char *name;  /* "analyze": schema neurolens.analyze/1 */
    const char *title; /* heading for eyes */
    const char *headlines[NL_MAX_HEADLINES];
    size_t headline_count;
    struct nl_result *
        *results; /* every analysis of the plan, also those without rows; fewer when brief */
    size_t result_count;
    const struct nl_verdict_words *verdict; /* NULL in reports without; JSON gets "answer" */
    struct nl_findings *findings; /* NULL in reports without; JSON gets "findings", "abstained" */
    struct nl_report_run
        *making; /* a brief report that is being made: who asks for a result has it run */
    struct nl_arena arena;
};

struct nl_report_plan {
    const char *name, *title;
    const char *const *analyses; /* names, NULL-terminated */
    bool has_findings;
};

extern const struct nl_report_plan nl_report_plans[]; /* ends with a NULL name */

/* Runs the analyses of the plan called `name` ("analyze" or "info"); with options->brief those
 * alone that the answer reads or is about; with options->section that one analysis alone,
 * whatever the plan, without headlines, and an empty answer says in its note what was not
 * recorded. NULL with err when the plan or section does not exist (NL_USAGE), or on
 * NL_INTERRUPTED, NL_MEMORY. `job` may be NULL. */
NL_MUST_CHECK struct nl_report *nl_report_new(const struct nl_trace *trace, const char *name,
                                              const struct nl_analyze_options *options,
                                              struct nl_job *job, struct nl_err *err);
void nl_report_free(struct nl_report *report);

/* Cuts every result to its first `limit` rows (0 = all); headlines and findings stay. */
void nl_report_cut(struct nl_report *report, size_t limit);

/* Leaves the result of that name alone, without headlines. */
void nl_report_keep(struct nl_report *report, const char *section);

/* The report's result called `name` (name of the result or of its analysis); NULL when absent. */
const struct nl_result *nl_report_result(const struct nl_report *report, const char *name);

/* The same; NULL also when it has no rows. */
const struct nl_result *nl_report_part(const struct nl_report *report, const char *name);

#endif
