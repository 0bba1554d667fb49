/*
 * headline — the sentences that give a report's answer before its tables: where the time goes, what
 * takes most of it, how long the steps are. Numbers only, no diagnosis. They are made from the
 * report's own results, so they cannot disagree with the tables.
 */
#ifndef NL_HEADLINE_H
#define NL_HEADLINE_H

#include "analyze/report.h"

/* Fills report->headlines, at least one sentence; texts live in the report's arena. */
void nl_headlines(struct nl_report *report, const struct nl_trace *trace);

/* Value of a named column in a row: the cell's i64, or NL_NULL_I64 when absent or not a number. */
int64_t nl_result_i64(const struct nl_result *result, size_t row, const char *column);
double nl_result_f64(const struct nl_result *result, size_t row, const char *column);
struct nl_str nl_result_text(const struct nl_result *result, size_t row, const char *column);

#endif
