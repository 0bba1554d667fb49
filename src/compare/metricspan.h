/*
 * metricspan — lengths of operators, layers and functions on threads without what other programs
 * took of them: a rule on op["aten::mm"].p50 of a CPU program judges what a diff of it compares
 * (diffside.h), not how busy the machine was.
 */
#ifndef NL_COMPARE_METRICSPAN_H
#define NL_COMPARE_METRICSPAN_H

#include "compare/metricvalue.h"

/* Whether that holds for the metric in this capture: it is a length of one of those tables, and
 * what other programs took is left out of the comparison. Then *value is it; as of any table,
 * several rows are added up (totals), or the largest is taken. */
bool nl_metric_span(const struct nl_metric *metric, struct diff_side *capture,
                    struct nl_metric_value *value);

/* Does a name fit a rule's text, in which * and ? stand for anything? */
bool nl_metric_fits(struct nl_str name, const char *pattern);

#endif
