/*
 * kept — reports next to the cached trace that they are about, so that the same question is
 * answered at once. Kept are reports of cached traces of 8 MiB and more: of smaller ones, computing
 * takes hardly longer than reading (docs/speed.md), and how long it takes once says more about what
 * else runs than about the trace. A file that is damaged, or answers another question, is removed
 * and the report made anew. The short page of `analyze` is a separate question, whose report has
 * fewer tables; a whole report answers it, too.
 *
 * An answer is a report and the facts of its profile. A kept one is read from its own file
 * alone: the trace may be unchecked (store/tracefile.h), only its metadata and the number
 * of its rows are looked at.
 */
#ifndef NL_KEPT_H
#define NL_KEPT_H

#include "answer/profile.h"
#include "answer/report.h"
#include "cli/input.h"

struct nl_kept {
    struct nl_report *report;
    struct nl_profile *profile;
};

/* The kept answer about the trace that nl_input_load gave for `input`; false when there is none. */
NL_MUST_CHECK bool nl_kept_find(const struct nl_input_words *input, const struct nl_trace *trace,
                                const char *plan, const struct nl_analyze_options *options,
                                const struct nl_call *call, struct nl_kept *answer);

/* Makes the answer, and keeps it where that is worth it; equal bytes. */
NL_MUST_CHECK bool nl_kept_make(const struct nl_input_words *input, const struct nl_trace *trace,
                                const char *plan, const struct nl_analyze_options *options,
                                const struct nl_call *call, struct nl_kept *answer,
                                struct nl_err *err);

void nl_kept_release(struct nl_kept *answer);

#endif
