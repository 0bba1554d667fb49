/*
 * metricvalue — the value of a metric in one capture of a comparison.
 */
#ifndef NL_COMPARE_METRICVALUE_H
#define NL_COMPARE_METRICVALUE_H

#include "compare/diffside.h"
#include "compare/metricexpr.h"

struct nl_metric_value {
    double value;        /* in the unit of the metric's meaning (ns, bytes, 0..1); NaN not known */
    double se;           /* of its logarithm, from within the capture; NaN not known */
    const char *missing; /* why it is not known: what was not recorded; static */
    /* captures of it may differ by so many times what steps do (partnoise.h); 0 = 1 */
    double wider;
};

/* `capture` is measured. `input` has facts that its profile lacks; may be NULL. */
struct nl_metric_value nl_metric_of(const struct nl_metric *metric, struct diff_side *capture,
                                    const struct nl_diff_input *input);

#endif
