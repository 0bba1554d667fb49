/*
 * kept — reports beside the cached trace that they are about, so that the same question is answered
 * at once. Kept are reports of traces that are in the cache, when computing them took long; a file
 * that is damaged, or answers another question, is removed and the report made anew.
 */
#ifndef NL_KEPT_H
#define NL_KEPT_H

#include "analyze/report.h"
#include "cli/input.h"

/* nl_report_new about the trace that nl_input_load gave for `input`, or the kept one; equal bytes. */
NL_MUST_CHECK struct nl_report *nl_kept_report(const struct nl_input_words *input,
                                               const struct nl_trace *trace, const char *plan,
                                               const struct nl_analyze_options *options,
                                               const struct nl_call *call, struct nl_err *err);

#endif
