/*
 * headline — the sentences that give a report's answer before its tables: where the time goes, what
 * takes most of it, how long the steps are. Numbers only, no diagnosis. They are made from the
 * report's own results, so they cannot disagree with the tables.
 */
#ifndef NL_HEADLINE_H
#define NL_HEADLINE_H

#include "answer/report.h"

/* Fills report->headlines, at least one sentence; texts live in the report's arena. */
void nl_headlines(struct nl_report *report, const struct nl_trace *trace);

#endif
