/*
 * headline — the sentences before a report's tables. The answer itself, the verdict's sentence and
 * notes, is copied from report->verdict (verdict.h). The sentences after it are written here: the
 * first finding, how long the steps are, what each device did. They are made from the report's own
 * results, so they cannot disagree with the tables.
 */
#ifndef NL_HEADLINE_H
#define NL_HEADLINE_H

#include "answer/report.h"

/* Fills report->headlines, at least one sentence; texts live in the report's arena. */
void nl_headlines(struct nl_report *report, const struct nl_trace *trace);

#endif
