/*
 * kept — reports beside the cached trace that they are about, so that the same question is answered
 * at once. Kept are reports of cached traces of 8 MiB and more: of smaller ones, computing takes
 * hardly longer than reading (docs/speed.md), and how long it takes once says more about what else
 * runs than about the trace. A file that is damaged, or answers another question, is removed and the
 * report made anew.
 */
#ifndef NL_KEPT_H
#define NL_KEPT_H

#include "answer/report.h"
#include "cli/input.h"

/* nl_report_new about the trace that nl_input_load gave for `input`, or the kept one; equal bytes. */
NL_MUST_CHECK struct nl_report *nl_kept_report(const struct nl_input_words *input,
                                               const struct nl_trace *trace, const char *plan,
                                               const struct nl_analyze_options *options,
                                               const struct nl_call *call, struct nl_err *err);

#endif
